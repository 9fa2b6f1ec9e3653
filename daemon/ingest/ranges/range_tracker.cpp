// SPDX-License-Identifier: Apache-2.0
//
// The stack of each thread, over all NVTX domains.
//
// Context:  daemon (ingest thread)
// Owns:     see ranges.hpp
#include "daemon/ingest/ranges/range_tracker.hpp"

#include <algorithm>
#include <utility>

namespace gpuprof::ingest {

using model::LossReason;
using model::RangeKind;

namespace {

/// RangePush, RangeStart and MarkEvent differ only in what they do not have.
template <typename Wire>
model::Range begun(const Wire& from, const Lane& lane, Names& names, RangeKind kind) {
  model::Range range{};
  range.start_ns = range.end_ns = from.ts_ns;
  range.name = names.string(from.message_id);
  range.tid = range.end_tid = lane.tid;
  range.domain = from.domain;
  range.category = from.category;
  range.color = from.color;
  range.payload_type = from.payload_type;
  range.payload = from.payload;
  range.kind = kind;
  return range;
}

}  // namespace

Ranges::Thread& Ranges::thread(const Lane& lane) {
  if (lane.index >= threads_.size()) threads_.resize(lane.index + 1);
  return threads_[lane.index];
}

void Ranges::close(model::Range range, std::uint64_t ts_ns, std::uint32_t end_tid,
                   std::uint32_t flags) {
  range.end_ns = std::max(ts_ns, range.start_ns);
  range.end_tid = end_tid;
  range.flags |= flags;
  held_.send(range);
}

void Ranges::close_all(Thread& thread, std::uint64_t before_ns, std::uint64_t ts_ns) {
  const auto stays =
      std::stable_partition(thread.open.begin(), thread.open.end(),
                            [&](const model::Range& range) { return range.start_ns < before_ns; });
  for (auto at = stays; at != thread.open.begin();)
    close(*--at, ts_ns, thread.tid, model::kRangeUnfinished);
  thread.open.erase(thread.open.begin(), stays);
  if (thread.open.empty()) thread.too_deep = 0;
}

void Ranges::lane_opened(const Lane& lane, std::uint64_t ts_ns) {
  Thread& owner = thread(lane);
  close_all(owner, ~0ULL, ts_ns);
  owner.tid = lane.tid;
}

void Ranges::lane_lost(const Lane& lane, std::uint64_t ts_ns) {
  close_all(thread(lane), ~0ULL, ts_ns);
}

void Ranges::push(const Lane& lane, const wire::RangePush& push, model::RangeId parent,
                  std::size_t operators) {
  Thread& owner = thread(lane);
  owner.tid = lane.tid;
  if (owner.open.size() >= limits_.range_depth) {
    ++owner.too_deep;
    return losses_.add(LossReason::kRangeTooDeep, lane.tid, 1, push.ts_ns, push.ts_ns);
  }
  const bool deep = owner.open.size() + operators >= limits_.drawn_depth;
  owner.open.push_back(begun(push, lane, names_, RangeKind::kPushPop));
  if (deep) owner.open.back().flags |= model::kRangeDeep;
  owner.open.back().id = next_id_++;
  owner.open.back().parent = parent;
}

void Ranges::pop(const Lane& lane, const wire::RangePop& pop) {
  Thread& owner = thread(lane);
  if (owner.too_deep != 0) {
    --owner.too_deep;
    return;
  }
  const auto found = std::find_if(owner.open.rbegin(), owner.open.rend(),
                                  [&](const auto& range) { return range.domain == pop.domain; });
  if (found == owner.open.rend())
    return losses_.add(LossReason::kPopWithoutPush, lane.tid, 1, pop.ts_ns, pop.ts_ns);
  const auto at = std::prev(found.base());
  const std::uint32_t flags = std::next(at) == owner.open.end() ? 0 : model::kRangeCrossing;
  close(*at, pop.ts_ns, lane.tid, flags);
  owner.open.erase(at);
}

void Ranges::start(const Lane& lane, const wire::RangeStart& start) {
  if (started_.size() >= limits_.open_ranges)
    return losses_.add(LossReason::kRangeTooDeep, lane.tid, 1, start.ts_ns, start.ts_ns);
  model::Range range = begun(start, lane, names_, RangeKind::kStartEnd);
  range.id = next_id_++;
  const auto [at, fresh] = started_.try_emplace(start.range_id, range);
  if (fresh) return;
  close(at->second, start.ts_ns, lane.tid, model::kRangeUnfinished);
  at->second = range;
}

void Ranges::end(const Lane& lane, const wire::RangeEnd& end) {
  const auto at = started_.find(end.range_id);
  if (at == started_.end())
    return losses_.add(LossReason::kPopWithoutPush, lane.tid, 1, end.ts_ns, end.ts_ns);
  close(at->second, end.ts_ns, lane.tid, 0);
  started_.erase(at);
}

void Ranges::mark(const Lane& lane, const wire::MarkEvent& mark) {
  model::Range range = begun(mark, lane, names_, RangeKind::kMark);
  range.id = next_id_++;
  held_.send(range);
}

void Ranges::remark(std::string_view text, std::uint32_t tid, std::uint64_t ts_ns) {
  model::Range range{};
  range.start_ns = range.end_ns = ts_ns;
  range.name = names_.text(text);
  range.tid = range.end_tid = tid;
  range.domain = kOwnDomain;
  range.kind = RangeKind::kMark;
  range.id = next_id_++;
  held_.send(range);
}

model::RangeId Ranges::innermost(const Lane& lane, std::uint64_t* start_ns) const {
  *start_ns = 0;
  if (lane.index >= threads_.size()) return 0;
  const auto& open = threads_[lane.index].open;
  for (auto at = open.rbegin(); at != open.rend(); ++at) {
    if ((at->flags & model::kRangeDeep) != 0) continue;
    *start_ns = at->start_ns;
    return at->id;
  }
  return 0;
}

// A range that has a stack lies in ranges that have one: the walk ends there.
void Ranges::launched(const Lane& lane, model::StackId stack) {
  if (stack == 0 || lane.index >= threads_.size()) return;
  auto& open = threads_[lane.index].open;
  for (auto at = open.rbegin(); at != open.rend() && at->stack == 0; ++at) at->stack = stack;
}

void Ranges::copy_open(std::uint64_t ts_ns) {
  const auto copy = [&](model::Range range) {
    range.end_ns = std::max(ts_ns, range.start_ns);
    range.flags |= model::kRangeUnfinished | model::kRangeStillOpen;
    held_.send_copy(range);
  };
  for (const Thread& owner : threads_) std::for_each(owner.open.rbegin(), owner.open.rend(), copy);
  for (const auto& [id, range] : started_) copy(range);
}

void Ranges::close_before(std::uint64_t ts_ns) {
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
