// SPDX-License-Identifier: Apache-2.0
//
// Everything a report says of a session: its processes, side by side.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/import_summary.hpp"
#include "analysis/report/process_report.hpp"

namespace gpuprof::report {

struct Report {
  std::vector<ProcessReport> processes;  // by rank, else by pid
  std::vector<std::string> missing;      // of all: sentences
  ImportSummary import_summary;          // of trace files
  bool simulated = false;                // some process used a simulated GPU
};

struct ReportOptions {
  ProcessReportOptions analysis;
  std::optional<std::uint32_t> rank;  // only this one
};

/// Reads all processes of a session that have files.
///
/// @param session  With its windows and processes finalised (commands::resolve_session).
/// Errors: nothing recorded; a rank that is not there; simulated and real GPUs in one input.
support::Result<Report> make_report(const spool::SessionView& session,
                                    const std::vector<model::Window>& windows,
                                    const ReportOptions& options);

}  // namespace gpuprof::report
