// SPDX-License-Identifier: Apache-2.0
//
// Host times that one process may take for its whole life though the program is the same.
//
// Context:  cli
// Owns:     nothing
// Promises: only takes findings back, and marks what it took (Change::is_unconfirmed)
// Not here: what several pairs of recordings show (repeated_pairs.hpp)
//
// Where memory comes to lie, other than in another process, makes the same operator take up to
// twice the time from its first call to its last (docs/diff.md): no spread from step to step
// shows it.
#pragma once

#include <vector>

#include "analysis/report/diff/data/diff.hpp"
#include "analysis/report/diff/significance/significance.hpp"

namespace gpuprof::report::diff {

/// From so many times what noise explains on, either way and without what is common, the program
/// did it. Noise comes on top: where others took the processor all the time, one process takes
/// several times as long as another.
inline constexpr double kBeyondOneProcess = 2.5;

/// To be called of a host time whose program is not seen to have changed.
void mark_unconfirmed(Change& change);

/// How much longer a step takes for what of `names` differs and is not claimed, in ns.
double unconfirmed_ns(const std::vector<NameDiff>& names, const PairedValues& step);

/// Holds back the change of a step that is none without `ns` of its time.
///
/// @param pair,judging What the change was judged by.
void mark_step_unconfirmed(Change& change, const PairedValues& pair,
                           const SignificanceOptions& judging, double ns);

}  // namespace gpuprof::report::diff
