// SPDX-License-Identifier: Apache-2.0
//
// Statistics that a few odd steps cannot spoil.
//
// Context:  cli
// Owns:     nothing
// Promises: no assumption about how values are distributed; what needs values and gets none is 0
#pragma once

#include <cstddef>
#include <vector>

namespace gpuprof::report::diff {

using Values = std::vector<double>;

/// Interpolated between the two nearest values; 0 ≤ share ≤ 1.
double quantile(Values values, double share);
inline double median(Values values) { return quantile(std::move(values), 0.5); }

/// From the first to the third quarter, as standard deviations of a normal distribution, by the
/// median.
double relative_spread(const Values& values);

struct Weighted {
  double value, weight;
};
/// The value at which half of the weight is reached.
double weighted_median(std::vector<Weighted> values);
/// The same where all weigh alike: of an even number the lower one of the two in the middle.
double lower_median(Values values);

/// Medians of consecutive parts of about equal size, at most kMaxBlocks. Neighbouring steps are
/// alike, so that their ranks alone would claim too much.
Values block_medians(const Values& values);
inline constexpr std::size_t kMaxBlocks = 10;

/// Two-sided p of the exact rank test (Mann and Whitney's, ties counted as they are): how often
/// values dealt out by chance would differ in rank as much. At most 32 values in all.
double rank_test(const Values& before, const Values& after);
/// The smallest p that so many values can give.
double min_p_value(std::size_t before, std::size_t after);

}  // namespace gpuprof::report::diff
