// SPDX-License-Identifier: Apache-2.0
//
// Emitter: what is open, what ends, whose parent and owner is what.
//
// Context:  cli through analysis/commands
// Not here: the events' fields (emit_events.cpp)
#include "analysis/import/emit/emit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/messages/import_events.hpp"
#include "support/text/text.hpp"

namespace gpuprof::importer {

Emitter::Emitter(InternedTables& names, FileContent& content, TrackOwners& owners,
                 std::vector<SessionProcess*> processes, std::int64_t add_ns,
                 const model::Window& window, std::vector<PythonCall>& python)
    : names_(names),
      content_(content),
      owners_(owners),
      processes_(processes.size()),
      add_ns_(add_ns),
      window_from_ns_(static_cast<std::int64_t>(window.start_ns) - add_ns),
      window_to_ns_(static_cast<std::int64_t>(window.end_ns) - add_ns),
      python_(python) {
  for (std::size_t i = 0; i < processes.size(); ++i) processes_[i].session = processes[i];
}

Emitter::Thread& Emitter::thread(Process& process, std::uint32_t tid) {
  if (process.last != nullptr && process.last_tid == tid) return *process.last;
  process.last_tid = tid;
  process.last = &process.threads[tid];
  return *process.last;
}

support::Result<void> Emitter::run() {
  GPUPROF_CHECK(content_.sorter.rewind());
  while (const ParsedEvent* const record = content_.sorter.next()) take(*record);
  if (!content_.sorter.failure().empty()) return support::error(content_.sorter.failure());
  flush(std::numeric_limits<std::int64_t>::max());
  for (const Process& process : processes_) {
    if (process.session == nullptr) continue;
    report_missing_launches(process);
    GPUPROF_CHECK(process.session->check());
  }
  return {};
}

// Where the file has numbers of calls, whoever draws it tells which of them are missing.
void Emitter::report_missing_launches(const Process& process) {
  if (content_.head.written_by_gpuprof || process.unlaunched == 0 || process.first_launched != 0)
    return;
  const std::string events =
      support::count_with_unit(process.unlaunched, "GPU event", "GPU events");
  process.session->add_missing_message(
      process.unlaunched == 1 ? fmt::format(messages::import_events::kGpuEventUnlinked, events)
                              : fmt::format(messages::import_events::kGpuEventsUnlinked, events),
      at(window_from_ns_));
}

void Emitter::take(const ParsedEvent& given) {
  events_ += is_event(given.kind) ? 1 : 0;
  if (given.kind == ParsedKind::kWorkFlow) return work_flow(given);
  if (given.kind >= ParsedKind::kSync) return write_gpu(given);
  ParsedEvent moved;
  const std::uint16_t host = owners_.host_of(given.process);
  if (host != given.process) {
    moved = given;
    moved.process = host;
  }
  const ParsedEvent& r = host != given.process ? moved : given;
  if (processes_[host].session == nullptr) return;
  if (r.kind == ParsedKind::kLaunchFlow) return launch_flow(r);
  flush(r.start_ns);
  switch (r.kind) {
    case ParsedKind::kFrame:
    case ParsedKind::kModule:
      return frame(r);
    case ParsedKind::kOperator:
    case ParsedKind::kRange:
      return open(r);
    case ParsedKind::kStep:
      if (r.is_also_operator != 0) step_operator(r);
      add_pending(r);
      return;
    case ParsedKind::kCall:
      return call(r);
    case ParsedKind::kSpan:
    case ParsedKind::kMark:
      return span(r);
    case ParsedKind::kBackwardFlow:
      return backward_flow(r);
    case ParsedKind::kAllocation:
      return write_allocation(r);
    case ParsedKind::kSample:
      return write_sample(r);
    default:
      return write_overhead(r);
  }
}

void Emitter::call(const ParsedEvent& r) {
  Thread& own = thread(processes_[r.process], r.tid);
  const OpenOperator* const around = open_call(own);
  const std::uint32_t outer = around == nullptr ? 0 : around->record.call.correlation;
  const std::uint32_t slot = add_pending(r);
  OpenOperator& call = pool_[slot];
  if (r.call.inner != 0 && r.call.correlation == 0) {
    call.record.call.correlation = outer;
  } else {
    own.last_call = slot + 1;
    own.last_call_order = call.order;
  }
  call.parent = r.call.has_external_id != 0 ? range_of(r.process, r.call.external_id, &own)
                : own.open.empty()          ? 0
                                            : pool_[own.open.back()].id;
  call.stack = own.frames.stack_at(r.start_ns, r.call.stack, names_);
  if (r.call.correlation == 0 || !starts_in_window(r.start_ns)) return;
  std::uint32_t& first = processes_[r.process].first_launched;
  first = first == 0 ? r.call.correlation : std::min(first, r.call.correlation);
  // The number of another call of long ago: whoever draws both tells them apart by theirs.
  if (const Launch* const before = launch_of(r.process, r.call.correlation))
    call.record.call.correlation = r.start_ns - before->start_ns > kMaxGpuClockSkewNs
                                       ? made_correlation_++
                                       : before->correlation;
  launches_.put(r.process, r.call.correlation,
                {call.record.call.correlation, r.tid, call.parent, r.start_ns, r.process});
}

/// Keeps a record until it ends; its place in `pool_`.
std::uint32_t Emitter::add_pending(const ParsedEvent& r) {
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(pool_.size());
    pool_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  pool_[slot] = OpenOperator{};
  pool_[slot].record = r;
  pool_[slot].order = order_;
  endings_.push({r.end_ns, order_++, slot});
  return slot;
}

void Emitter::frame(const ParsedEvent& r) {
  if (content_.head.written_by_gpuprof && !overlaps_window(r)) return skip_outside_window(r);
  Process& process = processes_[r.process];
  Thread& own = thread(process, r.tid);
  const std::int64_t caller_ns = own.frames.caller_ns(r);
  const bool from_python = caller_ns != std::numeric_limits<std::int64_t>::min() &&
                           (own.open.empty() || pool_[own.open.back()].record.start_ns < caller_ns);
  // Whose return was never told outlives its caller, and ends with what it was called in. Another
  // may outlive a range that was left in it, and is not in that.
  const bool never_reported = r.end_ns > own.frames.innermost_end_ns();
  const std::int64_t until_ns = !never_reported || own.open.empty()
                                    ? r.end_ns
                                    : std::min(r.end_ns, pool_[own.open.back()].record.end_ns);
  if (!from_python && !r.frame.is_inferred && python_.size() < ImportedSession::kMaxPythonCalls)
    python_.push_back({process.session->pid(), r.tid, at(r.start_ns), at(until_ns)});
  own.frames.push(r, names_);
}

void Emitter::open(const ParsedEvent& r) {
  Process& process = processes_[r.process];
  Thread& own = thread(process, r.tid);
  const std::uint32_t slot = add_pending(r);
  OpenOperator& o = pool_[slot];
  o.id = process.session->next_range();
  std::uint32_t flags = o.record.op.flags;
  bool nests = own.open.size() < kMaxNested;
  if (!own.open.empty()) {
    const OpenOperator& outer = pool_[own.open.back()];
    o.parent = outer.id;
    o.enclosed_by_user_only =
        outer.enclosed_by_user_only &&
        (outer.record.kind == ParsedKind::kRange || outer.record.op.scope == model::kScopeUser);
    // Begin and length were each rounded where times are whole microseconds.
    const std::int64_t slack_ns = content_.whole_us ? 1000 : 0;
    if (r.end_ns > outer.record.end_ns + slack_ns) {
      nests = false;
      flags |= model::kRangeCrossing;
    }
  }
  if (own.open.size() >= kMaxNestedDepth) flags |= model::kRangeDeep;
  if (o.enclosed_by_user_only && r.kind == ParsedKind::kOperator) flags |= model::kOpTopLevel;
  o.record.op.flags = static_cast<std::uint16_t>(flags);
  o.stack = own.frames.stack_at(r.start_ns, r.op.stack, names_);
  o.record.op.forward_tid = forward_tid(r);
  if (r.kind == ParsedKind::kOperator && r.op.sequence >= 0 && r.op.scope != model::kScopeBackward)
    forwards_.put(r.process, static_cast<std::uint64_t>(r.op.sequence), r.tid);
  remember_range(r, o.id);
  if (content_.keeps_flows && r.kind == ParsedKind::kOperator && r.op.record_id != 0)
    ranges_.put(r.process, kRecordFunctionIdBit + r.op.record_id, o.id);
  if (nests) own.open.push_back(slot);
}

/// The program's own range of the profiler's step.
void Emitter::step_operator(const ParsedEvent& r) {
  ParsedEvent copy = r;
  copy.kind = ParsedKind::kOperator;
  copy.op = {};
  copy.op.sequence = -1;
  copy.op.end_tid = r.tid;
  copy.op.scope = model::kScopeUser;
  open(copy);
}

void Emitter::span(const ParsedEvent& r) {
  OpenOperator& o = pool_[add_pending(r)];
  o.id = processes_[r.process].session->next_range();
  remember_range(r, o.id);
}

void Emitter::remember_range(const ParsedEvent& r, model::RangeId id) {
  if (r.op.external_id != 0) ranges_.put(r.process, r.op.external_id, id);
}

/// Threads have other numbers in PyTorch's profiler: who ran the forward operator tells.
std::uint32_t Emitter::forward_tid(const ParsedEvent& r) const {
  if (r.kind != ParsedKind::kOperator || r.op.forward_tid == 0 || content_.head.written_by_gpuprof)
    return r.op.forward_tid;
  if (r.op.sequence < 0) return 0;
  const std::uint32_t* const known =
      forwards_.find(r.process, static_cast<std::uint64_t>(r.op.sequence));
  return known == nullptr ? 0 : *known;
}

void Emitter::backward_flow(const ParsedEvent& r) {
  Thread& own = thread(processes_[r.process], r.tid);
  for (std::size_t i = own.open.size(); i-- > 0;) {
    OpenOperator& o = pool_[own.open[i]];
    if (o.record.start_ns < r.start_ns) break;
    if (o.record.start_ns != r.start_ns || o.has_flow || o.record.kind != ParsedKind::kOperator)
      continue;
    o.has_flow = true;
    OperatorFields& op = o.record.op;
    if (op.sequence < 0) op.sequence = r.flow.number;
    if (r.flow.forward_tid != 0) {
      op.forward_tid = r.flow.forward_tid;
      op.scope = model::kScopeBackward;
    }
    return;
  }
  content_.account.move_to_skipped(SkipReason::kUnpaired, label_of(r.kind));
}

model::RangeId Emitter::range_of(std::uint16_t process, std::uint64_t external_id,
                                 const Thread* thread) {
  if (external_id == 0) return 0;
  if (thread != nullptr)
    for (std::size_t i = thread->open.size(); i-- > 0;) {
      const OpenOperator& o = pool_[thread->open[i]];
      if (o.record.op.external_id == external_id) return o.id;
    }
  const model::RangeId* const known = ranges_.find(process, external_id);
  return known == nullptr ? 0 : *known;
}

void Emitter::flush(std::int64_t until_ns) {
  while (!endings_.empty() && endings_.top().end_ns <= until_ns) {
    const std::uint32_t slot = endings_.top().slot;
    endings_.pop();
    close(slot);
    free_.push_back(slot);
  }
}

void Emitter::close(std::uint32_t slot) {
  pool_[slot].order = 0;
  const OpenOperator& o = pool_[slot];
  switch (o.record.kind) {
    case ParsedKind::kOperator:
    case ParsedKind::kRange: {
      auto& open = thread(processes_[o.record.process], o.record.tid).open;
      const auto at = std::find(open.rbegin(), open.rend(), slot);
      if (at != open.rend()) open.erase(std::next(at).base());
      return o.record.kind == ParsedKind::kRange ? write_range(o, model::RangeKind::kPushPop)
                                                 : write_operator(o);
    }
    case ParsedKind::kStep:
      return write_step(o.record);
    case ParsedKind::kCall:
      return write_call(o);
    case ParsedKind::kMark:
      return write_range(o, model::RangeKind::kMark);
    default: {
      const std::uint32_t apart = model::kRangeCrossing | model::kRangeDeep;
      if (o.record.op.scope != 255) return write_operator(o);
      return write_range(o, (o.record.op.flags & apart) != 0 ? model::RangeKind::kPushPop
                                                             : model::RangeKind::kStartEnd);
    }
  }
}

}  // namespace gpuprof::importer
