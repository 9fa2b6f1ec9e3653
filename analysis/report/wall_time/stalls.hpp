// SPDX-License-Identifier: Apache-2.0
//
// Single steps that take much longer than the others, and what they do meanwhile.
//
// Context:  cli
// Owns:     nothing
// Promises: of a step only what it takes longer at a line than steps usually do
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/report/wall_time/time_attribution.hpp"

namespace gpuprof::report {

/// Steps beyond the median by as much as that again, by kStallSpreads times the usual spread and by
/// kMinStallNs. Where more than a third of all is so long there is no usual step, and no stall.
inline constexpr double kStallSpreads = 6;
inline constexpr std::uint64_t kMinStallNs = 2'000'000;

/// @param usual_ns The median of the steps that count; 0: there are none.
std::vector<SlowSpot> find_stalls(const advice::StepThread& step_thread, TimeAttributor& explainer,
                                  std::uint64_t* usual_ns);

}  // namespace gpuprof::report
