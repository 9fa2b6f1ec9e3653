// SPDX-License-Identifier: Apache-2.0
//
// Printing a report.
//
// Context:  cli
#include "analysis/report/output/render.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/messages/report.hpp"
#include "analysis/report/advice/advice.hpp"
#include "analysis/report/advice/advice_text.hpp"
#include "analysis/report/output/operator_text.hpp"
#include "analysis/report/output/overview_text.hpp"
#include "analysis/report/output/table_csv_json.hpp"
#include "analysis/report/output/tables.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report {
namespace {

using support::error;

constexpr std::size_t kRowLimit = 100;
constexpr std::string_view kOperator = "operator";

support::Result<Table> table_for(ProcessReport& analysis, const RenderOptions& options) {
  Table table = find_table(options.by)->make(analysis, {options.grouping});
  if (options.by == kOperator && !options.sort_by.empty()) {
    // PyTorch's keys; the rows were sorted before they became cells.
    std::string key = options.sort_by;
    for (const std::string_view spelling : {"cuda", "xpu", "privateuse1"})
      if (const std::size_t at = key.find(spelling); at != std::string::npos)
        key.replace(at, spelling.size(), "device");
    GPUPROF_CHECK(sort_table(table, key));
  } else if (!options.sort_by.empty()) {
    GPUPROF_CHECK(sort_table(table, options.sort_by));
  }
  if (!options.columns.empty()) GPUPROF_CHECK(select_columns(table, options.columns));
  return table;
}

support::Result<std::string> files(Report& report, const RenderOptions& options) {
  std::vector<ProcessTable> tables;
  for (ProcessReport& process : report.processes) {
    GPUPROF_TRY(table, table_for(process, options));
    if (options.row_limit && table.rows.size() > *options.row_limit)
      table.rows.resize(*options.row_limit);
    tables.push_back({process.meta.rank, process.meta.pid, std::move(table)});
  }
  return options.csv ? format_csv(tables) : format_json(tables, report);
}

support::Result<std::string> one_text(ProcessReport& process, const RenderOptions& options) {
  const std::size_t limit = options.row_limit.value_or(kRowLimit);
  if (options.by == kOperator && !process.operators.rows.empty()) {
    OperatorTextOptions as;
    as.grouping = options.grouping;
    as.sort_by = options.sort_by;
    if (as.sort_by.empty())
      as.sort_by =
          process.operators.self_device_ns > 0 ? "self_cuda_time_total" : "self_cpu_time_total";
    as.row_limit = limit;
    as.columns = options.columns;
    return operator_text(process, as);
  }
  GPUPROF_TRY(table, table_for(process, options));
  if (table.rows.empty()) return std::string(find_table(options.by)->empty) + "\n";
  return format_table(table, limit, options.width);
}

}  // namespace

support::Result<void> check(const RenderOptions& options) {
  if (options.json && options.csv) return error(messages::report::kJsonAndCsv);
  if (options.by.empty()) return {};
  if (find_table(options.by) == nullptr) {
    return error(fmt::format(messages::report::kNoTable, support::in_quotes(options.by),
                             support::did_you_mean(options.by, table_names()),
                             support::join_with_and(table_names())));
  }
  if (options.by == kOperator) {
    std::vector<OperatorRow> none;
    if (!options.sort_by.empty()) return sort_operators(none, options.sort_by);
    return {};
  }
  if (options.grouping.by_shape || options.grouping.by_stack != 0)
    return error(messages::report::kGroupingWithTable);
  ProcessReport none;
  GPUPROF_TRY(table, table_for(none, options));
  return {};
}

support::Result<std::string> render(Report& report, const RenderOptions& options) {
  if (options.by.empty() && options.json) return format_json(report, options.grouping);
  if (options.by.empty()) {
    const std::size_t width = options.width == 0 ? 120 : options.width;
    return overview_text(report, width) + "\n" +
           advice::advice_text(advice::run_rules(report), width);
  }
  if (options.csv || options.json) return files(report, options);
  std::string text;
  for (ProcessReport& process : report.processes) {
    const bool headed = report.processes.size() > 1 || report.simulated;
    if (headed) text += (text.empty() ? "" : "\n") + heading_of(process) + "\n";
    GPUPROF_TRY(one, one_text(process, options));
    text += one;
  }
  return text;
}

}  // namespace gpuprof::report
