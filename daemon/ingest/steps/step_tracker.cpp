// SPDX-License-Identifier: Apache-2.0
//
// Order, numbering and ends of steps.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/steps/step_tracker.hpp"

#include <algorithm>

namespace gpuprof::ingest {

using model::LossReason;

void StepTracker::add(const RingInfo& ring, const wire::StepMark& mark) {
  if (!life_.contains(mark.ts_ns))
    return losses_.add(LossReason::kTimeImplausible, ring.tid, 1, 0, 0);
  if (mark.source == static_cast<std::uint32_t>(wire::StepSource::kLoop))
    spans_.begins(mark.ts_ns, ring.tid, (mark.flags & wire::kStepLoopEntry) != 0);
  marks_.push_back(Mark{mark.number, mark.ts_ns, mark.user_number, ring.tid, mark.source,
                        (mark.flags & wire::kStepEnd) != 0 ? 1u : 0u});
}

void StepTracker::add(const RingInfo& ring, const wire::UnmatchedLaunch& mark) {
  if (!life_.contains(mark.ts_ns))
    return losses_.add(LossReason::kTimeImplausible, ring.tid, 1, 0, 0);
  if (unmatched_.size() >= limits_.kernel_marks)
    return losses_.add(LossReason::kStepUnnumbered, ring.tid, 1, mark.ts_ns, mark.ts_ns);
  unmatched_.push_back(Unmatched{mark.ts_ns, mark.name_id, ring.tid});
}

// Launches before the first match are steps the target did not count; they come first. Once its
// counter runs, a late one can no longer get a number without moving the others.
void StepTracker::apply_matches() {
  for (const wire::KernelNameMatch& match : matches_) {
    const auto named =
        std::stable_partition(unmatched_.begin(), unmatched_.end(),
                              [&](const Unmatched& mark) { return mark.name_id != match.name_id; });
    std::sort(named, unmatched_.end(),
              [](const Unmatched& a, const Unmatched& b) { return a.ts_ns < b.ts_ns; });
    for (auto at = named; match.matched != 0 && at != unmatched_.end(); ++at) {
      if (numbered_) {
        losses_.add(LossReason::kStepUnnumbered, at->tid, 1, at->ts_ns, at->ts_ns);
        continue;
      }
      apply(Mark{offset_++, at->ts_ns, 0, at->tid,
                 static_cast<std::uint32_t>(wire::StepSource::kKernel), 0});
    }
    unmatched_.erase(named, unmatched_.end());
  }
  matches_.clear();
}

void StepTracker::round_done() {
  apply_matches();
  // Marks of two threads may be drained in the wrong order over two rounds, never over three.
  if (!aged_.empty()) {
    const auto newest =
        std::max_element(aged_.begin(), aged_.end(), [](const Mark& a, const Mark& b) {
          return a.number < b.number;
        })->number;
    const auto older = std::stable_partition(
        marks_.begin(), marks_.end(), [&](const Mark& mark) { return mark.number > newest; });
    aged_.insert(aged_.end(), older, marks_.end());
    marks_.erase(older, marks_.end());
  }
  apply_pending(aged_);
  aged_.swap(marks_);
}

void StepTracker::apply_pending(std::vector<Mark>& marks) {
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
    return a.number != b.number ? a.number < b.number : a.end < b.end;
  });
  for (Mark mark : marks) {
    numbered_ = true;  // by the target
    mark.number += offset_;
    apply(mark);
  }
  marks.clear();
}

void StepTracker::add_found(const FoundStep& step) {
  aged_.insert(aged_.end(), marks_.begin(), marks_.end());
  marks_.clear();
  apply_pending(aged_);
  ++offset_;
  apply(Mark{next_, step.begin_ns, 0, step.tid, mark_source_, 0});
  if (step.end_ns == 0) return;
  close(step.end_ns);
  if (listener_ != nullptr) listener_->step_ended(current_.number, step.end_ns, true);
}

void StepTracker::apply(const Mark& mark) {
  if (mark.end != 0) {
    if (open_ && current_.number == mark.number) close(mark.ts_ns);
    if (listener_ != nullptr) listener_->step_ended(mark.number, mark.ts_ns, false);
    return;
  }
  const std::uint64_t begin_ns = close_before(mark);
  const bool is_found = mark.source == mark_source_;
  const bool own = mark.source == static_cast<std::uint32_t>(wire::StepSource::kUser);
  report_gap(mark);
  open_ = true;
  open_in_loop_ = mark.source == static_cast<std::uint32_t>(wire::StepSource::kLoop);
  next_ = mark.number + 1;
  open_mark_ns_ = mark.ts_ns;
  current_ = model::Step{begin_ns,
                         begin_ns,
                         mark.number,
                         own ? mark.label : mark.number + 1,
                         mark.tid,
                         is_found ? source_ : mark.source,
                         is_found ? confidence_ : 100,
                         is_found ? where_ : 0};
  if (listener_ != nullptr) listener_->step_began(mark.number, begin_ns, current_.label);
}

/// Ends the step that is open. Returns where the one that is marked begins.
std::uint64_t StepTracker::close_before(const Mark& mark) {
  const bool in_loop = mark.source == static_cast<std::uint32_t>(wire::StepSource::kLoop);
  if (!open_) return in_loop ? spans_.begin_of(mark.ts_ns) : mark.ts_ns;
  const StepBoundary boundary = open_in_loop_ && in_loop
                                    ? spans_.boundary(open_mark_ns_, mark.ts_ns)
                                    : StepBoundary{mark.ts_ns, mark.ts_ns};
  close(boundary.end_ns);
  if (listener_ != nullptr && boundary.end_ns < boundary.begin_ns)
    listener_->step_ended(current_.number, boundary.end_ns, true);
  return boundary.begin_ns;
}

// The target counts each step, also one whose mark found no room.
void StepTracker::report_gap(const Mark& mark) {
  if (mark.number <= next_) return;
  constexpr std::uint64_t kMax = 1'000'000;  // more is no count of anything
  const std::uint64_t since_ns = counts_.steps == 0 ? mark.ts_ns : current_.start_ns;
  losses_.add(LossReason::kStepLost, mark.tid, std::min(mark.number - next_, kMax), since_ns,
              mark.ts_ns);
}

void StepTracker::close(std::uint64_t ts_ns) {
  open_ = false;
  current_.end_ns = std::max(ts_ns, current_.start_ns);
  ++counts_.steps;
  sink_.on(current_);
}

void StepTracker::finish() {
  if (!open_ || !open_in_loop_) return;
  const std::uint64_t end_ns = spans_.last_end_of(open_mark_ns_);
  if (end_ns == 0) return;
  close(end_ns);
  if (listener_ != nullptr) listener_->step_ended(current_.number, end_ns, true);
}

}  // namespace gpuprof::ingest
