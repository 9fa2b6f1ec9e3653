// SPDX-License-Identifier: Apache-2.0
//
// How far the reading of recordings is, on a terminal.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include "analysis/commands/report_session.hpp"
#include "support/io/progress_line.hpp"

namespace gpuprof::cli {

/// For report and diff: bytes read, then events counted.
///
/// @param line       outlives what is returned
/// @param how_often  what is said of the events behind their count; "" or begins with a comma
commands::ReportProgress make_read_progress(support::ProgressLine& line, const char* how_often);

}  // namespace gpuprof::cli
