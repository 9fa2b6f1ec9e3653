// SPDX-License-Identifier: Apache-2.0
//
// From two StepProfiles to what changed.
//
// Context:  cli
// Owns:     nothing
// Not here: the sums (step_profile_reader.hpp), the statistics (robust_stats.hpp)
#pragma once

#include "analysis/report/diff/data/diff.hpp"

namespace gpuprof::report::diff {

/// @param before,after Both with steps, or both without.
ProcessDiff compare(StepProfile before, StepProfile after, const Limits& limits);

}  // namespace gpuprof::report::diff
