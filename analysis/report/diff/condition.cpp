// SPDX-License-Identifier: Apache-2.0
//
// Conditions such as `step_time > +5%`, for --fail-if.
//
// Context:  cli
#include "analysis/report/diff/condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "analysis/messages/diff_condition.hpp"
#include "analysis/report/diff/output/format_value.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::diff {
namespace {

using support::in_quotes;

support::Error refused(std::string_view text, const std::string& why) {
  return support::error(fmt::format(messages::diff_condition::kRefused, in_quotes(text), why),
                        kExitCannotCompare);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

struct UnitRow {
  std::string_view name;
  Unit unit;
  double factor;
};
constexpr std::array<UnitRow, 14> kUnits = {{
    {"ns", Unit::kTime, 1},
    {"us", Unit::kTime, 1e3},
    {"ms", Unit::kTime, 1e6},
    {"s", Unit::kTime, 1e9},
    {"B", Unit::kBytes, 1},
    {"KiB", Unit::kBytes, 1024.0},
    {"MiB", Unit::kBytes, 1024.0 * 1024},
    {"GiB", Unit::kBytes, 1024.0 * 1024 * 1024},
    {"kB", Unit::kBytes, 1e3},
    {"MB", Unit::kBytes, 1e6},
    {"GB", Unit::kBytes, 1e9},
    {"K", Unit::kBytes, 1024.0},
    {"M", Unit::kBytes, 1024.0 * 1024},
    {"G", Unit::kBytes, 1024.0 * 1024 * 1024},
}};

std::string_view example(Unit unit) {
  if (unit == Unit::kTime) return messages::diff_condition::kTimeExamples;
  if (unit == Unit::kBytes) return messages::diff_condition::kBytesExamples;
  return messages::diff_condition::kCountExamples;
}

support::Result<void> read_bound(std::string_view word, Unit unit, Condition& condition) {
  const std::string_view whole = word;
  const bool is_signed = !word.empty() && (word[0] == '+' || word[0] == '-');
  const double sign = is_signed && word[0] == '-' ? -1 : 1;
  if (is_signed) word.remove_prefix(1);
  double number = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool digit = !word.empty() && (word[0] == '.' || (word[0] >= '0' && word[0] <= '9'));
  if (problem != std::errc() || !digit || !std::isfinite(number))
    return refused(condition.text, fmt::format(messages::diff_condition::kNotANumber,
                                               in_quotes(whole), example(unit)));
  const std::string_view suffix = trimmed(word.substr(static_cast<std::size_t>(end - word.data())));
  condition.value = sign * number;
  condition.bound = is_signed ? BoundKind::kDifference : BoundKind::kValue;
  if (suffix == "%") {
    condition.bound = BoundKind::kRelative;
    condition.value /= 100;
    return {};
  }
  if (suffix.empty() && (unit == Unit::kCount || number == 0)) return {};
  const auto row = std::find_if(kUnits.begin(), kUnits.end(),
                                [&](const UnitRow& one) { return one.name == suffix; });
  if (suffix.empty())
    return refused(condition.text,
                   fmt::format(messages::diff_condition::kNoUnit, in_quotes(whole), example(unit)));
  if (row == kUnits.end() || row->unit != unit)
    return refused(condition.text, fmt::format(messages::diff_condition::kOtherUnit,
                                               in_quotes(whole), condition.metric, example(unit)));
  condition.value *= row->factor;
  return {};
}

const ConditionMetric* find_metric(std::string_view name) {
  for (const ConditionMetric& metric : condition_metrics())
    if (metric.name == name) return &metric;
  return nullptr;
}

support::Error unknown_metric(const Condition& condition) {
  std::vector<std::string> names;
  for (const ConditionMetric& metric : condition_metrics()) names.emplace_back(metric.name);
  const std::string near = support::closest_match(condition.metric, names);
  if (near.empty())
    return refused(condition.text,
                   fmt::format(messages::diff_condition::kUnknownMetric,
                               in_quotes(condition.metric), support::join_with_and(names)));
  return refused(condition.text,
                 fmt::format(messages::diff_condition::kUnknownMetricNear,
                             in_quotes(condition.metric), near, support::join_with_and(names)));
}

}  // namespace

const std::vector<ConditionMetric>& condition_metrics() {
  static const std::vector<ConditionMetric> all = [] {
    std::vector<ConditionMetric> metrics;
    for (const StepMetric& metric : step_metrics())
      metrics.push_back({metric.name, metric.unit, false, metric.about});
    metrics.insert(
        metrics.end(),
        {{"memory_peak", Unit::kBytes, false,
          "most memory allocated at once, of the GPU that had most; without GPUs of the host"},
         {"memory_reserved", Unit::kBytes, false, "the same of what PyTorch reserved"},
         {"host_memory_peak", Unit::kBytes, false, "most memory allocated at once on the host"},
         {"operator", Unit::kTime, true, "host time in it and in what it calls"},
         {"operator_self", Unit::kTime, true, "host time in it alone"},
         {"operator_gpu", Unit::kTime, true, "GPU time of what was launched in it"},
         {"kernel", Unit::kTime, true, "GPU time of a kernel"},
         {"copy", Unit::kTime, true, "GPU time of a kind of copy or set"},
         {"calls", Unit::kCount, true, "how often an operator, kernel or copy ran"},
         {"changes", Unit::kCount, false, "significant changes, of whatever"}});
    return metrics;
  }();
  return all;
}

support::Result<Condition> parse_condition(std::string_view text) {
  Condition condition;
  condition.text = trimmed(text);
  // Names of kernels have such signs in them too.
  const std::size_t at = condition.text.find_last_of("<>");
  if (at == std::string::npos) return refused(text, messages::diff_condition::kNoComparison);
  const std::string_view all = condition.text;
  std::string_view value = all.substr(at + 1);
  condition.above = all[at] == '>';
  condition.or_equal = value.starts_with('=');
  if (condition.or_equal) value.remove_prefix(1);
  const std::string_view left = trimmed(all.substr(0, at));
  const std::size_t colon = left.find(':');
  condition.metric = trimmed(left.substr(0, colon));
  if (colon != std::string_view::npos) condition.name = trimmed(left.substr(colon + 1));
  const ConditionMetric* metric = find_metric(condition.metric);
  if (metric == nullptr) return unknown_metric(condition);
  if (metric->of_name && condition.name.empty())
    return refused(text,
                   fmt::format(messages::diff_condition::kNeedsName, metric->name, metric->name));
  if (!metric->of_name && colon != std::string_view::npos)
    return refused(text, fmt::format(messages::diff_condition::kTakesNoName, metric->name));
  GPUPROF_CHECK(read_bound(trimmed(value), metric->unit, condition));
  if (metric->name == "changes" && condition.bound != BoundKind::kValue)
    return refused(text, messages::diff_condition::kChangesAreCounted);
  return condition;
}

}  // namespace gpuprof::report::diff
