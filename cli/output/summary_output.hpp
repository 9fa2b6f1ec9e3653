// SPDX-License-Identifier: Apache-2.0
//
// Prints a session's summary on stderr, and writes it as JSON where it was asked for.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <string>

#include "cli/options/options.hpp"
#include "recording/session/summary.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

/// An error unless the file of --summary-json can be written; nothing is written yet.
/// @param made_folder  absolute; it is there by then.
support::Result<void> check_summary_file(const std::string& path, const std::string& made_folder);

/// Prints and saves; false if the summary file could not be written.
bool write_summary(const Options& options, const recording::Summary& summary);

}  // namespace gpuprof::cli
