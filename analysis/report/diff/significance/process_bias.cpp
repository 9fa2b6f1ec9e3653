// SPDX-License-Identifier: Apache-2.0
//
// Host times that one process may take for its whole life though the program is the same.
//
// Context:  cli
#include "analysis/report/diff/significance/process_bias.hpp"

#include <algorithm>
#include <cmath>

namespace gpuprof::report::diff {

void mark_unconfirmed(Change& change) {
  if (!change.significant) return;
  const double enough = std::log(kBeyondOneProcess) + std::log1p(change.threshold);
  if (std::abs(std::log1p(change.adjusted)) >= enough) return;
  change.significant = false;
  change.is_unconfirmed = true;
}

namespace {

/// Beyond what noise explains. Where too few ranks show that for the operator, it is in the step
/// all the same.
bool differs(const NameDiff& row) {
  const Change& change = row.self;
  if (row.program_changed() || change.significant || !change.measured) return false;
  return change.is_unconfirmed || (change.threshold > 0 && std::abs(std::log1p(change.adjusted)) >=
                                                               std::log1p(change.threshold));
}

}  // namespace

/// In themselves, as times with what is called contain each other.
double unconfirmed_ns(const std::vector<NameDiff>& names, const PairedValues& step) {
  const double before = median(step.before), after = median(step.after);
  double ns = 0;
  for (const NameDiff& row : names)
    if (differs(row)) ns += row.self.share_after * after - row.self.share_before * before;
  return ns;
}

void mark_step_unconfirmed(Change& change, const PairedValues& pair,
                           const SignificanceOptions& judging, double ns) {
  if (!change.significant || ns == 0) return;
  PairedValues rest = pair;
  for (double& value : rest.after) value = std::max(1.0, value - ns);
  rest.derive();
  const Change left = test_significance(rest, judging);
  const bool remains = left.significant && left.difference() * change.difference() > 0 &&
                       std::abs(left.relative) >= judging.limits.change;
  change.significant = remains;
  change.is_unconfirmed = !remains;
}

}  // namespace gpuprof::report::diff
