// SPDX-License-Identifier: Apache-2.0
//
// A Diff as text: what changed first, then the tables it comes from.
//
// Context:  cli
#include "analysis/report/diff/output/diff_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/messages/diff_findings.hpp"
#include "analysis/messages/report.hpp"
#include "analysis/report/diff/data/metrics.hpp"
#include "analysis/report/diff/output/findings.hpp"
#include "analysis/report/diff/output/format_value.hpp"
#include "analysis/report/diff/significance/repeated_pairs.hpp"

namespace gpuprof::report::diff {
namespace {

constexpr std::size_t kMinNameWidth = 30, kMaxNameWidth = 60;
constexpr std::size_t kFigures = 54;  // columns of a table after the name

std::string listed(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("  {}{}{}: {}\n", finding.subject, finding.name.empty() ? "" : " ",
                        finding.name, finding.message);
    for (const std::string& detail : finding.details) text += fmt::format("      {}\n", detail);
  }
  return text;
}

std::string significant(const ProcessDiff& process, std::size_t pairs) {
  const std::string text = listed(significant_findings(process, pairs));
  if (text.empty()) return fmt::format("{}.\n", messages::diff_findings::kNoSignificantChange);
  return fmt::format("{}:\n{}", messages::diff_findings::kSignificantChanges, text);
}

std::string seen_once(const ProcessDiff& process, std::size_t pairs) {
  const std::string text = listed(unconfirmed_findings(process, pairs));
  if (text.empty()) return "";
  return fmt::format("{}:\n{}{}\n", unconfirmed_title(pairs), text, unconfirmed_explanation(pairs));
}

std::string lines(const char* start, const std::vector<std::string>& messages) {
  std::string text;
  for (const std::string& message : messages) text += fmt::format("{}{}\n", start, message);
  return text;
}

std::string heading(const char* title, std::size_t name_width) {
  // Two columns in front mark what is significant or seen once.
  return fmt::format("\n  {:<{}} {:>12} {:>12} {:>10} {:>8} {:>8}\n", title, name_width, "before",
                     "after", "change", "spread", "of step");
}

template <typename One>
const char* mark_of(const One& one) {
  return one.significant ? "*" : one.is_unconfirmed ? "?" : " ";
}

std::string figures(const std::string& name, std::size_t name_width, const Change& change,
                    Unit unit, const char* mark) {
  const double spread = (change.before_spread + change.after_spread) / 2;
  const double share = std::max(change.share_before, change.share_after);
  const std::string shown = truncate_text(name, name_width);
  return fmt::format("{} {:<{}} {:>12} {:>12} {:>10} {:>8} {:>8}\n", mark, shown, name_width,
                     format_value(change.before, unit), format_value(change.after, unit),
                     format_change(change.before, change.after), format_percent(spread),
                     unit == Unit::kTime ? format_percent(share) : "");
}

std::string metrics_table(const ProcessDiff& process, std::size_t name_width) {
  if (process.metrics.empty()) return "";
  std::string text = heading(process.by_step ? "Step" : "Slice", name_width);
  for (const StepMetric& known : step_metrics()) {
    const MetricDiff* row = process.metric(known.name);
    if (row == nullptr) continue;
    text += figures(std::string(known.title), name_width, row->change, known.unit,
                    mark_of(row->change));
  }
  return text;
}

std::string more_rows(std::size_t count) {
  if (count == 0) return "";
  if (count == 1) return fmt::format("  {}\n", messages::report::kOneMoreRow);
  return fmt::format("  {}\n", fmt::format(messages::report::kMoreRows, count));
}

std::string names_table(const ProcessDiff& process, const char* title, NameKind first,
                        NameKind last, std::size_t name_width, std::size_t row_limit) {
  std::string text;
  std::size_t shown = 0, left = 0;
  for (const NameDiff& row : process.names) {
    if (row.kind < first || row.kind > last || !row.primary_change().measured) continue;
    if (!row.is_reported() && shown >= row_limit) {
      ++left;
      continue;
    }
    ++shown;
    text += figures(row.name, name_width, row.primary_change(), Unit::kTime, mark_of(row));
  }
  if (text.empty()) return "";
  return heading(title, name_width) + text + more_rows(left);
}

std::string memory_table(const ProcessDiff& process, std::size_t name_width) {
  if (process.memory.empty()) return "";
  std::string text = heading("Memory", name_width);
  const auto line = [&](const std::string& name, std::uint64_t before, std::uint64_t after,
                        const char* mark, Unit unit) {
    Change change;
    change.before = static_cast<double>(before);
    change.after = static_cast<double>(after);
    const auto shown = [unit](const StepProfile& profile, double value) {
      return profile.memory.empty() ? std::string("not known") : format_value(value, unit);
    };
    const bool both = !process.before.memory.empty() && !process.after.memory.empty();
    text += fmt::format("{} {:<{}} {:>12} {:>12} {:>10}\n", mark, name, name_width,
                        shown(process.before, change.before), shown(process.after, change.after),
                        both ? format_change(change.before, change.after) : std::string());
  };
  for (const MemoryDiff& row : process.memory) {
    const std::string of = memory_name(row.device);
    if (row.before.peak_allocated_bytes + row.after.peak_allocated_bytes != 0)
      line(of + ", peak allocated", row.before.peak_allocated_bytes, row.after.peak_allocated_bytes,
           mark_of(row), Unit::kBytes);
    if (row.before.peak_reserved_bytes + row.after.peak_reserved_bytes != 0)
      line(of + ", peak reserved", row.before.peak_reserved_bytes, row.after.peak_reserved_bytes,
           " ", Unit::kBytes);
    line(of + ", allocations", row.before.allocations, row.after.allocations, " ", Unit::kCount);
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
  text += fmt::format("before {}\n", describe_recording(process.before, process.by_step));
  text += fmt::format("after  {}\n", describe_recording(process.after, process.by_step));
  text += lines("note: ", process.caveats) + lines("note: ", process.notes);
  text += "\n" + significant(process, diff.pairs()) + seen_once(process, diff.pairs());
  text += lines("", common_shift_messages(process.host, "operators", diff.limits));
  text += lines("", common_shift_messages(process.gpu, "kernels and copies", diff.limits));
  text += metrics_table(process, name_width);
  text += names_table(process, process.by_step ? "Operators, per step" : "Operators, per call",
                      NameKind::kOperator, NameKind::kRange, name_width, row_limit);
  text += names_table(
      process, process.by_step ? "Kernels and copies, per step" : "Kernels and copies, per call",
      NameKind::kKernel, NameKind::kCopy, name_width, row_limit);
  return text + memory_table(process, name_width);
}

std::string reading_text(const Diff& pair) {
  return lines("note: before: ", pair.before_reading.messages) +
         lines("note: after: ", pair.after_reading.messages);
}

}  // namespace

std::string diff_text(const Diff& diff, std::size_t row_limit, std::size_t width) {
  const std::size_t room = width > kFigures ? width - kFigures : 0;
  const std::size_t name_width =
      width == 0 ? kMaxNameWidth : std::clamp(room, kMinNameWidth, kMaxNameWidth);
  std::string text;
  if (diff.simulated) text += fmt::format("{}\n", messages::diff_findings::kSimulatedGpu);
  text += lines("", pairs_messages(diff)) + lines("note: ", diff.notes) + reading_text(diff);
  for (const Diff& other : diff.other_pairs) text += reading_text(other);
  for (const ProcessDiff& process : diff.processes)
    text += process_text(diff, process, row_limit, name_width);
  return text;
}

}  // namespace gpuprof::report::diff
