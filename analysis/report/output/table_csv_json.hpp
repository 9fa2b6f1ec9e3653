// SPDX-License-Identifier: Apache-2.0
//
// Tables as CSV and JSON, and a whole report as JSON.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <string>
#include <vector>

#include "analysis/report/output/table.hpp"
#include "analysis/report/report.hpp"

namespace gpuprof::report {

/// Of one process.
struct ProcessTable {
  std::int64_t rank = -1;
  std::uint32_t pid = 0;
  Table table;
};

/// RFC 4180 with a line of keys; of several processes with columns rank and pid in front.
std::string format_csv(const std::vector<ProcessTable>& tables);

/// `{"by": NAME, "processes": [{"pid": …, "rank": …, "rows": [{KEY: VALUE, …}]}]}`; of traces also
/// `"reading"` (write_import_summary()).
std::string format_json(const std::vector<ProcessTable>& tables, const Report& report);

/// All tables of all processes, with what is missing.
std::string format_json(Report& report, const Grouping& grouping);

}  // namespace gpuprof::report
