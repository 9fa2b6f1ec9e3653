// SPDX-License-Identifier: Apache-2.0
//
// place_in_steps().
//
// Context:  daemon (export thread) | cli
#include "analysis/export/prescan/step_placement.hpp"

#include <algorithm>

namespace gpuprof::exporter {
namespace {

/// Relation to one step; cuts `range` where little has to go for it to nest.
StepRelation relate(const model::Step& step, Interval& range) {
  if (range.end_ns <= step.start_ns || range.start_ns >= step.end_ns)
    return StepRelation::kNonCrossing;
  if (range.start_ns <= step.start_ns + kSnapToleranceNs &&
      range.end_ns + kSnapToleranceNs >= step.end_ns) {
    // Around it, or the same but for the time between two clock readings.
    if (range.start_ns > step.start_ns || range.end_ns < step.end_ns) {
      range.start_ns = std::max(range.start_ns, step.start_ns);
      range.end_ns = std::min(range.end_ns, step.end_ns);
    }
    return StepRelation::kEnclosing;
  }
  if (range.start_ns >= step.start_ns && range.end_ns <= step.end_ns)
    return StepRelation::kNonCrossing;
  const bool early = range.start_ns < step.start_ns;
  const std::uint64_t boundary = early ? step.start_ns : step.end_ns;
  const std::uint64_t before = boundary - range.start_ns, after = range.end_ns - boundary;
  if (std::min(before, after) > kSnapToleranceNs) return StepRelation::kCrossing;
  (before < after ? range.start_ns : range.end_ns) = boundary;
  return StepRelation::kNonCrossing;
}

}  // namespace

StepPlacement place_in_steps(const std::vector<model::Step>& steps, std::uint32_t tid,
                             Interval range) {
  StepPlacement placed{StepRelation::kNonCrossing, range};
  const auto first =
      std::upper_bound(steps.begin(), steps.end(), range.start_ns,
                       [](std::uint64_t ts, const model::Step& s) { return ts < s.end_ns; });
  const auto last =
      std::lower_bound(first, steps.end(), range.end_ns,
                       [](const model::Step& s, std::uint64_t ts) { return s.start_ns < ts; });
  // Steps follow each other: what lies between the first and the last touched is enclosed.
  for (auto at = first; at != last; at = at + 1 < last ? last - 1 : last) {
    if (at->tid != tid) continue;
    const StepRelation place = relate(*at, placed.interval);
    if (place == StepRelation::kCrossing) return {place, range};
    if (place == StepRelation::kEnclosing || last - first > 2)
      placed.place = StepRelation::kEnclosing;
  }
  return placed;
}

}  // namespace gpuprof::exporter
