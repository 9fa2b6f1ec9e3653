// SPDX-License-Identifier: Apache-2.0
//
// Is a difference of times a change, or what steps and machines differ by anyway?
//
// Context:  cli
#include "analysis/report/diff/significance/significance.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gpuprof::report::diff {
namespace {

/// As a logarithm: beyond it, times tell nothing.
constexpr double kMaxThreshold = 3;
/// Standard deviations of what the others did. Few others tell it badly, so it is more than usual.
constexpr double kDeviations = 4;
constexpr double kNormalByMedian = 1.4826;
/// Of all tests made side by side together.
constexpr double kFalseAlarms = 0.01;
/// Before the common factor is taken out, a change must be so much of what can be reported.
constexpr double kMinRawChange = 0.6;
/// … and so much of that factor: the more machines differ, the less alike for all.
constexpr double kMinShareOfShift = 0.5;
/// Of a change in the middle, the fastest quarter of the steps must show so much.
constexpr double kMinInFastSteps = 0.5;

/// Steps on each side, at least.
constexpr std::size_t kMinBlocks = 3;

double log_of_ratio(double after, double before) {
  return after > 0 && before > 0 ? std::log(after / before) : 0;
}

/// Too few steps for ranks to tell anything: one side must lie wholly above the other.
bool apart(const Values& before, const Values& after) {
  const auto [low_a, high_a] = std::minmax_element(before.begin(), before.end());
  const auto [low_b, high_b] = std::minmax_element(after.begin(), after.end());
  return *high_a < *low_b || *high_b < *low_a;
}

}  // namespace

void PairedValues::derive() {
  log_ratio = log_of_ratio(median(after), median(before));
  spread = std::max(kMinSpread, (relative_spread(before) + relative_spread(after)) / 2);
  share = std::sqrt(share_before * share_after);
}

ReferenceShift reference_of(const std::vector<const PairedValues*>& others) {
  ReferenceShift reference;
  std::vector<Weighted> ratios;
  Values deviations;
  for (const PairedValues* one : others) {
    if (one->share < kReferenceShare) continue;
    ratios.push_back({one->log_ratio, std::sqrt(one->share)});
  }
  reference.names = ratios.size();
  if (ratios.size() < kMinReferences) return reference;
  reference.log_factor = weighted_median(ratios);
  for (const PairedValues* one : others) {
    if (one->share < kReferenceShare) continue;
    deviations.push_back(std::abs(one->log_ratio - reference.log_factor) / one->spread);
  }
  reference.deviation = kNormalByMedian * lower_median(std::move(deviations));
  return reference;
}

Change test_significance(const PairedValues& pair, const SignificanceOptions& judging) {
  Change change;
  change.measured = true;
  change.before = median(pair.before);
  change.after = median(pair.after);
  change.before_spread = relative_spread(pair.before);
  change.after_spread = relative_spread(pair.after);
  change.share_before = pair.share_before;
  change.share_after = pair.share_after;
  if (change.before <= 0 || change.after <= 0) return change;
  const ReferenceShift& reference = judging.reference;
  const double raw = pair.log_ratio, adjusted = raw - reference.log_factor;
  const double factor = std::exp(reference.log_factor);
  change.relative = std::expm1(raw);
  change.adjusted = std::expm1(adjusted);
  double least = std::log1p(judging.limits.change);
  if (judging.unknown_machine) least *= 2;

  Values after = pair.after;
  for (double& value : after) value /= factor;
  const Values blocks_before = block_medians(pair.before), blocks_after = block_medians(after);
  change.p_value = rank_test(blocks_before, blocks_after);
  const Values measured = block_medians(pair.after);
  change.is_separated =
      blocks_before.size() >= kMinBlocks && measured.size() >= kMinBlocks &&
      (apart(blocks_before, measured) || rank_test(blocks_before, measured) <= kFalseAlarms);
  const double needed = kFalseAlarms / static_cast<double>(std::max<std::size_t>(1, judging.tests));
  const bool few = min_p_value(blocks_before.size(), blocks_after.size()) > needed;
  if (few) least *= 2;
  double noise = std::max(kDeviations * reference.deviation, judging.own_spreads);
  if (few) noise *= 1.5;
  const double spread = std::max(pair.spread, judging.least_spread);
  const double limit = std::min(kMaxThreshold, std::max(least, noise * spread));
  change.threshold = std::expm1(limit);

  const double fast = log_of_ratio(quantile(after, 0.25), quantile(pair.before, 0.25));
  const bool large = std::abs(adjusted) >= limit &&
                     std::abs(change.adjusted) * pair.share_before >= judging.limits.share;
  const double common = kMinShareOfShift * std::abs(reference.log_factor);
  const bool left = raw * adjusted > 0 && std::abs(raw) >= std::max(kMinRawChange * limit, common);
  const bool everywhere =
      fast * adjusted > 0 && std::abs(fast) >= kMinInFastSteps * std::abs(adjusted);
  const bool ranked = few ? blocks_before.size() >= kMinBlocks &&
                                blocks_after.size() >= kMinBlocks &&
                                apart(blocks_before, blocks_after)
                          : change.p_value <= needed;
  change.significant = large && left && everywhere && ranked;
  return change;
}

}  // namespace gpuprof::report::diff
