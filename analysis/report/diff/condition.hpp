// SPDX-License-Identifier: Apache-2.0
//
// Conditions such as `step_time > +5%`, for --fail-if.
//
// Context:  cli
// Owns:     nothing
// Promises: a condition about the change of a time holds only if the change is significant
// Not here: metrics by step (metrics.hpp)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/diff/data/diff.hpp"
#include "analysis/report/diff/data/metrics.hpp"
#include "support/result.hpp"

namespace gpuprof::report::diff {

enum class BoundKind : std::uint8_t {
  kRelative,    // +5%: of the value before
  kDifference,  // +2ms: after less before
  kValue,       // 20ms: after
};

struct Condition {
  std::string text;    // as written
  std::string metric;  // before a colon
  std::string name;    // after it
  bool above = true, or_equal = false;
  BoundKind bound = BoundKind::kRelative;
  double value = 0;  // a ratio less 1; ns, bytes or a count
};

/// A metric that conditions may name; docs/diff.md lists them from here.
struct ConditionMetric {
  std::string_view name;
  Unit unit;
  bool of_name;  // needs `:NAME`
  std::string_view about;
};
const std::vector<ConditionMetric>& condition_metrics();

/// Errors: one sentence: what of it is not understood, and what would be.
support::Result<Condition> parse_condition(std::string_view text);

/// A sentence for each process in which it holds, in every pair of recordings.
///
/// Errors: the metric was not recorded; no such name, or several.
support::Result<std::vector<std::string>> evaluate_condition(const Condition& condition,
                                                             const Diff& diff);

}  // namespace gpuprof::report::diff
