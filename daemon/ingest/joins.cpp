// SPDX-License-Identifier: Apache-2.0
//
// Joining by correlation id, a round after the record came.
//
// Context:  daemon (ingest thread)
// Owns:     see joins.hpp
#include "daemon/ingest/joins.hpp"

#include <algorithm>

namespace gpuprof::ingest {

using model::LossReason;

namespace {

constexpr std::uint16_t kKernelBadTime = wire::kGpuBadTime;
constexpr std::uint8_t kCopyAsync = 1, kCopyBadTime = 2;
constexpr std::uint16_t kSetBadTime = 2;
/// A driver call whose runtime call was announced but has not come waits this many rounds.
constexpr std::uint32_t kMostRounds = 8;
constexpr auto kRuntime = static_cast<std::uint32_t>(wire::ApiDomain::kRuntime);

}  // namespace

bool Joins::good_times(std::uint64_t start_ns, std::uint64_t end_ns, bool flagged) {
  if (!flagged && start_ns != 0 && end_ns != 0 && end_ns >= start_ns) return true;
  losses_.add(LossReason::kCuptiBadTime, 0, 1, 0, 0);
  return false;
}

/// False: the process did not run then; counted. Reversed times are their receiver's to count.
bool Joins::lived(std::uint64_t start_ns, std::uint64_t end_ns) {
  const std::uint64_t start = clocks_.to_mono(start_ns);
  if (end_ns < start_ns || life_.holds(start, start + (end_ns - start_ns))) return true;
  losses_.add(LossReason::kTimeImplausible, 0, 1, 0, 0);
  return false;
}

void Joins::add(const wire::KernelExec& kernel) {
  if (good_times(kernel.start_ns, kernel.end_ns, (kernel.flags & kKernelBadTime) != 0))
    kernels_.push_back(kernel);
}
void Joins::add(const wire::MemCopy& copy) {
  if (good_times(copy.start_ns, copy.end_ns, (copy.flags & kCopyBadTime) != 0))
    copies_.push_back(copy);
}
void Joins::add(const wire::MemSet& set) {
  if (good_times(set.start_ns, set.end_ns, (set.flags & kSetBadTime) != 0)) sets_.push_back(set);
}
void Joins::add(const wire::GraphExec& graph) {
  if (good_times(graph.start_ns, graph.end_ns, false)) graphs_.push_back(graph);
}

template <typename R>
void Joins::release(std::vector<R>& queue, std::size_t ripe) {
  for (std::size_t i = 0; i < ripe; ++i)
    if (lived(queue[i].start_ns, queue[i].end_ns)) out(queue[i]);
  queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(ripe));
}

void Joins::round_done() {
  if (clocks_.known()) {
    join_calls(ripe_.api, false);
    release(kernels_, ripe_.kernels);
    release(copies_, ripe_.copies);
    release(sets_, ripe_.sets);
    release(syncs_, ripe_.syncs);
    release(graphs_, ripe_.graphs);
    release(overheads_, ripe_.overheads);
  }
  ripe_ = Ripe{api_.size(),   kernels_.size(), copies_.size(),   sets_.size(),
               syncs_.size(), graphs_.size(),  overheads_.size()};
}

void Joins::finish() {
  round_done();
  round_done();
  if (clocks_.known()) return join_calls(api_.size(), true);
  losses_.add(LossReason::kGpuNoClock, 0,
              api_.size() + kernels_.size() + copies_.size() + sets_.size() + syncs_.size() +
                  graphs_.size() + overheads_.size(),
              0, 0);
}

// Runtime calls first: the driver's call inside one carries the same id and is left out.
void Joins::join_calls(std::size_t ripe, bool last) {
  for (std::size_t i = 0; i < ripe; ++i)
    if (api_[i].call.api == kRuntime) join_call(api_[i].call, false);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < ripe; ++i) {
    HeldCall& held = api_[i];
    if (held.call.api == kRuntime) continue;
    if (!join_call(held.call, !last && held.rounds < kMostRounds)) {
      ++held.rounds;
      api_[kept++] = held;
    }
  }
  api_.erase(api_.begin() + static_cast<std::ptrdiff_t>(kept),
             api_.begin() + static_cast<std::ptrdiff_t>(ripe));
}

