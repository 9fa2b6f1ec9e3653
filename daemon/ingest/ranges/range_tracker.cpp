// SPDX-License-Identifier: Apache-2.0
//
// The stack of each thread, over all NVTX domains.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/ranges/range_tracker.hpp"

#include <algorithm>
#include <utility>

namespace gpuprof::ingest {

using model::LossReason;
using model::RangeKind;

namespace {

/// RangePush, RangeStart and NvtxMark differ only in what they do not have.
template <typename Wire>
model::Range begun(const Wire& from, const RingInfo& ring, Definitions& names, RangeKind kind) {
  model::Range range{};
  range.start_ns = range.end_ns = from.ts_ns;
  range.name = names.string(from.message_id);
  range.tid = range.end_tid = ring.tid;
  range.domain = from.domain;
  range.category = from.category;
  range.color = from.color;
  range.payload_type = from.payload_type;
  range.payload = from.payload;
  range.kind = kind;
  return range;
}

}  // namespace

RangeTracker::Thread& RangeTracker::thread(const RingInfo& ring) {
  if (ring.index >= threads_.size()) threads_.resize(ring.index + 1);
  return threads_[ring.index];
}

void RangeTracker::close(model::Range range, std::uint64_t ts_ns, std::uint32_t end_tid,
                         std::uint32_t flags) {
  range.end_ns = std::max(ts_ns, range.start_ns);
  range.end_tid = end_tid;
  range.flags |= flags;
  held_.send(range);
}

void RangeTracker::close_all(Thread& thread, std::uint64_t before_ns, std::uint64_t ts_ns) {
  const auto stays =
      std::stable_partition(thread.open.begin(), thread.open.end(),
                            [&](const model::Range& range) { return range.start_ns < before_ns; });
  for (auto at = stays; at != thread.open.begin();)
    close(*--at, ts_ns, thread.tid, model::kRangeUnfinished);
  thread.open.erase(thread.open.begin(), stays);
  if (thread.open.empty()) thread.too_deep = 0;
}

void RangeTracker::ring_opened(const RingInfo& ring, std::uint64_t ts_ns) {
  Thread& owner = thread(ring);
  close_all(owner, ~0ULL, ts_ns);
  owner.tid = ring.tid;
}

void RangeTracker::ring_lost(const RingInfo& ring, std::uint64_t ts_ns) {
  close_all(thread(ring), ~0ULL, ts_ns);
}

void RangeTracker::push(const RingInfo& ring, const wire::RangePush& push, model::RangeId parent,
                        std::size_t operators) {
  Thread& owner = thread(ring);
  owner.tid = ring.tid;
  if (owner.open.size() >= limits_.range_depth) {
    ++owner.too_deep;
    return losses_.add(LossReason::kRangeTooDeep, ring.tid, 1, push.ts_ns, push.ts_ns);
  }
  const bool deep = owner.open.size() + operators >= limits_.viewer_depth;
  owner.open.push_back(begun(push, ring, names_, RangeKind::kPushPop));
  if (deep) owner.open.back().flags |= model::kRangeDeep;
  owner.open.back().id = next_id_++;
  owner.open.back().parent = parent;
}

void RangeTracker::pop(const RingInfo& ring, const wire::RangePop& pop) {
  Thread& owner = thread(ring);
  if (owner.too_deep != 0) {
    --owner.too_deep;
    return;
  }
  const auto found = std::find_if(owner.open.rbegin(), owner.open.rend(),
                                  [&](const auto& range) { return range.domain == pop.domain; });
  if (found == owner.open.rend())
    return losses_.add(LossReason::kPopWithoutPush, ring.tid, 1, pop.ts_ns, pop.ts_ns);
  const auto at = std::prev(found.base());
  const std::uint32_t flags = std::next(at) == owner.open.end() ? 0 : model::kRangeCrossing;
  close(*at, pop.ts_ns, ring.tid, flags);
  owner.open.erase(at);
}

void RangeTracker::start(const RingInfo& ring, const wire::RangeStart& start) {
  if (started_.size() >= limits_.open_ranges)
    return losses_.add(LossReason::kRangeTooDeep, ring.tid, 1, start.ts_ns, start.ts_ns);
  model::Range range = begun(start, ring, names_, RangeKind::kStartEnd);
  range.id = next_id_++;
  const auto [at, fresh] = started_.try_emplace(start.range_id, range);
  if (fresh) return;
  close(at->second, start.ts_ns, ring.tid, model::kRangeUnfinished);
  at->second = range;
}

void RangeTracker::end(const RingInfo& ring, const wire::RangeEnd& end) {
  const auto at = started_.find(end.range_id);
  if (at == started_.end())
    return losses_.add(LossReason::kPopWithoutPush, ring.tid, 1, end.ts_ns, end.ts_ns);
  close(at->second, end.ts_ns, ring.tid, 0);
  started_.erase(at);
}

void RangeTracker::mark(const RingInfo& ring, const wire::NvtxMark& mark) {
  model::Range range = begun(mark, ring, names_, RangeKind::kMark);
  range.id = next_id_++;
  held_.send(range);
}

void RangeTracker::remark(std::string_view text, std::uint32_t tid, std::uint64_t ts_ns) {
  model::Range range{};
  range.start_ns = range.end_ns = ts_ns;
  range.name = names_.text(text);
  range.tid = range.end_tid = tid;
  range.domain = kGpuprofDomain;
  range.kind = RangeKind::kMark;
  range.id = next_id_++;
  held_.send(range);
}

model::RangeId RangeTracker::innermost(const RingInfo& ring, std::uint64_t* start_ns) const {
  *start_ns = 0;
  if (ring.index >= threads_.size()) return 0;
  const auto& open = threads_[ring.index].open;
  for (auto at = open.rbegin(); at != open.rend(); ++at) {
    if ((at->flags & model::kRangeDeep) != 0) continue;
    *start_ns = at->start_ns;
    return at->id;
  }
  return 0;
}

// A range that has a stack lies in ranges that have one: the walk ends there.
void RangeTracker::launched(const RingInfo& ring, model::StackId stack) {
  if (stack == 0 || ring.index >= threads_.size()) return;
  auto& open = threads_[ring.index].open;
  for (auto at = open.rbegin(); at != open.rend() && at->stack == 0; ++at) at->stack = stack;
}

void RangeTracker::copy_open(std::uint64_t ts_ns) {
  const auto copy = [&](model::Range range) {
    range.end_ns = std::max(ts_ns, range.start_ns);
    range.flags |= model::kRangeUnfinished | model::kRangeOpenSnapshot;
    held_.emit_snapshot(range);
  };
  for (const Thread& owner : threads_) std::for_each(owner.open.rbegin(), owner.open.rend(), copy);
  for (const auto& [id, range] : started_) copy(range);
}

void RangeTracker::close_before(std::uint64_t ts_ns) {
  for (Thread& owner : threads_) close_all(owner, ts_ns, ts_ns);
  for (auto at = started_.begin(); at != started_.end();) {
    if (at->second.start_ns >= ts_ns) {
      ++at;
      continue;
    }
    close(at->second, ts_ns, at->second.tid, model::kRangeUnfinished);
    at = started_.erase(at);
  }
}

}  // namespace gpuprof::ingest
