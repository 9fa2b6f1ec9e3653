// SPDX-License-Identifier: Apache-2.0
//
// Tables of all recorded time.
//
// Context:  cli
#include <fmt/format.h>

#include "analysis/report/output/columns.hpp"
#include "analysis/report/output/tables.hpp"
#include "analysis/report/output/wall_time_text.hpp"

namespace gpuprof::report {

Table wall_table(ProcessReport& a, const TableOptions&) {
  using R = WallTimeRow;
  Columns<R> c;
  const auto all = static_cast<double>(a.wall.recorded_ns);
  c.add("part", "Part", Unit::kText, [](const R& r) { return std::string(key_of(r.part)); })
      .add("share_percent", "Share", Unit::kPercent,
           [all](const R& r) { return percent_of(static_cast<double>(r.ns), all); })
      .add("time_ns", "Time", Unit::kNs, [](const R& r) { return r.ns; })
      .add("count", "Count", Unit::kCount, [](const R& r) { return r.count; })
      .add("most_ns", "Most", Unit::kNs, [](const R& r) { return r.activity.ns; });
  add_activity_columns(c, [](const R& r) -> const HostActivity& { return r.activity; });
  return make_table<R>("wall", a.wall.rows, c.all());
}

Table stretch_table(ProcessReport& a, const TableOptions&) {
  using R = SlowSpot;
  Columns<R> c;
  c.add("part", "Part", Unit::kText, [](const R& r) { return std::string(key_of(r.part)); })
      .add("total_ns", "Total", Unit::kNs, [](const R& r) { return r.activity.ns; })
      .add("count", "Count", Unit::kCount, [](const R& r) { return r.count; })
      .add("longest_ns", "Longest", Unit::kNs, [](const R& r) { return r.longest_ns; })
      .add("steps", "Steps", Unit::kText, [](const R& r) { return step_labels_text(r); });
  add_activity_columns(c, [](const R& r) -> const HostActivity& { return r.activity; });
  return make_table<R>("stretch", a.wall.slow_spots, c.all());
}

}  // namespace gpuprof::report
