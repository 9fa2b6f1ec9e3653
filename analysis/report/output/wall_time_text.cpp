// SPDX-License-Identifier: Apache-2.0
//
// Where all of the time went, printed.
//
// Context:  cli
#include "analysis/report/output/wall_time_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/messages/wall_time.hpp"
#include "analysis/report/output/table_columns.hpp"

namespace gpuprof::report {
namespace {

/// Of one part; of less than this share of the recording nothing is named.
constexpr std::size_t kLines = 3;
constexpr double kMinShare = 0.002;
/// Less is no line: borders of neighbouring steps, which files round.
constexpr double kPrintedShare = 0.0005;

std::string title_text(const WallTimeRow& row) {
  const bool several = row.part == WallPhase::kWarmUp && row.count > 1;
  return std::string(title_of(row.part)) + (several ? "s" : "");
}

std::string line_of(const SlowSpot& stretch) {
  return fmt::format("    {:>10}  {}{}", format_time(static_cast<double>(stretch.activity.ns)),
                     stretch.activity.text(), frequency_text(stretch));
}

/// No longer than the terminal is wide.
std::string fitted(std::string line, std::size_t width) {
  if (width == 0 || line.size() <= width) return line + "\n";
  return line.substr(0, width - 3) + "...\n";
}

}  // namespace

std::string row_count_text(const WallTimeRow& row) {
  const bool steps = row.part == WallPhase::kSteps || row.part == WallPhase::kWarmUp ||
                     row.part == WallPhase::kTruncated;
  if (steps)
    return row.count == 1 ? std::string(messages::wall_time::kOneStep)
                          : fmt::format(messages::wall_time::kSteps, row.count);
  if (row.part == WallPhase::kBetween)
    return row.count == 1 ? std::string(messages::wall_time::kOnePause)
                          : fmt::format(messages::wall_time::kPauses, row.count);
  return "";
}

std::string frequency_text(const SlowSpot& stretch) {
  const bool one = stretch.count == 1;
  const std::string labels = step_labels_text(stretch);
  if (stretch.part == WallPhase::kSteps)
    return one ? fmt::format(messages::wall_time::kLongerInOneStep, labels)
               : fmt::format(messages::wall_time::kLongerInSteps, stretch.count, labels);
  if (stretch.part != WallPhase::kBetween) return "";
  return one ? fmt::format(messages::wall_time::kHowOften, messages::wall_time::kOnce,
                           fmt::format(messages::wall_time::kAfterStep, labels))
             : fmt::format(messages::wall_time::kHowOften,
                           fmt::format(messages::wall_time::kTimes, stretch.count),
                           fmt::format(messages::wall_time::kAfterSteps, labels));
}

std::string step_labels_text(const SlowSpot& stretch) {
  const bool of_steps = stretch.part == WallPhase::kSteps || stretch.part == WallPhase::kBetween ||
                        stretch.part == WallPhase::kWarmUp || stretch.part == WallPhase::kTruncated;
  if (!of_steps) return "";
  std::string text;
  for (const std::uint64_t label : stretch.labels)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", label);
  if (stretch.count > stretch.labels.size())
    text += fmt::format(messages::wall_time::kMore, stretch.count - stretch.labels.size());
  return text;
}

std::string wall_time_text(const ProcessReport& a, std::size_t width) {
  const WallTime& wall = a.wall;
  const auto all = static_cast<double>(wall.recorded_ns);
  if (wall.rows.empty() || (wall.rows.size() == 1 && wall.rows[0].part == WallPhase::kNoStepsAtAll))
    return "";
  std::string text = fmt::format("\n{}\n", messages::wall_time::kHeading);
  for (const WallTimeRow& row : wall.rows) {
    const auto ns = static_cast<double>(row.ns);
    if (row.part != WallPhase::kSteps && ns < kPrintedShare * all) continue;
    text += fitted(fmt::format("  {:<22} {:>10}  {:>5.1f}%  {}", title_text(row), format_time(ns),
                               percent_of(ns, all), row_count_text(row)),
                   width);
    std::size_t lines = 0;
    for (const SlowSpot& stretch : wall.slow_spots) {
      if (stretch.part != row.part || lines == kLines) continue;
      if (static_cast<double>(stretch.activity.ns) < kMinShare * all) continue;
      text += fitted(line_of(stretch), width);
      ++lines;
    }
  }
  return text;
}

}  // namespace gpuprof::report
