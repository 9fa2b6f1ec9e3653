// SPDX-License-Identifier: Apache-2.0
//
// Places a range relative to the steps of its thread (inside one, around them, across a border).
//
// Context:  daemon (export thread) | cli
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/export/containers/intervals.hpp"
#include "recording/model/events.hpp"

namespace gpuprof::exporter {

/// How a range lies among the steps of its thread.
enum class StepRelation {
  kNonCrossing,  // inside one step, between steps, or on another thread
  kCrossing,     // over a step's border
  kEnclosing,    // around whole steps, or the range a step was made from
};
struct StepPlacement {
  StepRelation place = StepRelation::kNonCrossing;
  Interval interval;  // cut where it missed a border by less than kSnapToleranceNs
};

/// A range that makes the step may miss its border by this much.
inline constexpr std::uint64_t kSnapToleranceNs = 2'000;

/// A step is drawn this much longer where nothing follows: readers add up start and length in
/// floating point, where equal borders can come to cross. Modules take less.
inline constexpr std::uint64_t kStepPaddingNs = 20;

/// @param steps Sorted by start.
StepPlacement place_in_steps(const std::vector<model::Step>& steps, std::uint32_t tid,
                             Interval range);

}  // namespace gpuprof::exporter