/// False: not yet, its outer call is still expected.
bool Joins::join_call(const wire::ApiCall& call, bool wait) {
  model::ApiCall event{};
  if (call.correlation != 0) {
    LaunchEntry& entry = launches_.find_or_add(call.correlation, call.tid);
    if ((entry.flags & kLaunchApiOut) != 0) {
      losses_.add(LossReason::kDuplicateCall, call.tid, 1, 0, 0);
      return true;
    }
    if (wait && call.api != kRuntime && (entry.flags & kLaunchSeen) != 0 && entry.api == kRuntime)
      return false;
    entry.flags |= kLaunchApiOut;
    event.range = entry.range;
    event.stack = entry.stack;
  }
  if (call.end_ns < call.start_ns || call.start_ns == 0) {
    losses_.add(LossReason::kCuptiBadTime, call.tid, 1, 0, 0);
    return true;
  }
  if (!lived(call.start_ns, call.end_ns)) return true;
  event.start_ns = clocks_.to_mono(call.start_ns);
  event.end_ns = event.start_ns + (call.end_ns - call.start_ns);
  event.name = names_.string(call.name_id);
  event.tid = call.tid;
  event.cbid = call.cbid;
  event.api = call.api;
  event.correlation = call.correlation;
  event.result = call.result;
  names_.settle_string(event.name);
  names_.settle_stack(event.stack);
  ++counts_.api_calls;
  sink_.on(event);
  return true;
}

const LaunchEntry* Joins::launch_of(std::uint32_t correlation) {
  static const LaunchEntry kNone{};
  const LaunchEntry* entry = launches_.find(correlation);
  if (entry == nullptr) ++counts_.launches_unseen;
  return entry != nullptr ? entry : &kNone;
}

/// What GPU records have in common: times on our clock, the launch, the place.
template <typename E, typename R>
E Joins::joined(const R& record, const LaunchEntry& launch) {
  E event{};
  event.start_ns = clocks_.to_mono(record.start_ns);
  event.end_ns = event.start_ns + (record.end_ns - record.start_ns);
  event.range = launch.range;
  event.correlation = record.correlation;
  event.launch_tid = launch.tid;
  event.context = record.context, event.stream = record.stream;
  if constexpr (requires { event.device; }) event.device = record.device;
  if constexpr (requires { event.graph; }) event.graph = record.graph;
  if constexpr (requires { event.graph_node; }) event.graph_node = record.graph_node;
  ++counts_.gpu_events;
  return event;
}

void Joins::out(const wire::KernelExec& k) {
  const LaunchEntry* launch = launch_of(k.correlation);
  auto event = joined<model::Kernel>(k, *launch);
  event.name = names_.string(k.name_id);
  event.grid = {k.grid_x, k.grid_y, k.grid_z};
  event.block = {k.block_x, k.block_y, k.block_z};
  event.static_shared_bytes = k.static_shared_bytes;
  event.dynamic_shared_bytes = k.dynamic_shared_bytes;
  event.local_per_thread_bytes = k.local_per_thread_bytes;
  event.shared_executed_bytes = k.shared_executed_bytes;
  event.registers = k.registers;
  event.channel = k.channel;
  names_.settle_string(event.name);
  if (event.start_ns < launch->ts_ns) ++counts_.kernels_before_launch;
  sink_.on(event);
}

void Joins::out(const wire::MemCopy& c) {
  auto event = joined<model::MemCopy>(c, *launch_of(c.correlation));
  event.bytes = c.bytes;
  event.dst_device = c.dst_device;
  event.copy_kind = c.copy_kind, event.src_kind = c.src_kind, event.dst_kind = c.dst_kind;
  event.asynchronous = (c.flags & kCopyAsync) != 0 ? 1 : 0;
  sink_.on(event);
}

void Joins::out(const wire::MemSet& m) {
  auto event = joined<model::MemSet>(m, *launch_of(m.correlation));
  event.bytes = m.bytes;
  event.value = m.value;
  event.memory_kind = m.memory_kind;
  sink_.on(event);
}

void Joins::out(const wire::Sync& s) {
  if (!good_times(s.start_ns, s.end_ns, false)) return;
  auto event = joined<model::Sync>(s, *launch_of(s.correlation));
  event.type = s.type;
  event.event = s.event;
  sink_.on(event);
}

void Joins::out(const wire::GraphExec& g) {
  sink_.on(joined<model::GraphExec>(g, *launch_of(g.correlation)));
}

void Joins::out(const wire::Overhead& o) {
  if (!good_times(o.start_ns, o.end_ns, false)) return;
  const std::uint64_t start = clocks_.to_mono(o.start_ns);
  sink_.on(model::Overhead{start, start + (o.end_ns - o.start_ns), o.overhead_kind, o.object_kind,
                           o.process_or_thread, o.correlation});
}

}  // namespace gpuprof::ingest
