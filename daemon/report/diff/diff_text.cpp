// SPDX-License-Identifier: Apache-2.0
//
// A Diff as text: what changed first, then the tables it comes from.
//
// Context:  cli
#include "daemon/report/diff/diff_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "daemon/report/diff/metrics.hpp"
#include "daemon/report/diff/value_text.hpp"
#include "support/text.hpp"

namespace gpuprof::report::diff {
namespace {

constexpr std::size_t kLeastName = 30, kMostName = 60;
constexpr std::size_t kFigures = 54;  // columns of a table after the name
constexpr double kMostTold = 1;
constexpr double kToldFactor = 0.01;  // common factors nearer to 1 are not worth a sentence

std::string cut(const std::string& name, std::size_t width) {
  if (name.size() <= width) return name;
  std::size_t end = width - 3;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return name.substr(0, end) + "...";
}

std::string side_line(const char* which, const Side& side, bool by_step) {
  const std::size_t warm_up = std::min(side.steps, side.warm_up * side.steps_per_cell);
  std::string line = fmt::format("{} {}", which, side.named);
  if (by_step) {
    line += fmt::format(": {}", support::counted(side.steps - warm_up, "step", "steps"));
    if (warm_up != 0) line += fmt::format(", {} more left out as warm-up", warm_up);
  } else {
    line += fmt::format(": {:.1f} s", static_cast<double>(side.recorded_ns) / 1e9);
  }
  return line + "\n";
}

std::string_view what_is_told(const NameDiff& row) {
  const Change* change = &row.telling();
  if (row.on_gpu()) return "GPU time";
  if (change == &row.device) return "GPU time launched in it";
  return change == &row.self ? "in itself" : "with what it calls";
}

/// Of the step before, what the change makes up.
std::string of_step(const Change& change) {
  const double share = change.share_before * change.relative;
  return fmt::format("{:+.1f} % of the step", share * 100);
}

std::string change_lines(const NameDiff& row, bool by_step) {
  const Change& change = row.telling();
  const char* each = by_step ? "a step" : "a call";
  std::string text = fmt::format("  {} {}: ", name_of(row.kind), row.name);
  if (row.presence == Presence::kGone) {
    text += fmt::format("gone, took {} {}, {} of the step", value_text(change.before, Unit::kTime),
                        each, percent_text(change.share_before));
  } else if (row.presence == Presence::kNew) {
    text += fmt::format("new, takes {} {}, {} of the step", value_text(change.after, Unit::kTime),
                        each, percent_text(change.share_after));
  } else {
    text += fmt::format("{} → {} {}, {} {}", value_text(change.before, Unit::kTime),
                        value_text(change.after, Unit::kTime), each,
                        change_text(change.before, change.after), what_is_told(row));
    if (by_step) text += ", " + of_step(change);
  }
  text += '\n';
  if (row.calls_changed)
    text += fmt::format("      called {} → {} times a step\n",
                        value_text(row.calls_before, Unit::kCount),
                        value_text(row.calls_after, Unit::kCount));
  if (!row.inner_calls.empty())
    text += fmt::format("      calls in each: {}\n", support::join(row.inner_calls, ", "));
  if (!row.shapes_before.empty())
    text += fmt::format("      inputs: {} → {}\n", cut(row.shapes_before, 120),
                        cut(row.shapes_after, 120));
  return text;
}

std::string memory_name(std::int32_t device) {
  return device < 0 ? "host memory" : fmt::format("GPU {} memory", device);
}

std::string significant(const ProcessDiff& process) {
  std::string text;
  for (const MetricDiff& row : process.metrics) {
    if (!row.change.significant) continue;
    const auto known = std::find_if(step_metrics().begin(), step_metrics().end(),
                                    [&](const StepMetric& one) { return one.name == row.name; });
    text += fmt::format(
        "  {}: {} → {} {}, {}\n", known->title, value_text(row.change.before, known->unit),
        value_text(row.change.after, known->unit), process.by_step ? "a step" : "a slice",
        change_text(row.change.before, row.change.after));
  }
  for (const MemoryDiff& row : process.memory) {
    if (!row.significant) continue;
    const auto before = static_cast<double>(row.before.peak_allocated_bytes);
    const auto after = static_cast<double>(row.after.peak_allocated_bytes);
    text += fmt::format("  {}, peak: {} → {}, {}\n", memory_name(row.device),
                        value_text(before, Unit::kBytes), value_text(after, Unit::kBytes),
                        change_text(before, after));
  }
  for (const NameDiff& row : process.names)
    if (row.significant) text += change_lines(row, process.by_step);
  return text.empty() ? "No significant change.\n" : "Significant changes:\n" + text;
}

std::string common_line(const Common& common, const char* what, const Limits& limits) {
  if (!common.known) return "";
  std::string text;
  if (std::abs(common.factor - 1) >= kToldFactor)
    text = fmt::format(
        "All {} took {:.2f} times as long: the machine, or what concerns them all. "
        "It is left out of what is claimed.\n",
        what, common.factor);
  if (common.told_from > kMostTold)
    return text + fmt::format(
                      "Changes of {} cannot be told here: their times vary too much from "
                      "step to step, or from process to process.\n",
                      what);
  return text + fmt::format(
                    "Of {} a change of about {:.0f} % can be told here, if it is {:g} % of "
                    "the step.\n",
                    what, common.told_from * 100, limits.share * 100);
}

std::string heading(const char* title, std::size_t name_width) {
  // Two columns in front mark what is significant.
  return fmt::format("\n  {:<{}} {:>12} {:>12} {:>10} {:>8} {:>8}\n", title, name_width, "before",
                     "after", "change", "spread", "of step");
}

std::string figures(const std::string& name, std::size_t name_width, const Change& change,
                    Unit unit, bool significant) {
  const double spread = (change.before_spread + change.after_spread) / 2;
  const double share = std::max(change.share_before, change.share_after);
  const std::string shown = cut(name, name_width);
  return fmt::format("{} {:<{}} {:>12} {:>12} {:>10} {:>8} {:>8}\n", significant ? "*" : " ", shown,
                     name_width, value_text(change.before, unit), value_text(change.after, unit),
                     change_text(change.before, change.after), percent_text(spread),
                     unit == Unit::kTime ? percent_text(share) : "");
}

std::string metrics_table(const ProcessDiff& process, std::size_t name_width) {
  if (process.metrics.empty()) return "";
  std::string text = heading(process.by_step ? "Step" : "Slice", name_width);
  for (const StepMetric& known : step_metrics()) {
    const MetricDiff* row = process.metric(known.name);
    if (row == nullptr) continue;
    text += figures(std::string(known.title), name_width, row->change, known.unit,
                    row->change.significant);
  }
  return text;
}

std::string names_table(const ProcessDiff& process, const char* title, NameKind first,
                        NameKind last, std::size_t name_width, std::size_t row_limit) {
  std::string text;
  std::size_t shown = 0, left = 0;
  for (const NameDiff& row : process.names) {
    if (row.kind < first || row.kind > last || !row.telling().measured) continue;
    if (!row.significant && shown >= row_limit) {
      ++left;
      continue;
    }
    ++shown;
    text += figures(row.name, name_width, row.telling(), Unit::kTime, row.significant);
  }
  if (text.empty()) return "";
  if (left != 0) text += fmt::format("  … and {} more (--row-limit)\n", left);
  return heading(title, name_width) + text;
}

std::string memory_table(const ProcessDiff& process, std::size_t name_width) {
  if (process.memory.empty()) return "";
  std::string text = heading("Memory", name_width);
  const auto line = [&](const std::string& name, std::uint64_t before, std::uint64_t after,
                        bool is_significant, Unit unit) {
    Change change;
    change.before = static_cast<double>(before);
    change.after = static_cast<double>(after);
    text += fmt::format("{} {:<{}} {:>12} {:>12} {:>10}\n", is_significant ? "*" : " ", name,
                        name_width, value_text(change.before, unit), value_text(change.after, unit),
                        change_text(change.before, change.after));
  };
  for (const MemoryDiff& row : process.memory) {
    const std::string of = memory_name(row.device);
    if (row.before.peak_allocated_bytes + row.after.peak_allocated_bytes != 0)
      line(of + ", peak allocated", row.before.peak_allocated_bytes, row.after.peak_allocated_bytes,
           row.significant, Unit::kBytes);
    if (row.before.peak_reserved_bytes + row.after.peak_reserved_bytes != 0)
      line(of + ", peak reserved", row.before.peak_reserved_bytes, row.after.peak_reserved_bytes,
           false, Unit::kBytes);
    line(of + ", allocations", row.before.allocations, row.after.allocations, false, Unit::kCount);
  }
  return text;
}

std::string process_text(const Diff& diff, const ProcessDiff& process, std::size_t row_limit,
                         std::size_t name_width) {
  std::string text;
  if (diff.processes.size() > 1)
    text += process.after.rank >= 0 ? fmt::format("\n== rank {} ==\n", process.after.rank)
                                    : fmt::format("\n== process {} and process {} ==\n",
                                                  process.before.pid, process.after.pid);
  text += side_line("before", process.before, process.by_step);
  text += side_line("after ", process.after, process.by_step);
  for (const std::string& remark : process.remarks) text += "note: " + remark + "\n";
  text += "\n" + significant(process);
  text += common_line(process.host, "operators", diff.limits);
  text += common_line(process.gpu, "kernels and copies", diff.limits);
  text += metrics_table(process, name_width);
  text += names_table(process, process.by_step ? "Operators, a step" : "Operators, a call",
                      NameKind::kOperator, NameKind::kRange, name_width, row_limit);
  text += names_table(process, process.by_step ? "Kernels and copies, a step" : "Kernels, a call",
                      NameKind::kKernel, NameKind::kCopy, name_width, row_limit);
  return text + memory_table(process, name_width);
}

}  // namespace

std::string diff_text(const Diff& diff, std::size_t row_limit, std::size_t width) {
  const std::size_t room = width > kFigures ? width - kFigures : 0;
  const std::size_t name_width = width == 0 ? kMostName : std::clamp(room, kLeastName, kMostName);
  std::string text;
  if (diff.simulated) text += "GPU work was done on the simulated GPU.\n";
  for (const std::string& remark : diff.remarks) text += "note: " + remark + "\n";
  for (const ProcessDiff& process : diff.processes)
    text += process_text(diff, process, row_limit, name_width);
  return text;
}

}  // namespace gpuprof::report::diff
