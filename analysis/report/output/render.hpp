// SPDX-License-Identifier: Apache-2.0
//
// A report as it is printed: overview, one table, CSV or JSON.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report.hpp"

namespace gpuprof::report {

struct RenderOptions {
  std::string by;  // a name of table_kinds(); empty: the overview, as JSON everything
  Grouping grouping;
  std::string sort_by;                     // empty: the table's own order
  std::vector<std::string> columns;        // empty: the table's own
  std::optional<std::uint64_t> row_limit;  // empty: 100 in text, all in CSV and JSON
  bool json = false, csv = false;
  std::size_t width = 0;  // of the terminal; 0: lines are not cut
};

/// Whether these can be met at all, before anything is read.
///
/// Errors: an unknown table, column or key to sort by, with what there is.
support::Result<void> check(const RenderOptions& options);

support::Result<std::string> render(Report& report, const RenderOptions& options);

}  // namespace gpuprof::report
