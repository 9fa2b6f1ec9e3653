// SPDX-License-Identifier: Apache-2.0
//
// A report as one page for a browser: a file that loads nothing from anywhere.
//
// Context:  cli
// Owns:     nothing
// Promises: the file appears whole or not at all; its size is bounded whatever the number of events
//           (Limits); names of the program are data in it, never markup
// Not here: its file (page_file.hpp), how the page looks and what it does (web/), the figures
//           (analysis/report)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/page/slices.hpp"
#include "analysis/report/report.hpp"
#include "support/result.hpp"

namespace gpuprof::report::page {

/// What is slow, where, and what to try: one entry of the page's list.
struct PageAdvice {
  std::string rule, title, message, change;
  std::string file, function;
  int line = 0, last_line = 0;         // 0: not known; somewhere from `line` to `last_line`
  std::optional<double> share;         // of a step, 0..1
  std::string share_of;                // "of a step", "of the first step"
  std::vector<std::string> evidence;   // sentences with figures
  std::optional<std::size_t> process;  // index in the report; none: of all
};

/// How much of each kind is in the page, of all processes together.
struct Limits {
  std::size_t rows = 3000;            // of each table
  std::size_t flame_nodes = 24'000;   // of each kind of tree
  std::size_t slice_events = 60'000;  // of the timeline
  std::size_t step_points = 2000;     // of the curve, of each process
};

struct PageRequest {
  std::string path;  // of the page
  bool force = false;
  std::string version;  // of gpuprof
  std::string source;   // what the report was made of, as the person named it
  Limits limits;
};

/// What of the timeline one process may have of these limits.
SliceLimits slice_limits(const Limits& limits, std::size_t processes);

/// What the rules say of the report, largest share first.
std::vector<PageAdvice> page_advice(const Report& report);

/// Writes the page and returns its size in bytes.
///
/// @param timelines  one for each process of the report, or none
/// Errors: the file is there and not `force`; a folder that cannot be written; a full disk.
support::Result<std::uint64_t> write_page(const Report& report,
                                          const std::vector<PageAdvice>& advice,
                                          const std::vector<PageTimeline>& timelines,
                                          const PageRequest& request);

/// The data of the page as JSON (docs/report-page.md).
std::string page_data(const Report& report, const std::vector<PageAdvice>& advice,
                      const std::vector<PageTimeline>& timelines, const PageRequest& request);

}  // namespace gpuprof::report::page
