// SPDX-License-Identifier: Apache-2.0
//
// A report as a page for a browser: `gpuprof report --html FILE`.
//
// Context:  cli
// Owns:     nothing
// Promises: what is named is read once, and only read; the page appears whole or not at all
// Not here: the page (analysis/report/page), reports as text (report_session.hpp)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/commands/report_session.hpp"
#include "support/result.hpp"

namespace gpuprof::commands {

struct ReportPageRequest {
  std::vector<std::string> inputs;  // a session's folder, or trace files and folders of them
  std::optional<std::uint32_t> rank;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> steps;  // labels, first and last
  std::string page;                                              // file to write
  bool force = false;                                            // replace it
  std::string version;                                           // of gpuprof
};

/// Writes the page and returns its size in bytes.
///
/// Errors: those of load_report; a file that is there, a folder that cannot be written.
support::Result<std::uint64_t> write_report_page(const ReportPageRequest& request,
                                                 const ReportProgress& progress);

}  // namespace gpuprof::commands
