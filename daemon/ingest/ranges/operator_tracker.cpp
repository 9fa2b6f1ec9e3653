// SPDX-License-Identifier: Apache-2.0
//
// The stack of operators of each thread.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/ranges/operator_tracker.hpp"

#include <algorithm>
#include <utility>

namespace gpuprof::ingest {

using model::LossReason;

OperatorTracker::Thread& OperatorTracker::thread(const RingInfo& ring) {
  if (ring.index >= threads_.size()) threads_.resize(ring.index + 1);
  return threads_[ring.index];
}

void OperatorTracker::close(Open& open, std::uint64_t ts_ns, std::uint32_t end_tid,
                            std::uint32_t flags) {
  model::Operator& op = open.op;
  op.end_ns = std::max(ts_ns, op.start_ns);
  op.end_tid = end_tid;
  op.flags |= flags;
  complete(open);
  if (!life_.contains(op.start_ns, op.end_ns))
    return losses_.add(LossReason::kTimeImplausible, op.tid, 1, 0, 0);
  ++counts_.operators;
  sink_.on(op);
}

/// What was not known when it began.
void OperatorTracker::complete(Open& open) {
  model::Operator& op = open.op;
  if (open.forward_thread != 0) {
    const std::uint32_t* const known = os_threads_.find(open.forward_thread);
    if (known != nullptr) op.forward_tid = *known;
  }
  names_.resolve_string(op.name);
  names_.resolve_stack(op.stack);
  names_.resolve_inputs(op.inputs);
}

void OperatorTracker::on_ring_opened(const RingInfo& ring, std::uint64_t ts_ns) {
  Thread& owner = thread(ring);
  for (auto at = owner.open.rbegin(); at != owner.open.rend(); ++at)
    close_at_last_known(owner, *at, ts_ns);
  owner = Thread{};
  owner.tid = ring.tid;
}

void OperatorTracker::ring_lost(const RingInfo& ring, std::uint64_t ts_ns) {
  Thread& owner = thread(ring);
  owner.has_uncertain = !owner.open.empty();
  for (Open& open : owner.open)
    if (open.uncertain_since_ns == 0)
      open.uncertain_since_ns = std::max(ts_ns, open.op.start_ns + 1);
}

/// Until when it was surely open, as known at `ts_ns`.
std::uint64_t OperatorTracker::known_open_until(const Open& open, std::uint64_t ts_ns) {
  return open.uncertain_since_ns != 0 ? std::min(open.uncertain_since_ns, ts_ns) : ts_ns;
}

void OperatorTracker::close_at_last_known(const Thread& owner, Open& open, std::uint64_t ts_ns) {
  close(open, known_open_until(open, ts_ns), owner.tid, model::kRangeUnfinished);
}

void OperatorTracker::begin(const RingInfo& ring, const wire::OpBegin& begin, model::RangeId parent,
                            std::size_t ranges) {
  Thread& owner = thread(ring);
  owner.tid = ring.tid;
  if (begin.thread != 0) os_threads_.set(begin.thread, ring.tid);
  // An object that begins again has ended meanwhile.
  if (owner.has_uncertain)
    std::erase_if(owner.open, [&](Open& open) {
      const bool ended = open.uncertain_since_ns != 0 && open.object == begin.object;
      if (ended) close_at_last_known(owner, open, begin.ts_ns);
      return ended;
    });
  if (owner.open.size() >= limits_.operator_depth)
    return losses_.add(LossReason::kRangeTooDeep, ring.tid, 1, begin.ts_ns, begin.ts_ns);
  model::Operator op{};
  op.start_ns = op.end_ns = begin.ts_ns;
  op.id = next_id_++;
  op.parent = parent;
  op.sequence = begin.sequence;
  op.name = names_.string(begin.name_id);
  op.stack = names_.stack(begin.stack_id);
  op.inputs = names_.inputs(begin.inputs_id);
  op.tid = op.end_tid = ring.tid;
  op.scope = begin.scope;
  op.flags = (begin.flags & wire::kOpTopLevel) != 0 ? model::kOpTopLevel : 0;
  if (owner.open.size() + ranges >= limits_.viewer_depth) op.flags |= model::kRangeDeep;
  // PyTorch gives the node's number to the node only, not to the range around its evaluation.
  if (begin.scope == model::kScopeBackward && !owner.open.empty() &&
      owner.open.back().op.sequence < 0)
    owner.open.back().op.sequence = begin.sequence;
  owner.open.push_back(Open{op, begin.object, begin.op_id, begin.forward_thread});
}

// Memory that serves again may have begun once more by the time its end on another thread is read.
OperatorTracker::OpenAt OperatorTracker::find(Thread& owner, std::uint64_t object,
                                              std::uint64_t end_ns, std::uint32_t op_id) {
  const auto found = std::find_if(owner.open.rbegin(), owner.open.rend(), [&](const Open& open) {
    return open.object == object && open.op.start_ns <= end_ns &&
           (op_id == 0 || open.op_id == op_id);
  });
  return found == owner.open.rend() ? owner.open.end() : std::prev(found.base());
}

void OperatorTracker::end_at(Thread& owner, OpenAt at, std::uint64_t end_ns) {
  const bool nests = std::all_of(std::next(at), owner.open.end(),
                                 [](const Open& inner) { return inner.uncertain_since_ns != 0; });
  close(*at, end_ns, owner.tid, nests ? 0 : model::kRangeCrossing);
  owner.open.erase(at);
}

// What lies further in than the innermost open one has ended, but for what ends now; what lies
// further out has not. One that began while records were dropped tells nothing.
void OperatorTracker::apply_open_hint(Thread& owner, const wire::OpEnd& end) {
  if (!owner.has_uncertain) return;
  const std::uint32_t innermost = end.outer;
  const auto known = std::find_if(owner.open.rbegin(), owner.open.rend(),
                                  [&](const Open& open) { return open.op_id == innermost; });
  if (innermost != 0 && (known == owner.open.rend() || known->uncertain_since_ns == 0)) return;
  const OpenAt inner = innermost == 0 ? owner.open.begin() : known.base();
  const model::RangeId outer = innermost == 0 ? 0 : known->op.id;
  std::for_each(owner.open.begin(), inner, [](Open& open) { open.uncertain_since_ns = 0; });
  const auto ended = [&](const Open& open) {
    const bool now = end.op_id == 0 ? open.object == end.object : open.op_id == end.op_id;
    return open.uncertain_since_ns != 0 && !now;
  };
  for (auto at = owner.open.rbegin(); at != std::make_reverse_iterator(inner); ++at) {
    if (!ended(*at)) continue;
    close_at_last_known(owner, *at, end.ts_ns);
    // What began in the meantime was thought to be inside it.
    for (auto later = inner; later != owner.open.end(); ++later)
      if (later->op.parent == at->op.id && !ended(*later)) later->op.parent = outer;
  }
  owner.open.erase(std::remove_if(inner, owner.open.end(), ended), owner.open.end());
  owner.has_uncertain = false;
}

// An end without a number belongs to an operator below so many others that its thread no longer
// knew it, to one of another thread, whose ring buffer may be read after this one, or to one that
// was open when recording began.
void OperatorTracker::end(const RingInfo& ring, const wire::OpEnd& end) {
  Thread& owner = thread(ring);
  owner.tid = ring.tid;
  apply_open_hint(owner, end);
  const OpenAt at = find(owner, end.object, end.ts_ns, end.op_id);
  if (at != owner.open.end()) return end_at(owner, at, end.ts_ns);
  if (end.op_id != 0) return;
  if (waiting_.size() >= kMaxWaiting) resolve_oldest();
  waiting_.push_back({end.object, end.ts_ns, ring.tid});
}

// Its memory may have served others before, so that only what is still open once its thread is past
// the end is what ended there.
void OperatorTracker::resolve_pending(Thread& owner, std::uint64_t ts_ns) {
  // All ring buffers are read many times a second.
  constexpr std::uint64_t kLongNs = 2'000'000'000;
  std::erase_if(waiting_, [&](const PendingEnd& end) {
    if (end.ts_ns >= ts_ns) return false;
    const OpenAt at = find(owner, end.object, end.ts_ns);
    if (at == owner.open.end()) return ts_ns - end.ts_ns > kLongNs;
    close_on_other_thread(owner, at, end);
    return true;
  });
}

void OperatorTracker::close_on_other_thread(Thread& owner, OpenAt at, const PendingEnd& end) {
  close(*at, end.ts_ns, end.tid, model::kRangeCrossing);
  owner.open.erase(at);
}

// More than can wait have come since the ring buffers were last read: the first of them goes by
// what has been read so far.
void OperatorTracker::resolve_oldest() {
  const PendingEnd end = waiting_.front();
  waiting_.erase(waiting_.begin());
  for (Thread& owner : threads_) {
    const OpenAt at = find(owner, end.object, end.ts_ns);
    if (at != owner.open.end()) return close_on_other_thread(owner, at, end);
  }
  losses_.add(LossReason::kPopWithoutPush, end.tid, 1, end.ts_ns, end.ts_ns);
}

OperatorTracker::Innermost OperatorTracker::innermost(const RingInfo& ring,
                                                      std::uint32_t op_id) const {
  if (ring.index >= threads_.size()) return {};
  const auto& open = threads_[ring.index].open;
  bool found = op_id == 0 || op_id == wire::kOpUnknown;
  for (auto at = open.rbegin(); at != open.rend(); ++at) {
    found = found || at->op_id == op_id;
    if (found && (at->op.flags & model::kRangeDeep) == 0)
      return {at->op.id, at->op.start_ns, at->op.scope};
  }
  return {};
}

void OperatorTracker::round_done(std::uint64_t now_ns) {
  if (!waiting_.empty())
    for (Thread& owner : threads_) resolve_pending(owner, last_round_ns_);
  last_round_ns_ = now_ns;
}

void OperatorTracker::copy_open(std::uint64_t ts_ns) {
  for (Thread& owner : threads_) {
    for (auto open = owner.open.rbegin(); open != owner.open.rend(); ++open) {
      complete(*open);
      model::Operator op = open->op;
      op.end_ns = std::max(known_open_until(*open, ts_ns), op.start_ns);
      if (op.end_ns == std::exchange(open->copied_ns, op.end_ns)) continue;
      op.flags |= model::kRangeUnfinished | model::kRangeOpenSnapshot;
      if (open->uncertain_since_ns != 0) op.flags |= model::kRangeEndUnknown;
      if (life_.contains(op.start_ns, op.end_ns)) sink_.on(op);
    }
  }
}

void OperatorTracker::close_before(std::uint64_t ts_ns) {
  for (Thread& owner : threads_) {
    resolve_pending(owner, ts_ns);
    const auto stays =
        std::stable_partition(owner.open.begin(), owner.open.end(),
                              [&](const Open& open) { return open.op.start_ns < ts_ns; });
    for (auto at = stays; at != owner.open.begin();) close_at_last_known(owner, *--at, ts_ns);
    owner.open.erase(owner.open.begin(), stays);
  }
}

}  // namespace gpuprof::ingest
