// SPDX-License-Identifier: Apache-2.0
//
// All of the recorded time, for a terminal.
//
// Context:  cli
#pragma once

#include <string>

#include "analysis/report/process_report.hpp"

namespace gpuprof::report {

/// A line for each part, what took most of it below; "" where there is nothing to divide.
std::string wall_text(const Analysis& analysis, std::size_t width);

/// "5999 steps", "3 pauses"; "" for what there is one of.
std::string count_text(const WallRow& row);
/// ", longer than usual in 4 steps (7, …)", ", 3 times (after step 2000, …)" or "".
std::string times_text(const Stretch& stretch);

/// "7, 1307, 2607 and 1 more": numbers of the steps in which, or after which, something took long.
std::string labels_text(const Stretch& stretch);

}  // namespace gpuprof::report
