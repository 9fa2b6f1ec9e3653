// SPDX-License-Identifier: Apache-2.0
//
// Two stacks that stand in the same loop are ordered by the first frame in which they differ.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/steps/sample_positions.hpp"

#include <algorithm>
#include <optional>

#include "gpuprof/base/bytes.hpp"

namespace gpuprof::ingest {

namespace {

constexpr std::uint64_t kIdleNs = 10'000'000'000, kLookNs = 1'000'000'000;

}  // namespace

void SamplePositions::define(const wire::StackDef& stack, const Tail& tail) {
  const std::size_t native = stack.native_count * sizeof(std::uint64_t);
  const std::size_t python = stack.python_count * sizeof(wire::PyFrame);
  if (stack.python_count == 0 || native + python > tail.bytes || stacks_.contains(stack.id)) return;
  if (frames_kept_ + stack.python_count > kMaxFrames) {
    stacks_.clear();
    frames_kept_ = 0;
  }
  Frames frames;
  for (std::size_t i = stack.python_count; i-- > 0;) {
    const auto one = base::load<wire::PyFrame>(tail.data + native + i * sizeof(wire::PyFrame));
    if (one.code_id != 0 && (one.flags & (wire::kPyModule | wire::kPyShim)) == 0)
      frames.push_back({one.code_id, one.instr_offset});
  }
  frames_kept_ += std::max<std::size_t>(1, frames.size());  // an empty one takes room, too
  stacks_.emplace(stack.id, std::move(frames));
}

// One that has had no sample for long makes room: a program may make thousands one after the other.
bool SamplePositions::has_room(std::uint32_t tid, std::uint64_t ts_ns) {
  if (threads_.size() < kMaxThreads || threads_.contains(tid)) return true;
  if (ts_ns < full_until_ns_) return false;
  full_until_ns_ = ts_ns + kLookNs;
  std::erase_if(threads_, [ts_ns](const auto& one) {
    return one.second.empty() || one.second.back().ts_ns + kIdleNs < ts_ns;
  });
  return threads_.size() < kMaxThreads;
}

// A thread's samples come by its own ring buffer and by the worker's.
void SamplePositions::add(const wire::Sample& sample) {
  if (sample.stack_id == 0) return;
  if (!has_room(sample.tid, sample.ts_ns)) return;
  std::deque<Sample>& samples = threads_[sample.tid];
  auto at = samples.end();
  while (at != samples.begin() && (at - 1)->ts_ns > sample.ts_ns) --at;
  samples.insert(at, Sample{sample.ts_ns, sample.stack_id});
  if (samples.size() > kMaxSamples) samples.pop_front();
}

void SamplePositions::forget(std::uint32_t tid, std::uint64_t before_ns) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  std::deque<Sample>& samples = found->second;
  while (!samples.empty() && samples.front().ts_ns < before_ns) samples.pop_front();
}

const SamplePositions::Frames* SamplePositions::frames(std::uint64_t stack_id) const {
  const auto found = stack_id == 0 ? stacks_.end() : stacks_.find(stack_id);
  return found == stacks_.end() ? nullptr : &found->second;
}

namespace {

/// Place of the loop's frame; of a recursion's, the one as deep as that of an operator in it.
template <typename Frames>
std::optional<std::size_t> frame_of(const Frames& frames, const wire::LoopDef& loop,
                                    std::optional<std::size_t> depth) {
  const auto is_it = [&](std::size_t i) {
    return frames[i].code_id == loop.code_id && frames[i].at >= loop.target_offset &&
           frames[i].at <= loop.jump_offset;
  };
  if (depth && *depth < frames.size() && is_it(*depth)) return depth;
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (is_it(i)) return i;
  return std::nullopt;
}

/// How far two stacks that enter the loop at these places have come: < 0, > 0, or 0 where the
/// frames do not tell.
template <typename Frames>
int compare(const Frames& a, std::size_t at_a, const Frames& b, std::size_t at_b) {
  for (; at_a < a.size() && at_b < b.size(); ++at_a, ++at_b) {
    if (a[at_a].code_id != b[at_b].code_id) return 0;
    if (a[at_a].at != b[at_b].at) return a[at_a].at < b[at_b].at ? -1 : 1;
  }
  return 0;
}

}  // namespace

// In the order of the byte code an iteration is: head, first operator, …, last operator, tail.
LoopPart SamplePositions::part_of(const Frames& seen, const wire::LoopDef& loop, const Frames* last,
                                  const Frames* first) {
  const auto none = std::optional<std::size_t>{};
  const auto at_last = last != nullptr ? frame_of(*last, loop, none) : none;
  const auto at_first = first != nullptr ? frame_of(*first, loop, at_last) : none;
  const auto at = frame_of(seen, loop, at_first ? at_first : at_last);
  if (!at) return LoopPart::kOutside;
  // It may stand in the call that one of the two came from, which has not begun or is over.
  const int to_last = at_last ? compare(seen, *at, *last, *at_last) : 0;
  const int to_first = at_first ? compare(seen, *at, *first, *at_first) : 0;
  const bool in_last = at_last && to_last == 0 && seen[*at].at == (*last)[*at_last].at;
  const bool in_first = at_first && to_first == 0 && seen[*at].at == (*first)[*at_first].at;
  if (in_last != in_first) return in_last ? LoopPart::kTail : LoopPart::kHead;
  if (in_last || (!at_last && !at_first)) return LoopPart::kUnknown;
  if (!at_first) return to_last > 0 ? LoopPart::kTail : LoopPart::kHead;
  if (!at_last) return to_first < 0 ? LoopPart::kHead : LoopPart::kTail;
  if (to_last > 0 && to_first < 0) return LoopPart::kUnknown;  // the last came from an earlier line
  // A loop of its own may lead from the last operator back to before it.
  return to_first < 0 ? LoopPart::kHead : LoopPart::kTail;
}

std::vector<SamplePositions::Position> SamplePositions::between(
    std::uint32_t tid, std::uint64_t from_ns, std::uint64_t to_ns, const wire::LoopDef& loop,
    std::uint64_t last, std::uint64_t first) const {
  std::vector<Position> seen;
  const auto found = threads_.find(tid);
  if (found == threads_.end() || loop.code_id == 0) return seen;
  const std::deque<Sample>& samples = found->second;
  auto at =
      std::lower_bound(samples.begin(), samples.end(), from_ns,
                       [](const Sample& sample, std::uint64_t ns) { return sample.ts_ns < ns; });
  for (; at != samples.end() && at->ts_ns < to_ns; ++at)
    if (const Frames* stack = frames(at->stack_id))
      seen.push_back({at->ts_ns, part_of(*stack, loop, frames(last), frames(first))});
  return seen;
}

}  // namespace gpuprof::ingest
