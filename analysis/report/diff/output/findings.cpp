// SPDX-License-Identifier: Apache-2.0
//
// What is claimed of a comparison, and what is only seen, in words.
//
// Context:  cli
#include "analysis/report/diff/output/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/report/diff/data/metrics.hpp"
#include "analysis/report/diff/output/format_value.hpp"
#include "analysis/report/diff/significance/repeated_pairs.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::diff {
namespace {

constexpr std::size_t kMaxShapeBytes = 120;  // bytes of the shapes of one side
constexpr double kMaxDetectableChange = 1;
constexpr double kReportFactor = 0.01;  // common factors nearer to 1 are not worth a sentence

/// Of the step before, what the change makes up.
std::string of_step(const Change& change) {
  const double share = change.share_before * change.relative;
  return fmt::format("{:+.1f} % of the step", share * 100);
}

std::string name_message(const NameDiff& row, bool by_step) {
  const Change& change = row.primary_change();
  const char* each = by_step ? "a step" : "a call";
  if (row.presence == Presence::kGone)
    return fmt::format("gone, took {} {}, {} of the step", format_value(change.before, Unit::kTime),
                       each, format_percent(change.share_before));
  if (row.presence == Presence::kNew)
    return fmt::format("new, takes {} {}, {} of the step", format_value(change.after, Unit::kTime),
                       each, format_percent(change.share_after));
  std::string text = fmt::format("{} → {} {}, {} {}", format_value(change.before, Unit::kTime),
                                 format_value(change.after, Unit::kTime), each,
                                 format_change(change.before, change.after), primary_quantity(row));
  if (by_step) text += ", " + of_step(change);
  return text;
}

std::vector<std::string> details_of(const NameDiff& row) {
  std::vector<std::string> details;
  if (row.calls_changed)
    details.push_back(fmt::format("called {} → {} times a step",
                                  format_value(row.calls_before, Unit::kCount),
                                  format_value(row.calls_after, Unit::kCount)));
  if (!row.inner_calls.empty())
    details.push_back(fmt::format("calls in each: {}", support::join(row.inner_calls, ", ")));
  if (!row.shapes_before.empty())
    details.push_back(fmt::format("inputs: {} → {}",
                                  truncate_text(row.shapes_before, kMaxShapeBytes),
                                  truncate_text(row.shapes_after, kMaxShapeBytes)));
  return details;
}

std::vector<std::string> evidence_of(const Change& change) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("spread from step to step: {} before, {} after",
                              format_percent(change.before_spread),
                              format_percent(change.after_spread)));
  if (change.threshold > 0)
    lines.push_back(
        fmt::format("a change from {} on can be told from noise; without what all have "
                    "in common it is {:+.1f} %",
                    format_percent(change.threshold), change.adjusted * 100));
  if (change.p_value < 1)
    lines.push_back(fmt::format("by ranks of blocks of steps, chance would do this with p = {:.2g}",
                                change.p_value));
  return lines;
}

Finding claim_of(const NameDiff& row, bool by_step) {
  const Change& change = row.primary_change();
  Finding finding;
  finding.subject = name_of(row.kind);
  finding.name = row.name;
  finding.change = format_change(change.before, change.after);
  finding.message = name_message(row, by_step);
  finding.details = details_of(row);
  finding.is_increase = change.after > change.before;
  if (row.calls_changed || !row.inner_calls.empty())
    finding.evidence.emplace_back(
        "numbers of calls are the same in every run of a program: what they change is certain, "
        "whatever the noise of the time");
  else if (row.presence == Presence::kBoth)
    finding.evidence = evidence_of(change);
  return finding;
}

Finding claim_of(const MetricDiff& row, bool by_step) {
  const auto known = std::find_if(step_metrics().begin(), step_metrics().end(),
                                  [&](const StepMetric& one) { return one.name == row.name; });
  const Change& change = row.change;
  Finding finding;
  finding.subject = known->title;
  finding.change = format_change(change.before, change.after);
  finding.message = fmt::format("{} → {} {}, {}", format_value(change.before, known->unit),
                                format_value(change.after, known->unit),
                                by_step ? "a step" : "a slice", finding.change);
  finding.evidence = evidence_of(change);
  finding.is_increase = change.after > change.before;
  return finding;
}

Finding claim_of(const MemoryDiff& row) {
  const auto before = static_cast<double>(row.before.peak_allocated_bytes);
  const auto after = static_cast<double>(row.after.peak_allocated_bytes);
  Finding finding;
  finding.subject = memory_name(row.device) + ", peak";
  finding.change = format_change(before, after);
  finding.message = fmt::format("{} → {}, {}", format_value(before, Unit::kBytes),
                                format_value(after, Unit::kBytes), finding.change);
  finding.evidence = {"the peaks of the usual step differ as well"};
  finding.is_increase = after > before;
  return finding;
}

