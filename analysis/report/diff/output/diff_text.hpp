// SPDX-License-Identifier: Apache-2.0
//
// A Diff as text and as JSON.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstddef>
#include <string>

#include "analysis/report/diff/data/diff.hpp"

namespace gpuprof::report::diff {

/// @param row_limit Of each table of names, apart from what changed.
/// @param width     Of the terminal; names are cut to it; 0: not cut.
std::string diff_text(const Diff& diff, std::size_t row_limit, std::size_t width);

/// Everything, times in ns, shares and relative changes as ratios.
std::string diff_json(const Diff& diff);

}  // namespace gpuprof::report::diff
