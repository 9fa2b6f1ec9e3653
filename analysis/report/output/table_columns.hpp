// SPDX-License-Identifier: Apache-2.0
//
// Tables from rows: a column is a title and what to take from a row.
//
// Context:  cli
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/aggregation/duration_stats.hpp"
#include "analysis/report/output/table.hpp"

namespace gpuprof::report {

template <typename Row>
struct ColumnFrom {
  Column column;
  std::function<Cell(const Row&)> take;
};

template <typename Row, typename Rows>
Table make_table(std::string name, const Rows& rows, const std::vector<ColumnFrom<Row>>& columns) {
  Table table;
  table.name = std::move(name);
  for (const ColumnFrom<Row>& column : columns) table.columns.push_back(column.column);
  for (const Row& row : rows) {
    auto& cells = table.rows.emplace_back();
    for (const ColumnFrom<Row>& column : columns) cells.push_back(column.take(row));
  }
  return table;
}

inline Cell count_cell(std::uint64_t value) { return static_cast<std::int64_t>(value); }
inline double percent_of(double part, double all) { return all <= 0 ? 0 : part * 100 / all; }

/// Share, sum, count, mean, extremes and percentiles of what `time` gives of a row.
///
/// @param prefix Of keys and titles: "" or "gpu ".
template <typename Row, typename Time>
void add_duration_columns(std::vector<ColumnFrom<Row>>& columns, std::uint64_t all_ns,
                          const Time& time) {
  const auto add = [&](std::string key, std::string title, Unit unit, bool shown, auto value) {
    columns.push_back({{std::move(key), std::move(title), unit, shown},
                       [time, value](const Row& row) { return value(time(row)); }});
  };
  add("share_percent", "Share", Unit::kPercent, true, [all_ns](const DurationStats& s) -> Cell {
    return percent_of(static_cast<double>(s.total_ns), static_cast<double>(all_ns));
  });
  add("total_ns", "Total", Unit::kNs, true,
      [](const DurationStats& s) -> Cell { return count_cell(s.total_ns); });
  add("count", "Count", Unit::kCount, true,
      [](const DurationStats& s) -> Cell { return count_cell(s.count); });
  add("mean_ns", "Mean", Unit::kNs, true, [](const DurationStats& s) -> Cell { return s.mean_ns; });
  add("min_ns", "Min", Unit::kNs, false,
      [](const DurationStats& s) -> Cell { return count_cell(s.min_ns); });
  add("p50_ns", "p50", Unit::kNs, true, [](const DurationStats& s) -> Cell { return s.p50_ns; });
  add("p90_ns", "p90", Unit::kNs, false, [](const DurationStats& s) -> Cell { return s.p90_ns; });
  add("p95_ns", "p95", Unit::kNs, false, [](const DurationStats& s) -> Cell { return s.p95_ns; });
  add("p99_ns", "p99", Unit::kNs, true, [](const DurationStats& s) -> Cell { return s.p99_ns; });
  add("max_ns", "Max", Unit::kNs, true,
      [](const DurationStats& s) -> Cell { return count_cell(s.max_ns); });
}

}  // namespace gpuprof::report
