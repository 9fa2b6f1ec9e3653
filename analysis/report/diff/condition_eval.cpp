// SPDX-License-Identifier: Apache-2.0
//
// Whether a condition holds.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "analysis/messages/diff_condition.hpp"
#include "analysis/report/diff/condition.hpp"
#include "analysis/report/diff/output/format_value.hpp"
#include "analysis/report/diff/significance/repeated_pairs.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::diff {
namespace {

using support::error;
using support::in_quotes;

struct Measured {
  double before = 0, after = 0;
  bool beyond_noise = true;
  Unit unit = Unit::kTime;
  bool on_host = false;  // time of the host
};

std::string process_text(const ProcessDiff& process) {
  const StepProfile& profile = process.after;
  return profile.rank >= 0 ? fmt::format("rank {}", profile.rank)
                           : fmt::format("process {}", profile.pid);
}

Measured of_change(const Change& change, Presence presence, bool on_host) {
  return {change.before, change.after, change.is_separated || presence != Presence::kBoth,
          Unit::kTime, on_host};
}

bool has_kind(const std::string& metric, const NameDiff& row) {
  if (metric == "kernel") return row.kind == NameKind::kKernel;
  if (metric == "copy") return row.kind == NameKind::kCopy;
  return metric == "calls" || !row.on_gpu();
}

/// The name itself, else the only one it is a part of.
support::Result<const NameDiff*> find_name(const Condition& condition, const ProcessDiff& process) {
  std::vector<const NameDiff*> parts;
  std::vector<std::string> names;
  for (const NameDiff& row : process.names) {
    if (!has_kind(condition.metric, row)) continue;
    if (row.name == condition.name) return &row;
    names.push_back(row.name);
    if (row.name.find(condition.name) != std::string::npos) parts.push_back(&row);
  }
  if (parts.size() == 1) return parts.front();
  if (parts.empty()) {
    const std::string near = support::closest_match(condition.name, names);
    return error(near.empty() ? fmt::format(messages::diff_condition::kUnknownName,
                                            in_quotes(condition.text))
                              : fmt::format(messages::diff_condition::kUnknownNameNear,
                                            in_quotes(condition.text), near),
                 kExitCannotCompare);
  }
  return error(
      fmt::format(messages::diff_condition::kAmbiguousName, in_quotes(condition.text), parts.size(),
                  in_quotes(condition.name), in_quotes(parts[0]->name), in_quotes(parts[1]->name)),
      kExitCannotCompare);
}

support::Result<Measured> measure_name(const Condition& condition, const ProcessDiff& process) {
  GPUPROF_TRY(row, find_name(condition, process));
  if (condition.metric == "calls")
    return Measured{row->calls_before, row->calls_after,
                    row->calls_changed || !process.by_step || row->presence != Presence::kBoth,
                    Unit::kCount, false};
  if (condition.metric == "operator") return of_change(row->total, row->presence, true);
  if (condition.metric == "operator_self") return of_change(row->self, row->presence, true);
  return of_change(row->device, row->presence, false);
}

support::Result<Measured> measure_memory(const Condition& condition, const ProcessDiff& process) {
  const bool reserved = condition.metric == "memory_reserved";
  const bool host_only = condition.metric == "host_memory_peak";
  const bool on_gpu = std::any_of(process.memory.begin(), process.memory.end(),
                                  [](const MemoryDiff& row) { return row.device >= 0; });
  Measured most{0, 0, true, Unit::kBytes, false};
  bool found = false;
  for (const MemoryDiff& row : process.memory) {
    if ((row.device >= 0) != (on_gpu && !host_only)) continue;
    found = true;
    const auto peak = [reserved](const DeviceMemoryProfile& memory) {
      return static_cast<double>(reserved ? memory.peak_reserved_bytes
                                          : memory.peak_allocated_bytes);
    };
    most.before = std::max(most.before, peak(row.before));
    most.after = std::max(most.after, peak(row.after));
  }
  if (!found)
    return error(fmt::format(messages::diff_condition::kNoMemory, in_quotes(condition.text)),
                 kExitCannotCompare);
  return most;
}

support::Result<Measured> measure(const Condition& condition, const ProcessDiff& process) {
  if (!condition.name.empty()) return measure_name(condition, process);
  if (condition.metric.find("memory") != std::string::npos)
    return measure_memory(condition, process);
  if (condition.metric == "changes") {
    double count = 0;
    for (const NameDiff& row : process.names) count += row.significant;
    for (const MemoryDiff& row : process.memory) count += row.significant;
    for (const MetricDiff& row : process.metrics) count += row.change.significant;
    return Measured{0, count, true, Unit::kCount, false};
  }
  const MetricDiff* row = process.metric(condition.metric);
  if (row == nullptr)
    return error(condition.metric == "step_time"
                     ? fmt::format(messages::diff_condition::kNoStepTime, in_quotes(condition.text))
                     : fmt::format(messages::diff_condition::kNoMetric, in_quotes(condition.text),
                                   condition.metric),
                 kExitCannotCompare);
  const StepMetric* known = nullptr;
  for (const StepMetric& one : step_metrics())
    if (one.name == condition.metric) known = &one;
  const Change& change = row->change;
  return Measured{
      change.before, change.after,
      change.is_separated || change.before == 0 || change.after == 0 || known->unit == Unit::kCount,
      known->unit, known->measure == StepMeasure::kLength};
}

double compared(const Condition& condition, const Measured& measured) {
  if (condition.bound == BoundKind::kValue) return measured.after;
  if (condition.bound == BoundKind::kDifference) return measured.after - measured.before;
  if (measured.before == 0)
    return measured.after == 0 ? 0 : std::numeric_limits<double>::infinity();
  return measured.after / measured.before - 1;
}

bool is_reached(const Condition& condition, const Measured& measured) {
  const double value = compared(condition, measured);
  const bool beyond = condition.above ? value > condition.value : value < condition.value;
  return beyond || (condition.or_equal && value == condition.value);
}

/// What asks for a change is not answered by noise.
bool may_be_noise(const Condition& condition, const Measured& measured) {
  const bool asks = condition.bound != BoundKind::kValue &&
                    (condition.above ? condition.value >= 0 : condition.value <= 0);
  return asks && !measured.beyond_noise;
}

bool is_true(const Condition& condition, const Measured& measured) {
  return is_reached(condition, measured) && !may_be_noise(condition, measured);
}

/// In every other pair as well; `changes` are counted over all of them as it is.
support::Result<bool> repeated(const Condition& condition, const ProcessDiff& process,
                               const Diff& diff) {
  if (condition.metric == "changes") return true;
  for (const Diff& other : diff.other_pairs) {
    const ProcessDiff* its = counterpart(process, diff, other);
    if (its == nullptr) return false;
    GPUPROF_TRY(measured, measure(condition, *its));
    if (!is_true(condition, measured)) return false;
  }
  return true;
}

std::string message_of(const Condition& condition, const Measured& m, const ProcessDiff& process,
                       const Diff& diff) {
  std::string in_pairs, of_process, common_factor;
  if (diff.pairs() > 1) in_pairs = fmt::format(messages::diff_condition::kInAllPairs, diff.pairs());
  if (diff.processes.size() > 1)
    of_process = fmt::format(messages::diff_condition::kForProcess, process_text(process));
  const std::string values =
      condition.metric == "changes"
          ? fmt::format("{:.0f}", m.after)
          : fmt::format(messages::diff_condition::kValues, format_value(m.before, m.unit),
                        format_value(m.after, m.unit), format_change(m.before, m.after));
  const bool host_time = m.on_host && process.host.known;
  if (host_time && std::abs(process.host.factor - 1) >= 0.03)
    common_factor = fmt::format(messages::diff_condition::kCommonFactor, process.host.factor);
  return fmt::format(messages::diff_condition::kHolds, in_quotes(condition.text), in_pairs,
                     of_process, values, common_factor);
}

/// The sentence for one process; empty: it does not hold.
support::Result<std::string> holds_for(const Condition& condition, const ProcessDiff& process,
                                       const Diff& diff) {
  GPUPROF_TRY(measured, measure(condition, process));
  if (process.too_few_steps && is_reached(condition, measured) && may_be_noise(condition, measured))
    return error(fmt::format(messages::diff_condition::kCannotEvaluate, in_quotes(condition.text),
                             support::join(process.caveats, "; ")),
                 kExitCannotCompare);
  GPUPROF_TRY(again, repeated(condition, process, diff));
  if (!is_true(condition, measured) || !again) return std::string();
  return message_of(condition, measured, process, diff);
}

}  // namespace

support::Result<std::vector<std::string>> evaluate_condition(const Condition& condition,
                                                             const Diff& diff) {
  std::vector<std::string> messages;
  std::optional<support::Error> problem;
  for (const ProcessDiff& process : diff.processes) {
    auto message = holds_for(condition, process, diff);
    if (!message)
      problem = message.error();
    else if (!message.value().empty())
      messages.push_back(message.take());
  }
  // A name may be in one rank only.
  if (messages.empty() && problem) return *problem;
  return messages;
}

}  // namespace gpuprof::report::diff
