// SPDX-License-Identifier: Apache-2.0
//
// All of the recorded time, for the page's overview.
//
// Context:  cli
#include "analysis/report/output/wall_time_text.hpp"
#include "analysis/report/page/sections.hpp"

namespace gpuprof::report::page {
namespace {

/// Of one part; the table `--by stretch` has them all.
constexpr std::size_t kLines = 4;

double share(std::uint64_t ns, const WallTime& wall) {
  return wall.recorded_ns == 0 ? 0.0
                               : static_cast<double>(ns) / static_cast<double>(wall.recorded_ns);
}

void write_lines(PageJson& json, const WallTime& wall, WallPhase part) {
  std::size_t lines = 0;
  json.array();
  for (const report::SlowSpot& stretch : wall.slow_spots) {
    if (stretch.part != part || lines++ >= kLines) continue;
    json.object().key("doing").text(key_of(stretch.activity.kind));
    json.key("text").text(stretch.activity.text()).key("note").text(frequency_text(stretch));
    json.key("us").us(stretch.activity.ns).key("share").number(share(stretch.activity.ns, wall));
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void write_wall(SectionContext& part) {
  const WallTime& wall = part.analysis.wall;
  PageJson& json = part.json;
  json.object().key("recorded_us").us(wall.recorded_ns).key("rows").array();
  for (const WallTimeRow& row : wall.rows) {
    json.object().key("key").text(key_of(row.part)).key("title").text(title_of(row.part));
    json.key("note").text(row_count_text(row)).key("us").us(row.ns);
    json.key("share").number(share(row.ns, wall)).key("lines");
    write_lines(json, wall, row.part);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace gpuprof::report::page
