// SPDX-License-Identifier: Apache-2.0
//
// The short report: what was recorded, where steps went, the first rows, what is missing.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <string>

#include "analysis/report/report.hpp"

namespace gpuprof::report {

/// `rank 0, python train.py (process 1234 on host)`, with the simulated GPU said where it is one.
std::string heading_of(const ProcessReport& analysis);

/// @param width Columns of the terminal.
std::string overview_text(Report& report, std::size_t width);

}  // namespace gpuprof::report
