// SPDX-License-Identifier: Apache-2.0
//
// What changed between two recordings, or between several pairs of them: `gpuprof diff`.
//
// Context:  cli
// Owns:     nothing
// Promises: what is named is only read
// Not here: the comparison (analysis/report/diff), reading traces (analysis/import)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/commands/report_session.hpp"
#include "support/result.hpp"

namespace gpuprof::report::diff {
struct Diff;
}  // namespace gpuprof::report::diff

namespace gpuprof::commands {

struct DiffRequest {
  // Before, after, and again: each a session's folder, a trace file, or a folder of them.
  std::vector<std::string> recordings;
  std::vector<std::string> conditions;  // of --fail-if
  double min_change = 0.05;             // a ratio
  double min_share = 0.01;              // of the step
  std::optional<std::uint32_t> rank;
  std::uint64_t row_limit = 10;
  bool json = false;
  std::size_t width = 0;  // of the terminal; 0: none
};

struct DiffPageTarget {
  std::string page;     // file to write
  bool force = false;   // replace it
  std::string version;  // of gpuprof
};

struct DiffPageResult {
  std::uint64_t bytes = 0;                  // of the page
  std::vector<std::string> met_conditions;  // as of DiffResult
};

struct DiffResult {
  std::string text;                         // to print
  std::vector<std::string> met_conditions;  // sentences: conditions that hold
};

/// Reads and compares what is named, pair by pair.
///
/// Errors: one sentence: nothing there, nothing recorded, nothing that can be compared; not two
///         recordings, nor four, six, …; a recording in two pairs.
support::Result<report::diff::Diff> load_diff(const DiffRequest& request,
                                              const ReportProgress& progress);

/// Conditions are read before anything else.
///
/// Errors: those of load_diff; a condition that is not understood, or names what is not there.
/// All have exit status 2.
support::Result<DiffResult> diff_recordings(const DiffRequest& request,
                                            const ReportProgress& progress);

/// Writes a page instead (docs/report-page.md); what shapes text in the request is not looked at.
///
/// Errors: those of diff_recordings; a file that is there, a folder that cannot be written.
support::Result<DiffPageResult> write_diff_page(const DiffRequest& request,
                                                const DiffPageTarget& target,
                                                const ReportProgress& progress);

}  // namespace gpuprof::commands