/// With how many of several pairs show it.
Finding counted(Finding finding, std::size_t shown_by, std::size_t pairs) {
  if (pairs == 1) return finding;
  const std::string shown = fmt::format("shown by {} of {} pairs", shown_by, pairs);
  finding.message += ", " + shown;
  finding.evidence.push_back(shown + " of recordings, in the same direction");
  return finding;
}

template <typename Is>
std::vector<Finding> selected(const ProcessDiff& process, std::size_t pairs, const Is& is) {
  std::vector<Finding> findings;
  for (const MetricDiff& row : process.metrics)
    if (is(row.change))
      findings.push_back(
          counted(claim_of(row, process.by_step), row.change.confirming_pairs, pairs));
  for (const MemoryDiff& row : process.memory)
    if (is(row)) findings.push_back(counted(claim_of(row), row.confirming_pairs, pairs));
  for (const NameDiff& row : process.names)
    if (is(row))
      findings.push_back(counted(claim_of(row, process.by_step), row.confirming_pairs, pairs));
  return findings;
}

}  // namespace

std::vector<Finding> significant_findings(const ProcessDiff& process, std::size_t pairs) {
  return selected(process, pairs, [](const auto& one) { return one.significant; });
}

std::vector<Finding> unconfirmed_findings(const ProcessDiff& process, std::size_t pairs) {
  return selected(process, pairs, [](const auto& one) { return one.is_unconfirmed; });
}

std::string unconfirmed_title(std::size_t pairs) {
  return pairs == 1 ? "Seen once, not claimed" : "Seen, but not in enough pairs to be claimed";
}

std::string unconfirmed_explanation(std::size_t pairs) {
  const std::string cause =
      "Where memory came to lie and the processor it ran on may do this to one process for its "
      "whole life";
  if (pairs >= kEnoughPairs)
    return cause + fmt::format(": claimed is only what each of the {} pairs shows.", pairs);
  if (pairs > 1)
    return fmt::format(
        "{}, and to {} by chance: a change of time alone is claimed where each of "
        "at least {} pairs shows it.",
        cause, pairs, kEnoughPairs);
  return cause +
         ": record both again, and give all recordings: gpuprof diff BEFORE AFTER BEFORE2 AFTER2 "
         "BEFORE3 AFTER3";
}

bool is_undetectable(const CommonShift& common) {
  return common.known && common.detectable_change > kMaxDetectableChange;
}

std::vector<std::string> common_shift_messages(const CommonShift& common, std::string_view subject,
                                               const Limits& limits) {
  if (!common.known) return {};
  std::vector<std::string> messages;
  if (std::abs(common.factor - 1) >= kReportFactor)
    messages.push_back(
        fmt::format("All {} took {:.2f} times as long: the machine, or what concerns them all. "
                    "It is left out of what is claimed.",
                    subject, common.factor));
  if (is_undetectable(common)) {
    messages.push_back(
        fmt::format("Other changes of {} cannot be told here: their times vary too much from "
                    "step to step, or from process to process.",
                    subject));
  } else {
    messages.push_back(
        fmt::format("Of {} a change of about {:.0f} % can be told here, if it is {:g} % of "
                    "the step.",
                    subject, common.detectable_change * 100, limits.share * 100));
  }
  return messages;
}

std::string describe_recording(const StepProfile& profile, bool by_step) {
  if (!by_step)
    return fmt::format("{}: {:.1f} s", profile.given_name,
                       static_cast<double>(profile.recorded_ns) / 1e9);
  const std::size_t warm_up = std::min(profile.steps, profile.warm_up * profile.steps_per_cell);
  std::string text =
      fmt::format("{}: {}", profile.given_name,
                  support::count_with_unit(profile.steps - warm_up, "step", "steps"));
  if (warm_up != 0) text += fmt::format(", {} more left out as warm-up", warm_up);
  return text;
}

std::string memory_name(std::int32_t device) {
  return device < 0 ? "host memory" : fmt::format("GPU {} memory", device);
}

std::string_view primary_quantity(const NameDiff& row) {
  const Change* change = &row.primary_change();
  if (row.on_gpu()) return "GPU time";
  if (change == &row.device) return "GPU time launched in it";
  return change == &row.self ? "in itself" : "with what it calls";
}

}  // namespace gpuprof::report::diff
