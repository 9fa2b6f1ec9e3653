// SPDX-License-Identifier: Apache-2.0
//
// The tables of a report: one row each in the list.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/output/table.hpp"
#include "analysis/report/process_report.hpp"

namespace gpuprof::report {

struct TableOptions {
  Grouping grouping;          // of operators
  bool with_overhead = true;  // CUPTI's own records among the operators, as key_averages() has them
};

struct TableKind {
  std::string_view name;  // what --by takes
  std::string_view about;
  Table (*make)(ProcessReport& analysis, const TableOptions& options);
  std::string_view empty;  // what is printed if it has no row
};

std::span<const TableKind> table_kinds();
const TableKind* find_table(std::string_view name);
/// What --by takes.
std::vector<std::string> table_names();

// One file of them each.
Table operator_table(ProcessReport& analysis, const TableOptions& options);
Table kernel_table(ProcessReport& analysis, const TableOptions& options);
Table kernel_name_table(ProcessReport& analysis, const TableOptions& options);
Table memcpy_table(ProcessReport& analysis, const TableOptions& options);
Table memset_table(ProcessReport& analysis, const TableOptions& options);
Table api_table(ProcessReport& analysis, const TableOptions& options);
Table nvtx_table(ProcessReport& analysis, const TableOptions& options);
Table nccl_table(ProcessReport& analysis, const TableOptions& options);
Table sync_table(ProcessReport& analysis, const TableOptions& options);
Table thread_table(ProcessReport& analysis, const TableOptions& options);
Table module_table(ProcessReport& analysis, const TableOptions& options);
Table line_table(ProcessReport& analysis, const TableOptions& options);
Table site_table(ProcessReport& analysis, const TableOptions& options);
Table step_table(ProcessReport& analysis, const TableOptions& options);
Table memory_table(ProcessReport& analysis, const TableOptions& options);
Table gpu_table(ProcessReport& analysis, const TableOptions& options);
Table wall_table(ProcessReport& analysis, const TableOptions& options);
Table stretch_table(ProcessReport& analysis, const TableOptions& options);

}  // namespace gpuprof::report
