// SPDX-License-Identifier: Apache-2.0
//
// What is claimed of a comparison, and what is only seen, in words.
//
// Context:  cli
#include "analysis/report/diff/output/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/messages/diff_findings.hpp"
#include "analysis/report/diff/data/metrics.hpp"
#include "analysis/report/diff/output/format_value.hpp"
#include "analysis/report/diff/significance/repeated_pairs.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::diff {
namespace {

constexpr std::size_t kMaxShapeBytes = 120;  // bytes of the shapes of one side
constexpr double kMaxDetectableChange = 1;
constexpr double kReportFactor = 0.01;  // common factors nearer to 1 are not worth a sentence

std::string gone_message(const Change& change, bool by_step) {
  const std::string time = format_value(change.before, Unit::kTime);
  const std::string share = format_percent(change.share_before);
  return by_step ? fmt::format(messages::diff_findings::kGonePerStep, time, share)
                 : fmt::format(messages::diff_findings::kGonePerCall, time, share);
}

std::string new_message(const Change& change, bool by_step) {
  const std::string time = format_value(change.after, Unit::kTime);
  const std::string share = format_percent(change.share_after);
  return by_step ? fmt::format(messages::diff_findings::kNewPerStep, time, share)
                 : fmt::format(messages::diff_findings::kNewPerCall, time, share);
}

std::string name_message(const NameDiff& row, bool by_step) {
  const Change& change = row.primary_change();
  if (row.presence == Presence::kGone) return gone_message(change, by_step);
  if (row.presence == Presence::kNew) return new_message(change, by_step);
  const std::string before = format_value(change.before, Unit::kTime);
  const std::string after = format_value(change.after, Unit::kTime);
  const std::string relative = format_change(change.before, change.after);
  if (!by_step)
    return fmt::format(messages::diff_findings::kTimePerCall, primary_quantity(row), before, after,
                       relative);
  // Of the step before, what the change makes up.
  const double share = change.share_before * change.relative;
  return fmt::format(messages::diff_findings::kTimePerStep, primary_quantity(row), before, after,
                     relative, share * 100);
}

std::vector<std::string> details_of(const NameDiff& row) {
  std::vector<std::string> details;
  if (row.calls_changed)
    details.push_back(fmt::format(messages::diff_findings::kCalls,
                                  format_value(row.calls_before, Unit::kCount),
                                  format_value(row.calls_after, Unit::kCount)));
  if (!row.inner_calls.empty())
    details.push_back(
        fmt::format(messages::diff_findings::kInnerCalls, support::join(row.inner_calls, ", ")));
  if (!row.shapes_before.empty())
    details.push_back(fmt::format(messages::diff_findings::kInputs,
                                  truncate_text(row.shapes_before, kMaxShapeBytes),
                                  truncate_text(row.shapes_after, kMaxShapeBytes)));
  return details;
}

std::vector<std::string> evidence_of(const Change& change) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format(messages::diff_findings::kSpread,
                              format_percent(change.before_spread),
                              format_percent(change.after_spread)));
  if (change.threshold > 0)
    lines.push_back(fmt::format(messages::diff_findings::kNoiseLimit,
                                format_percent(change.threshold), change.adjusted * 100));
  if (change.p_value < 1)
    lines.push_back(fmt::format(messages::diff_findings::kRankTest, change.p_value));
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
    finding.evidence.emplace_back(messages::diff_findings::kCallsAreCertain);
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
  const std::string before = format_value(change.before, known->unit);
  const std::string after = format_value(change.after, known->unit);
  finding.message =
      by_step
          ? fmt::format(messages::diff_findings::kMetricPerStep, before, after, finding.change)
          : fmt::format(messages::diff_findings::kMetricPerSlice, before, after, finding.change);
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
  finding.message = fmt::format(messages::diff_findings::kPeak, format_value(before, Unit::kBytes),
                                format_value(after, Unit::kBytes), finding.change);
  finding.evidence = {messages::diff_findings::kPeaksOfSteps};
  finding.is_increase = after > before;
  return finding;
}

/// With how many of several pairs show it.
Finding counted(Finding finding, std::size_t shown_by, std::size_t pairs) {
  if (pairs == 1) return finding;
  finding.message =
      fmt::format(messages::diff_findings::kShownBy, finding.message, shown_by, pairs);
  finding.evidence.push_back(
      fmt::format(messages::diff_findings::kShownByEvidence, shown_by, pairs));
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
  return pairs == 1 ? messages::diff_findings::kUnconfirmedChanges
                    : messages::diff_findings::kUnconfirmedChangesOfPairs;
}

std::string unconfirmed_explanation(std::size_t pairs) {
  if (pairs >= kEnoughPairs)
    return fmt::format(messages::diff_findings::kUnconfirmedByManyPairs, pairs);
  if (pairs > 1)
    return fmt::format(messages::diff_findings::kUnconfirmedByFewPairs, pairs, kEnoughPairs);
  return messages::diff_findings::kUnconfirmedByOnePair;
}

bool is_undetectable(const CommonShift& common) {
  return common.known && common.detectable_change > kMaxDetectableChange;
}

std::vector<std::string> common_shift_messages(const CommonShift& common, std::string_view subject,
                                               const Limits& limits) {
  if (!common.known) return {};
  std::vector<std::string> messages;
  if (std::abs(common.factor - 1) >= kReportFactor)
    messages.push_back(fmt::format(messages::diff_findings::kCommonFactor, subject, common.factor));
  if (is_undetectable(common)) {
    messages.push_back(fmt::format(messages::diff_findings::kUndetectable, subject));
  } else {
    messages.push_back(fmt::format(messages::diff_findings::kDetectable, subject,
                                   common.detectable_change * 100, limits.share * 100));
  }
  return messages;
}

std::string describe_recording(const StepProfile& profile, bool by_step) {
  if (!by_step)
    return fmt::format(messages::diff_findings::kRecordedSeconds, profile.given_name,
                       static_cast<double>(profile.recorded_ns) / 1e9);
  const std::size_t warm_up = std::min(profile.steps, profile.warm_up * profile.steps_per_cell);
  const std::string steps = support::count_with_unit(profile.steps - warm_up, "step", "steps");
  if (warm_up == 0)
    return fmt::format(messages::diff_findings::kRecordedSteps, profile.given_name, steps);
  return fmt::format(messages::diff_findings::kRecordedStepsAndWarmUp, profile.given_name, steps,
                     support::count_with_unit(warm_up, "warm-up step", "warm-up steps"));
}

std::string memory_name(std::int32_t device) {
  return device < 0 ? "host memory" : fmt::format("GPU {} memory", device);
}

std::string_view primary_quantity(const NameDiff& row) {
  const Change* change = &row.primary_change();
  if (row.on_gpu()) return messages::diff_findings::kGpuTime;
  if (change == &row.device) return messages::diff_findings::kLaunchedGpuTime;
  return change == &row.self ? messages::diff_findings::kSelfTime
                             : messages::diff_findings::kTotalTime;
}

}  // namespace gpuprof::report::diff
