// SPDX-License-Identifier: Apache-2.0
//
// Records as they come, and steps of the chosen loop that the target has not counted.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/steps/step_finder.hpp"

#include <algorithm>

#include "daemon/ingest/decode/code_names.hpp"
#include "daemon/ingest/decode/code_roles.hpp"
#include "daemon/messages/ingest.hpp"

namespace gpuprof::ingest {
namespace {

constexpr std::size_t kMaxSpecial = 4096, kMaxBeside = 4096;
constexpr std::uint32_t kUser = static_cast<std::uint32_t>(wire::StepSource::kUser);
constexpr std::uint32_t kOptimizer = static_cast<std::uint32_t>(wire::StepSource::kOptimizer);
constexpr std::uint32_t kLoop = static_cast<std::uint32_t>(wire::StepSource::kLoop);
constexpr std::uint16_t kUserScope = 7;  // at::RecordScope

std::string_view file_of(const wire::PyCodeDef& def, const Tail& tail) {
  const auto texts = parse_code_strings(def, tail);
  return texts ? texts->file : std::string_view{};
}

}  // namespace

void StepFinder::set_search(const StepSearch& search) {
  search_ = search;
  locations_.set_line_lookup(search.line_of);
  among_operators_ = search.among_operators();
}

void StepFinder::define(const wire::StringDef& def, const Tail& tail) {
  if (!is_searching()) return;
  const std::string_view text(reinterpret_cast<const char*>(tail.data),
                              std::min<std::size_t>(def.bytes, tail.bytes));
  const OperatorKind kind = operator_kind(text);
  if (kind == OperatorKind::kOther && !is_optimizer_range(text)) return;
  if (special_.size() >= kMaxSpecial || special_.contains(def.id)) return;
  special_[def.id] = NamedOperator{kind, std::string(text)};
}

void StepFinder::define(const wire::PyCodeDef& def, const Tail& tail) {
  if (!is_searching()) return;
  locations_.define(def, tail);
  const std::string_view file = file_of(def, tail);
  if (is_compiler_code(file)) registry_.add_code_flags(def.id, kLoopIsSetup);
  if (is_fx_interpreter_code(file)) registry_.add_code_flags(def.id, wire::kLoopInModule);
  // A loop chosen while only counting: its code is sent with the first stack recorded.
  if (chose_loop() && !placed_ && def.id == selected_.loop->def.code_id) place(selected_);
}

void StepFinder::define(const wire::LoopDef& def) {
  if (is_searching()) registry_.define(def);
}

void StepFinder::define(const RingInfo& ring, const wire::StackLoops& stack, const Tail& tail) {
  if (is_searching()) registry_.define(ring, stack, tail);
}

bool StepFinder::in_selected_loop(const RingInfo& ring) const {
  const auto& around = registry_.enclosing_loops(ring);
  return std::find(around.begin(), around.end(), selected_.loop) != around.end();
}

// The rule reaches the target a little after the choice: iterations it told of meanwhile count.
void StepFinder::mark(const RingInfo& ring, const wire::LoopMark& mark) {
  if (!is_searching()) return;
  if ((mark.flags & (wire::kMarkGraphReplays | wire::kMarkGraphCapture)) != 0)
    return on_graph_mark(ring, mark);
  registry_.mark(ring, mark);
  if (!chose_loop() || mark.loop_id != selected_.loop->def.id) return;
  if ((mark.flags & wire::kMarkOptimizer) != 0) return;
  const bool weak =
      (mark.flags & wire::kMarkInferred) != 0 && (mark.flags & wire::kMarkLoopEntry) == 0;
  if (weak && rule_ != wire::StepRule::kLoopInferred) return;
  if (doubted_) return;
  if (suspended_) resume(ring.tid);
  if (!is_steps_thread(ring)) {
    if (other_thread_begins_.size() < kMaxBeside)
      other_thread_begins_.push_back({mark.ts_ns, 0, ring.tid});
    return;
  }
  settle(!pending_.loader);
  pending_ = Pending{mark.ts_ns, ring.tid, false, (mark.flags & wire::kMarkLoopEntry) != 0};
}

void StepFinder::settle(bool worked) {
  const Pending one = std::exchange(pending_, Pending{});
  if (one.begin_ns == 0 || !worked) return;
  if (chose_loop()) steps_.spans().begins(one.begin_ns, one.tid, one.entry);
  steps_.add_found(FoundStep{one.begin_ns, 0, one.tid});
  seen(one.begin_ns);
}

/// The thread that counted has ended, and this one went on before the target heard of the choice.
void StepFinder::switch_thread(std::uint32_t tid) {
  tid_ = tid;
  for (const FoundStep& one : std::exchange(other_thread_begins_, {}))
    if (one.tid == tid) {
      steps_.spans().begins(one.begin_ns, tid, false);
      steps_.add_found(one);
    }
}

void StepFinder::seen(std::uint64_t ts_ns) {
  if (steps_seen_++ == 0) first_step_ns_ = ts_ns;
  newest_ns_ = std::max(newest_ns_, ts_ns);
  begun_ns_ = std::max(begun_ns_, ts_ns);
  outside_updates_ = other_thread_updates_ = 0;
  other_thread_begins_.clear();
}

void StepFinder::launched(const RingInfo& ring, const wire::Launch& launch) {
  if (!is_searching()) return;
  const bool begins = (launch.flags & wire::kLaunchCaptureBegins) != 0;
  if (begins) registry_.set_graph_capture(ring, true);
  // The end may have been in no window.
  const bool over = (launch.flags & wire::kLaunchCaptured) == 0 && registry_.is_capturing(ring);
  if (!begins && (over || (launch.flags & wire::kLaunchCaptureEnds) != 0))
    registry_.set_graph_capture(ring, false);
  if ((launch.flags & wire::kLaunchGraph) == 0) return;
  registry_.add_graph_replays(ring, launch.ts_ns, 1);
  registry_.extend_iteration(ring, launch.ts_ns);
  // The program has moved on, as with optimizers: replays are its updates.
  const bool updates = registry_.captured_optimizers() != 0 && !selected_.with_graphs;
  if (updates && is_steps_thread(ring) && !in_selected_loop(ring)) ++outside_updates_;
}

void StepFinder::on_graph_mark(const RingInfo& ring, const wire::LoopMark& mark) {
  if ((mark.flags & wire::kMarkOptimizer) != 0) return registry_.captured_optimizer();
  registry_.set_position(ring);
  if ((mark.flags & wire::kMarkGraphReplays) != 0)
    return registry_.add_graph_replays(ring, mark.ts_ns, mark.count);
  registry_.on_graph_captured(ring, mark.ts_ns);
  if (is_steps_thread(ring) && !in_selected_loop(ring)) captured_outside(mark.ts_ns);
}

void StepFinder::begin(const RingInfo& ring, const wire::OpBegin& op) {
  if (!is_searching()) return;
  const auto found = special_.find(op.name_id);
  const bool known = found != special_.end();
  OperatorKind kind = known ? found->second.kind : OperatorKind::kOther;
  // It updates nothing now: each replay will.
  if (kind == OperatorKind::kOptimizer && registry_.is_capturing(ring)) {
    registry_.captured_optimizer();
    kind = OperatorKind::kOther;
  }
  if (kind == OperatorKind::kOptimizer) registry_.on_optimizer_step(ring, op);
  if ((op.flags & wire::kOpTopLevel) == 0) return;
  // What the program named itself encloses operators and is none.
  if (op.scope == kUserScope && !known) return;
  const bool capture = registry_.capture_begins(ring);
  registry_.begin_operator(ring, op, kind);
  if (selected_.source == wire::StepSource::kNone) return history_.begins(ring, op);
  if (!chose_loop()) return;
  const bool inside = in_selected_loop(ring);
  if (kind == OperatorKind::kOptimizer && !inside)
    ++(is_steps_thread(ring) ? outside_updates_ : other_thread_updates_);
  if (kind == OperatorKind::kOptimizer) late_update(ring, inside, op.ts_ns);
  if (!is_steps_thread(ring)) return;
  on_thread_operator(ring, op, kind);
  if (capture && !inside) captured_outside(op.ts_ns);
}

// Where the thread of the steps is now.
void StepFinder::on_thread_operator(const RingInfo& ring, const wire::OpBegin& op,
                                    OperatorKind kind) {
  if (in_selected_loop(ring)) {
    if (pending_.begin_ns != 0 && kind == OperatorKind::kLoader) pending_.loader = true;
    if (pending_.begin_ns != 0 && kind != OperatorKind::kLoader) settle(true);
    if (kind == OperatorKind::kLoader)
      steps_.spans().on_loader(op.ts_ns, op.stack_id);
    else
      steps_.spans().on_operator(op.stack_id);
  } else {
    steps_.spans().on_loop_exit(op.ts_ns);
  }
}

void StepFinder::end(const RingInfo& ring, const wire::OpEnd& end) {
  if (!is_searching()) return;
  const OperatorKind kind = registry_.open_kind(ring);
  const bool work = kind != OperatorKind::kLoader;
  const bool top = registry_.end_operator(ring, end);
  if (selected_.source == wire::StepSource::kNone) return history_.ends(ring, end);
  if (top && kind == OperatorKind::kOptimizer && !registry_.optimizer_ends().empty())
    on_update_end(registry_.optimizer_ends().back());
  if (!top || !is_steps_thread(ring) || !in_selected_loop(ring)) return;
  if (work)
    steps_.spans().works_until(end.ts_ns);
  else
    steps_.spans().on_loader_end(end.ts_ns);
}

// Until the target knows the rule. Where it counts an end, its mark follows at once.
void StepFinder::on_update_end(const OptimizerEnd& end) {
  if (selected_.source != wire::StepSource::kOptimizer || target_counts_ ||
      end.name_id != selected_.optimizer_name || end.end_ns <= pending_.begin_ns)
    return;
  settle(true);
  pending_ = Pending{end.end_ns, end.tid, false};
}

void StepFinder::on_target_step(const RingInfo& ring, const wire::StepMark& mark) {
  if (!is_searching() || (mark.flags & wire::kStepEnd) != 0) return;
  if (mark.source == kLoop) {
    settle(!pending_.loader);
    if (tid_ != ring.tid) switch_thread(ring.tid);
  }
  if (mark.source == kOptimizer) {
    settle(pending_.begin_ns != mark.ts_ns);
    target_counts_ = true;
  }
  seen(mark.ts_ns);
  if (mark.source != kUser || selected_.source == wire::StepSource::kUser) return;
  pending_ = {};
  suspended_ = doubted_ = false;
  selected_ = StepChoice{wire::StepSource::kUser, kConfidenceNamed, nullptr, false, 0};
  publish_description(messages::ingest::kProfilerSteps);
}

void StepFinder::ring_lost(const RingInfo& ring) {
  if (is_searching()) registry_.on_ring_lost(ring);
}

}  // namespace gpuprof::ingest
