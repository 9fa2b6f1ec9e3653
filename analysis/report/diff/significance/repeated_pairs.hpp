// SPDX-License-Identifier: Apache-2.0
//
// What several pairs of recordings show together, where one process a side cannot know.
//
// Context:  cli
// Owns:     nothing
// Promises: nothing is claimed that some pair does not show
// Not here: the comparison of one pair (make_diff.hpp)
#pragma once

#include <string>
#include <vector>

#include "analysis/report/diff/data/diff.hpp"
#include "support/result.hpp"

namespace gpuprof::report::diff {

/// From so many pairs on, a change of time that all of them show is claimed: fewer agree by chance.
inline constexpr std::size_t kEnoughPairs = 3;

/// The first pair, with its findings decided by all of them; the others go to `other_pairs`.
///
/// @param pairs At least one, in the order they were made.
/// Errors: a simulated GPU in one pair and a real one in another.
support::Result<Diff> combine_pairs(std::vector<Diff> pairs);

/// The same rank in another pair, or the only process of both; null: there is none.
const ProcessDiff* counterpart(const ProcessDiff& process, const Diff& first, const Diff& other);

/// How many pairs there are and what that means; none where there is one.
std::vector<std::string> pairs_messages(const Diff& diff);

}  // namespace gpuprof::report::diff
