// SPDX-License-Identifier: Apache-2.0
//
// Borders: the rule, and what samples say where a pause is long.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/steps/step_boundaries.hpp"

#include <algorithm>

namespace gpuprof::ingest {
namespace {

using Samples = std::vector<SamplePositions::Position>;

/// One that nothing was seen of is reported from here on: there should have been samples.
constexpr std::uint64_t kReportPauseNs = 20'000'000;

/// What samples tell of a pause from `from_ns` to `to_ns`, at the very begin or end of which (less
/// than `near_ns` away) a thread is in any case.
struct Pause {
  std::uint64_t from_ns, to_ns, near_ns;
};

/// Between the last sample of the first kind and the first one of the second; 0: there is none.
/// What passes on one side only passes there all: a single sample close to the other end, where the
/// thread came by in any case, moves the border no farther than to it.
std::uint64_t boundary_between(const Pause& pause, std::uint64_t first_ns,
                               std::uint64_t second_ns) {
  const bool second_near = second_ns != 0 && pause.to_ns - second_ns <= pause.near_ns;
  if (first_ns == 0) return second_near ? 0 : pause.from_ns;
  if (second_ns == 0) return pause.to_ns;
  const bool first_near = first_ns <= pause.from_ns || first_ns - pause.from_ns <= pause.near_ns;
  if (second_near && !first_near) return second_ns;
  if (first_near && !second_near) return std::max(first_ns, pause.from_ns);
  return (first_ns + second_ns) / 2;
}

/// Where the samples go over from one kind to the other: those that the border puts on the wrong
/// side are as few as can be. 0: they do not tell.
template <typename IsFirst, typename IsSecond>
std::uint64_t change(const Samples& samples, const Pause& pause, const IsFirst& is_first,
                     const IsSecond& is_second) {
  std::uint64_t newest_ns = 0, first_ns = 0, second_ns = 0;
  std::int64_t wrong = std::count_if(samples.begin(), samples.end(), is_first), fewest = wrong;
  bool some = false, open = true;  // the border lies between newest_ns and the sample to come
  for (const SamplePositions::Position& one : samples) {
    const bool first = is_first(one), second = is_second(one);
    if (!first && !second) continue;
    some = true;
    if (open) first_ns = newest_ns, second_ns = one.ts_ns;
    wrong += first ? -1 : 1;
    open = wrong < fewest;
    if (open) fewest = wrong;
    newest_ns = one.ts_ns;
  }
  if (!some) return 0;
  return open ? boundary_between(pause, newest_ns, 0)
              : boundary_between(pause, first_ns, second_ns);
}

bool of_head(const SamplePositions::Position& one) { return one.part == LoopPart::kHead; }
bool of_tail(const SamplePositions::Position& one) { return one.part == LoopPart::kTail; }

}  // namespace

void StepBoundaries::of_loop(const wire::LoopDef& loop, const std::vector<StepExtent>& before) {
  loop_ = loop;
  lengths_.clear();
  usual_ns_ = kUnknown;
  for (std::size_t i = 1; i < before.size(); ++i)
    if (before[i - 1].end_ns > before[i - 1].mark_ns && before[i - 1].end_ns <= before[i].mark_ns &&
        follows(before[i - 1], before[i]))
      learn(before[i].mark_ns - before[i - 1].end_ns);
}

void StepBoundaries::begins(std::uint64_t mark_ns, std::uint32_t tid, bool entry) {
  StepExtent span;
  span.mark_ns = mark_ns;
  span.tid = tid;
  span.entry = entry;
  for (const Load& load : loads_)
    if (load.begin_ns >= mark_ns && span.first == 0) span.first = load.stack;
  begins(span);
}

void StepBoundaries::begins(const StepExtent& span) {
  if (spans_.size() >= kMaxSpans) spans_.pop_front();
  // What only asked the loader, and was no step, is part of the one before it.
  for (const Load& load : loads_)
    if (!spans_.empty() && load.end_ns <= span.mark_ns)
      spans_.back().end_ns = std::max(spans_.back().end_ns, load.end_ns);
  loads_.clear();
  spans_.push_back(span);
}

void StepBoundaries::on_operator(std::uint64_t stack) {
  working_ = stack;
  if (spans_.empty()) return;
  StepExtent& newest = spans_.back();
  newest.left_ns = 0;
  if (newest.first == 0) newest.first = stack;
}

void StepBoundaries::works_until(std::uint64_t ts_ns) {
  if (spans_.empty() || ts_ns < spans_.back().mark_ns) return;
  spans_.back().end_ns = ts_ns;
  spans_.back().last = working_;
  loads_.clear();  // of this step
}

void StepBoundaries::on_loader(std::uint64_t ts_ns, std::uint64_t stack) {
  if (loads_.size() < kMaxLoads) loads_.push_back({ts_ns, ts_ns, stack});
}

void StepBoundaries::on_loader_end(std::uint64_t ts_ns) {
  if (!loads_.empty()) loads_.back().end_ns = ts_ns;
}

void StepBoundaries::extend_by_range(std::uint64_t begin_ns, std::uint64_t end_ns) {
  if (spans_.empty()) return;
  StepExtent& newest = spans_.back();
  if (newest.left_ns == 0 && begin_ns >= newest.mark_ns)
    newest.end_ns = std::max(newest.end_ns, end_ns);
}

void StepBoundaries::on_loop_exit(std::uint64_t ts_ns) {
  if (!spans_.empty() && spans_.back().left_ns == 0) spans_.back().left_ns = ts_ns;
}

StepExtent StepBoundaries::take(std::uint64_t mark_ns) {
  while (!spans_.empty() && spans_.front().mark_ns < mark_ns) spans_.pop_front();
  if (spans_.empty() || spans_.front().mark_ns != mark_ns) return {};
  const StepExtent span = spans_.front();
  spans_.pop_front();
  return span;
}

StepBoundary StepBoundaries::boundary(std::uint64_t mark_ns, std::uint64_t next_ns) {
  const StepExtent one = take(mark_ns);
  if (one.end_ns <= mark_ns || one.end_ns > next_ns) return {next_ns, next_ns};
  const StepExtent next = spans_.empty() || spans_.front().mark_ns != next_ns
                              ? StepExtent{next_ns, one.tid}
                              : spans_.front();
  const StepBoundary boundary =
      follows(one, next) ? inside_loop(one, next) : boundary_after_exit(one, next);
  positions_.forget(one.tid, boundary.begin_ns);
  return boundary;
}

StepBoundary StepBoundaries::inside_loop(const StepExtent& one, const StepExtent& next) {
  const std::uint64_t pause_ns = next.mark_ns - one.end_ns;
  const std::uint64_t usual_ns = usual_ns_;
  const bool is_long = usual_ns != kUnknown && pause_ns > longest_usual_ns();
  learn(pause_ns);
  if (!is_long) return {next.mark_ns, next.mark_ns};
  ++long_;
  // All other steps begin so much later than their last operator ends.
  const std::uint64_t from_ns = one.end_ns + usual_ns;
  const Samples seen =
      positions_.between(one.tid, one.end_ns, next.mark_ns, loop_, one.last, next.first);
  std::uint64_t at_ns = change(seen, {from_ns, next.mark_ns, near_ns()}, of_tail, of_head);
  if (at_ns == 0 && pause_ns >= kReportPauseNs) {
    ++unplaced_;
    unplaced_ns_ += pause_ns;
  }
  if (at_ns == 0) at_ns = next.mark_ns;
  return {at_ns, at_ns};
}

// What was left goes on for as long as samples find the thread in it, and what is entered begins
// where they do.
StepBoundary StepBoundaries::boundary_after_exit(const StepExtent& one, const StepExtent& next) {
  const Samples seen =
      positions_.between(one.tid, one.end_ns, next.mark_ns, loop_, one.last, next.first);
  const std::uint64_t left_ns = one.left_ns != 0 ? one.left_ns : next.mark_ns;
  Samples before, after;
  for (const SamplePositions::Position& sample : seen)
    (sample.ts_ns < left_ns ? before : after).push_back(sample);
  const std::uint64_t end_ns = change(
      before, {one.end_ns, left_ns, near_ns()}, of_tail,
      [](const SamplePositions::Position& sample) { return sample.part >= LoopPart::kHead; });
  const std::uint64_t from_ns = end_ns != 0 ? end_ns : one.end_ns;
  const std::uint64_t begin_ns = change(
      one.left_ns != 0 ? after : seen,
      {one.left_ns != 0 ? left_ns : from_ns, next.mark_ns, near_ns()},
      [](const SamplePositions::Position& sample) {
        return sample.part == LoopPart::kTail || sample.part == LoopPart::kOutside;
      },
      of_head);
  const StepBoundary boundary{from_ns, begin_ns != 0 ? begin_ns : next.mark_ns};
  return {std::min(boundary.end_ns, boundary.begin_ns), boundary.begin_ns};
}

std::uint64_t StepBoundaries::begin_of(std::uint64_t mark_ns) const {
  const auto span = std::find_if(spans_.begin(), spans_.end(), [mark_ns](const StepExtent& one) {
    return one.mark_ns == mark_ns;
  });
  if (span == spans_.end() || loop_.code_id == 0) return mark_ns;
  std::uint64_t begin_ns = mark_ns;
  const Samples seen = positions_.between(span->tid, 0, mark_ns, loop_, 0, span->first);
  for (auto one = seen.rbegin(); one != seen.rend() && one->part == LoopPart::kHead; ++one)
    begin_ns = one->ts_ns;
  return begin_ns;
}

std::uint64_t StepBoundaries::last_end_of(std::uint64_t mark_ns) {
  const StepExtent span = take(mark_ns);
  if (span.end_ns == 0) return 0;
  const std::uint64_t left_ns = span.left_ns != 0 ? span.left_ns : kUnknown;
  std::uint64_t end_ns = span.end_ns;
  for (const SamplePositions::Position& one :
       positions_.between(span.tid, span.end_ns, left_ns, loop_, span.last, 0)) {
    if (one.part != LoopPart::kTail) break;
    end_ns = one.ts_ns;
  }
  return end_ns;
}

std::uint64_t StepBoundaries::longest_usual_ns() const {
  constexpr std::uint64_t kLongNs = 100'000;
  const std::uint64_t usual_ns = usual_ns_ == kUnknown ? 0 : usual_ns_;
  return usual_ns + std::max(kLongNs, usual_ns);
}

void StepBoundaries::learn(std::uint64_t pause_ns) {
  lengths_.push_back(pause_ns);
  if (lengths_.size() < (usual_ns_ == kUnknown ? 3 : kLengths)) return;
  const auto middle = lengths_.begin() + static_cast<std::ptrdiff_t>(lengths_.size() / 2);
  std::nth_element(lengths_.begin(), middle, lengths_.end());
  usual_ns_ = *middle;
  if (lengths_.size() >= kLengths) lengths_.clear();
}

}  // namespace gpuprof::ingest
