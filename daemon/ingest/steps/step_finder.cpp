// SPDX-License-Identifier: Apache-2.0
//
// Records as they come, and steps of the chosen loop that the target has not counted.
//
// Context:  daemon (ingest thread)
// Owns:     see step_finder.hpp
#include "daemon/ingest/steps/step_finder.hpp"

#include <algorithm>

#include "daemon/ingest/decode/code_names.hpp"
#include "daemon/ingest/decode/code_roles.hpp"

namespace gpuprof::ingest {
namespace {

constexpr std::size_t kMostSpecial = 4096, kMostBeside = 4096;
constexpr std::uint32_t kUser = static_cast<std::uint32_t>(wire::StepSource::kUser);
constexpr std::uint32_t kOptimizer = static_cast<std::uint32_t>(wire::StepSource::kOptimizer);
constexpr std::uint32_t kLoop = static_cast<std::uint32_t>(wire::StepSource::kLoop);
constexpr std::uint16_t kUserScope = 7;  // at::RecordScope

std::string_view file_of(const wire::PyCodeDef& def, const Tail& tail) {
  const auto texts = code_texts(def, tail);
  return texts ? texts->file : std::string_view{};
}

}  // namespace

void StepFinder::look_for(const StepSearch& search) {
  search_ = search;
  places_.lines_by(search.line_of);
  among_operators_ = search.among_operators();
}

void StepFinder::define(const wire::StringDef& def, const Tail& tail) {
  if (!looking()) return;
  const std::string_view text(reinterpret_cast<const char*>(tail.data),
                              std::min<std::size_t>(def.bytes, tail.bytes));
  const OpKind kind = kind_of(text);
  if (kind == OpKind::kOther && !is_of_optimizer(text)) return;
  if (special_.size() >= kMostSpecial || special_.contains(def.id)) return;
  special_[def.id] = Special{kind, std::string(text)};
}

void StepFinder::define(const wire::PyCodeDef& def, const Tail& tail) {
  if (!looking()) return;
  places_.define(def, tail);
  const std::string_view file = file_of(def, tail);
  if (is_compiler_code(file)) book_.flag_code(def.id, kLoopSetsUp);
  if (is_graph_code(file)) book_.flag_code(def.id, wire::kLoopInModule);
  // A loop chosen while only counting: its code is told of with the first stack recorded.
  if (chose_loop() && !placed_ && def.id == chosen_.loop->def.code_id) place(chosen_);
}

void StepFinder::define(const wire::LoopDef& def) {
  if (looking()) book_.define(def);
}

void StepFinder::define(const Lane& lane, const wire::StackLoops& stack, const Tail& tail) {
  if (looking()) book_.define(lane, stack, tail);
}

bool StepFinder::in_chosen_loop(const Lane& lane) const {
  const auto& around = book_.around(lane);
  return std::find(around.begin(), around.end(), chosen_.loop) != around.end();
}

// The rule reaches the target a little after the choice: iterations it told of meanwhile count.
void StepFinder::mark(const Lane& lane, const wire::LoopMark& mark) {
  if (!looking()) return;
  if ((mark.flags & (wire::kMarkReplays | wire::kMarkCapture)) != 0)
    return told_of_graphs(lane, mark);
  book_.mark(lane, mark);
  if (!chose_loop() || mark.loop_id != chosen_.loop->def.id) return;
  if ((mark.flags & wire::kMarkOptimizer) != 0) return;
  const bool weak = (mark.flags & wire::kMarkWeak) != 0 && (mark.flags & wire::kMarkFirst) == 0;
  if (weak && rule_ != wire::StepRule::kLoopWeak) return;
  if (doubted_) return;
  if (suspended_) resume(lane.tid);
  if (!is_steps_thread(lane)) {
    if (beside_.size() < kMostBeside) beside_.push_back({mark.ts_ns, 0, lane.tid});
    return;
  }
  settle(!pending_.loader);
  pending_ = Pending{mark.ts_ns, lane.tid, false, (mark.flags & wire::kMarkFirst) != 0};
}

void StepFinder::settle(bool worked) {
  const Pending one = std::exchange(pending_, Pending{});
  if (one.begin_ns == 0 || !worked) return;
  if (chose_loop()) steps_.spans().begins(one.begin_ns, one.tid, one.entry);
  steps_.found(FoundStep{one.begin_ns, 0, one.tid});
  seen(one.begin_ns);
}

/// The thread that counted has ended, and this one went on before the target heard of the choice.
void StepFinder::follow(std::uint32_t tid) {
  tid_ = tid;
  for (const FoundStep& one : std::exchange(beside_, {}))
    if (one.tid == tid) {
      steps_.spans().begins(one.begin_ns, tid, false);
      steps_.found(one);
    }
}

void StepFinder::seen(std::uint64_t ts_ns) {
  if (steps_seen_++ == 0) first_step_ns_ = ts_ns;
  newest_ns_ = std::max(newest_ns_, ts_ns);
  begun_ns_ = std::max(begun_ns_, ts_ns);
  strangers_ = others_ = 0;
  beside_.clear();
}

void StepFinder::launched(const Lane& lane, const wire::Launch& launch) {
  if (!looking()) return;
  const bool begins = (launch.flags & wire::kLaunchCaptureBegins) != 0;
  if (begins) book_.captures(lane, true);
  // The end may have been in no window.
  const bool over = (launch.flags & wire::kLaunchCaptured) == 0 && book_.is_capturing(lane);
  if (!begins && (over || (launch.flags & wire::kLaunchCaptureEnds) != 0))
    book_.captures(lane, false);
  if ((launch.flags & wire::kLaunchGraph) == 0) return;
  book_.replays(lane, launch.ts_ns, 1);
  book_.works_until(lane, launch.ts_ns);
  // The program has moved on, as with optimizers: replays are its updates.
  const bool updates = book_.captured_optimizers() != 0 && !chosen_.with_graphs;
  if (updates && is_steps_thread(lane) && !in_chosen_loop(lane)) ++strangers_;
}

void StepFinder::told_of_graphs(const Lane& lane, const wire::LoopMark& mark) {
  if ((mark.flags & wire::kMarkOptimizer) != 0) return book_.captured_optimizer();
  book_.stands(lane);
  if ((mark.flags & wire::kMarkReplays) != 0) return book_.replays(lane, mark.ts_ns, mark.count);
  book_.captured(lane, mark.ts_ns);
  if (is_steps_thread(lane) && !in_chosen_loop(lane)) captured_outside(mark.ts_ns);
}

void StepFinder::begin(const Lane& lane, const wire::OpBegin& op) {
  if (!looking()) return;
  const auto found = special_.find(op.name_id);
  const bool known = found != special_.end();
  OpKind kind = known ? found->second.kind : OpKind::kOther;
  // It updates nothing now: each replay will.
  if (kind == OpKind::kOptimizer && book_.is_capturing(lane)) {
    book_.captured_optimizer();
    kind = OpKind::kOther;
  }
  if (kind == OpKind::kOptimizer) book_.optimizer(lane, op);
  if ((op.flags & wire::kOpTopLevel) == 0) return;
  // What the program named itself encloses operators and is none.
  if (op.scope == kUserScope && !known) return;
  const bool capture = book_.capture_begins(lane);
  book_.begins(lane, op, kind);
  if (chosen_.source == wire::StepSource::kNone) return trail_.begins(lane, op);
  if (!chose_loop()) return;
  const bool inside = in_chosen_loop(lane);
  if (kind == OpKind::kOptimizer && !inside) ++(is_steps_thread(lane) ? strangers_ : others_);
  if (kind == OpKind::kOptimizer) late_update(lane, inside, op.ts_ns);
  if (!is_steps_thread(lane)) return;
  moves(lane, op, kind);
  if (capture && !inside) captured_outside(op.ts_ns);
}

// Where the thread of the steps is now.
void StepFinder::moves(const Lane& lane, const wire::OpBegin& op, OpKind kind) {
  if (in_chosen_loop(lane)) {
    if (pending_.begin_ns != 0 && kind == OpKind::kLoader) pending_.loader = true;
    if (pending_.begin_ns != 0 && kind != OpKind::kLoader) settle(true);
    if (kind == OpKind::kLoader)
      steps_.spans().loads(op.ts_ns, op.stack_id);
    else
      steps_.spans().works(op.stack_id);
  } else {
    steps_.spans().leaves(op.ts_ns);
  }
}

void StepFinder::end(const Lane& lane, const wire::OpEnd& end) {
  if (!looking()) return;
  const OpKind kind = book_.open_kind(lane);
  const bool work = kind != OpKind::kLoader;
  const bool top = book_.ends(lane, end);
  if (chosen_.source == wire::StepSource::kNone) return trail_.ends(lane, end);
  if (top && kind == OpKind::kOptimizer && !book_.optimizer_ends().empty())
    update_ended(book_.optimizer_ends().back());
  if (!top || !is_steps_thread(lane) || !in_chosen_loop(lane)) return;
  if (work)
    steps_.spans().works_until(end.ts_ns);
  else
    steps_.spans().loads_until(end.ts_ns);
}

// Until the target knows the rule. Where it counts an end, its mark follows at once.
void StepFinder::update_ended(const OptimizerEnd& end) {
  if (chosen_.source != wire::StepSource::kOptimizer || target_counts_ ||
      end.name_id != chosen_.optimizer_name || end.end_ns <= pending_.begin_ns)
    return;
  settle(true);
  pending_ = Pending{end.end_ns, end.tid, false};
}

void StepFinder::counted(const Lane& lane, const wire::StepMark& mark) {
  if (!looking() || (mark.flags & wire::kStepEnd) != 0) return;
  if (mark.source == kLoop) {
    settle(!pending_.loader);
    if (tid_ != lane.tid) follow(lane.tid);
  }
  if (mark.source == kOptimizer) {
    settle(pending_.begin_ns != mark.ts_ns);
    target_counts_ = true;
  }
  seen(mark.ts_ns);
  if (mark.source != kUser || chosen_.source == wire::StepSource::kUser) return;
  pending_ = {};
  suspended_ = doubted_ = false;
  chosen_ = StepChoice{wire::StepSource::kUser, kSureNamed, nullptr, false, 0};
  tell("ProfilerStep# ranges of the program's own");
}

void StepFinder::lane_lost(const Lane& lane) {
  if (looking()) book_.lane_lost(lane);
}

}  // namespace gpuprof::ingest
