// SPDX-License-Identifier: Apache-2.0
//
// The stack of operators of each thread.
//
// Context:  daemon (ingest thread)
// Owns:     see operators.hpp
#include "daemon/ingest/operators.hpp"

#include <algorithm>

namespace gpuprof::ingest {

using model::LossReason;

Operators::Thread& Operators::thread(const Lane& lane) {
  if (lane.index >= threads_.size()) threads_.resize(lane.index + 1);
  return threads_[lane.index];
}

void Operators::close(Open& open, std::uint64_t ts_ns, std::uint32_t end_tid, std::uint32_t flags) {
  model::Operator& op = open.op;
  op.end_ns = std::max(ts_ns, op.start_ns);
  op.end_tid = end_tid;
  op.flags |= flags;
  if (open.forward_thread != 0) {
    const auto known = os_threads_.find(open.forward_thread);
    if (known != os_threads_.end()) op.forward_tid = known->second;
  }
  if (!life_.holds(op.start_ns, op.end_ns))
    return losses_.add(LossReason::kTimeImplausible, op.tid, 1, 0, 0);
  names_.settle_string(op.name);
  names_.settle_stack(op.stack);
  names_.settle_inputs(op.inputs);
  ++counts_.operators;
  sink_.on(op);
}

void Operators::lane_opened(const Lane& lane, std::uint64_t ts_ns) {
  Thread& owner = thread(lane);
  for (auto at = owner.open.rbegin(); at != owner.open.rend(); ++at)
    close(*at, ts_ns, owner.tid, model::kRangeUnfinished);
  owner = Thread{};
  owner.tid = lane.tid;
}

void Operators::lane_lost(const Lane& lane) {
  Thread& owner = thread(lane);
  owner.lost = !owner.open.empty();
}

void Operators::begin(const Lane& lane, const wire::OpBegin& begin, model::RangeId parent,
                      std::size_t ranges) {
  Thread& owner = thread(lane);
  owner.tid = lane.tid;
  if (begin.thread != 0) os_threads_[begin.thread] = lane.tid;
  // An object address that begins again has ended meanwhile; so has all that was opened in it.
  if (owner.lost) {
    const auto same = std::find_if(owner.open.begin(), owner.open.end(),
                                   [&](const Open& open) { return open.object == begin.object; });
    for (auto at = owner.open.end(); at != same;)
      close(*--at, begin.ts_ns, lane.tid, model::kRangeUnfinished);
    owner.open.erase(same, owner.open.end());
  }
  if (owner.open.size() >= limits_.operator_depth)
    return losses_.add(LossReason::kRangeTooDeep, lane.tid, 1, begin.ts_ns, begin.ts_ns);
  model::Operator op{};
  op.start_ns = op.end_ns = begin.ts_ns;
  op.id = next_id_++;
  op.parent = parent;
  op.sequence = begin.sequence;
  op.name = names_.string(begin.name_id);
  op.stack = names_.stack(begin.stack_id);
  op.inputs = names_.inputs(begin.inputs_id);
  op.tid = op.end_tid = lane.tid;
  op.scope = begin.scope;
  op.flags = (begin.flags & wire::kOpTopLevel) != 0 ? model::kOpTopLevel : 0;
  if (owner.open.size() + ranges >= limits_.drawn_depth) op.flags |= model::kRangeDeep;
  // PyTorch gives the node's number to the node only, not to the range around its evaluation.
  if (begin.scope == model::kScopeBackward && !owner.open.empty() &&
      owner.open.back().op.sequence < 0)
    owner.open.back().op.sequence = begin.sequence;
  owner.open.push_back(Open{op, begin.object, begin.op_id, begin.forward_thread});
}

// Memory that serves again may have begun once more by the time its end on another thread is read.
Operators::OpenAt Operators::find(Thread& owner, std::uint64_t object, std::uint64_t end_ns) {
  const auto found = std::find_if(owner.open.rbegin(), owner.open.rend(), [&](const Open& open) {
    return open.object == object && open.op.start_ns <= end_ns;
  });
  return found == owner.open.rend() ? owner.open.end() : std::prev(found.base());
}

void Operators::end_at(Thread& owner, OpenAt at, std::uint64_t end_ns) {
  if (owner.lost) {
    // The ends of the inner ones were among what was dropped.
    for (auto inner = owner.open.end(); inner != std::next(at);)
      close(*--inner, end_ns, owner.tid, model::kRangeUnfinished);
    owner.open.erase(std::next(at), owner.open.end());
  }
  const bool nests = std::next(at) == owner.open.end();
  close(*at, end_ns, owner.tid, nests ? 0 : model::kRangeCrossing);
  owner.open.erase(at);
  owner.lost = owner.lost && !owner.open.empty();
}

// An end without a number belongs to an operator below so many others that its thread no longer
// knew it, to one of another thread, whose lane may be read after this one, or to one that was open
// when recording began.
void Operators::end(const Lane& lane, const wire::OpEnd& end) {
  Thread& owner = thread(lane);
  owner.tid = lane.tid;
  const OpenAt at = find(owner, end.object, end.ts_ns);
  if (at != owner.open.end()) return end_at(owner, at, end.ts_ns);
  if (end.op_id != 0) return;
  if (waiting_.size() >= kMaxWaiting) waiting_.erase(waiting_.begin());
  waiting_.push_back({end.object, end.ts_ns, lane.tid});
}

// Its memory may have served others before, so that only what is still open once its thread is past
// the end is what ended there.
void Operators::settle(Thread& owner, std::uint64_t ts_ns) {
  // All lanes are read many times a second.
  constexpr std::uint64_t kLong_ns = 2'000'000'000;
  std::erase_if(waiting_, [&](const Waiting& end) {
    if (end.ts_ns >= ts_ns) return false;
    const OpenAt at = find(owner, end.object, end.ts_ns);
    if (at == owner.open.end()) return ts_ns - end.ts_ns > kLong_ns;
    close(*at, end.ts_ns, end.tid, model::kRangeCrossing);
    owner.open.erase(at);
    return true;
  });
}

Operators::Innermost Operators::innermost(const Lane& lane, std::uint32_t op_id) const {
  if (lane.index >= threads_.size()) return {};
  const auto& open = threads_[lane.index].open;
  bool found = op_id == 0;
  for (auto at = open.rbegin(); at != open.rend(); ++at) {
    found = found || at->op_id == op_id;
    if (found && (at->op.flags & model::kRangeDeep) == 0)
      return {at->op.id, at->op.start_ns, at->op.scope};
  }
  return {};
}

void Operators::round_done(std::uint64_t now_ns) {
  if (!waiting_.empty())
    for (Thread& owner : threads_) settle(owner, last_round_ns_);
  last_round_ns_ = now_ns;
}

void Operators::close_before(std::uint64_t ts_ns) {
  for (Thread& owner : threads_) {
    settle(owner, ts_ns);
    const auto stays =
        std::stable_partition(owner.open.begin(), owner.open.end(),
                              [&](const Open& open) { return open.op.start_ns < ts_ns; });
    for (auto at = stays; at != owner.open.begin();)
      close(*--at, ts_ns, owner.tid, model::kRangeUnfinished);
    owner.open.erase(owner.open.begin(), stays);
  }
}

}  // namespace gpuprof::ingest
