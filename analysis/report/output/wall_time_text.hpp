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
std::string wall_time_text(const ProcessReport& analysis, std::size_t width);

/// "5999 steps", "3 pauses"; "" for what there is one of.
std::string row_count_text(const WallTimeRow& row);
/// ", longer than usual in 4 steps (7, …)", ", 3 times (after steps 2000, …)" or "".
std::string frequency_text(const SlowSpot& stretch);

/// "7, 1307, 2607 and 1 more": numbers of the steps in which, or after which, something took long.
std::string step_labels_text(const SlowSpot& stretch);

}  // namespace gpuprof::report
