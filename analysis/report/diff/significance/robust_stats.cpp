// SPDX-License-Identifier: Apache-2.0
//
// Statistics that a few odd steps cannot spoil.
//
// Context:  cli
#include "analysis/report/diff/significance/robust_stats.hpp"

#include <algorithm>
#include <cmath>

namespace gpuprof::report::diff {
namespace {

/// Twice the rank of each value among all; equal ones share the mean of theirs.
std::vector<std::size_t> double_ranks(const Values& all) {
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return all[a] < all[b]; });
  std::vector<std::size_t> ranks(all.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && all[order[end]] == all[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = i + end + 1;
    i = end;
  }
  return ranks;
}

/// In how many ways `selected` of the ranks add up to each sum.
std::vector<double> ways(const std::vector<std::size_t>& ranks, std::size_t selected,
                         std::size_t sum) {
  const std::size_t row = sum + 1;
  std::vector<double> table((selected + 1) * row, 0);
  double* const cells = table.data();
  cells[0] = 1;
  std::size_t taken = 0, reach = 0;  // ranks so far, and what they add up to
  for (const std::size_t rank : ranks) {
    reach += rank;
    taken = std::min(taken + 1, selected);
    for (std::size_t n = taken; n > 0; --n) {
      double* const to = cells + n * row;
      const double* const from = to - row;
      for (std::size_t at = rank; at <= reach; ++at) to[at] += from[at - rank];
    }
  }
  return {cells + selected * row, cells + (selected + 1) * row};
}

}  // namespace

double quantile(Values values, double share) {
  if (values.empty()) return 0;
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(low);
  std::nth_element(values.begin(), middle, values.end());
  if (low + 1 >= values.size()) return *middle;
  const double next = *std::min_element(middle + 1, values.end());
  return *middle + (at - static_cast<double>(low)) * (next - *middle);
}

double relative_spread(const Values& values) {
  constexpr double kQuartersOfNormal = 1.349;
  const double middle = median(values);
  if (middle == 0) return 0;
  return (quantile(values, 0.75) - quantile(values, 0.25)) / kQuartersOfNormal / std::abs(middle);
}

double weighted_median(std::vector<Weighted> values) {
  const auto less = [](const Weighted& a, const Weighted& b) { return a.value < b.value; };
  if (!std::is_sorted(values.begin(), values.end(), less))
    std::sort(values.begin(), values.end(), less);
  double all = 0, reached = 0;
  for (const Weighted& one : values) all += one.weight;
  for (const Weighted& one : values) {
    reached += one.weight;
    if (reached >= all / 2) return one.value;
  }
  return 0;
}

double lower_median(Values values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Values block_medians(const Values& values) {
  const std::size_t blocks = std::min(kMaxBlocks, values.size());
  Values medians;
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto from = static_cast<std::ptrdiff_t>(i * values.size() / blocks);
    const auto to = static_cast<std::ptrdiff_t>((i + 1) * values.size() / blocks);
    medians.push_back(median({values.begin() + from, values.begin() + to}));
  }
  return medians;
}

double rank_test(const Values& before, const Values& after) {
  if (before.empty() || after.empty()) return 1;
  Values all = before;
  all.insert(all.end(), after.begin(), after.end());
  const std::vector<std::size_t> ranks = double_ranks(all);
  std::size_t sum = 0, mine = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    sum += ranks[i];
    if (i < before.size()) mine += ranks[i];
  }
  const double mean = static_cast<double>(sum) * static_cast<double>(before.size()) /
                      static_cast<double>(all.size());
  const double distance = std::abs(static_cast<double>(mine) - mean) - 1e-9;
  const std::vector<double> counts = ways(ranks, before.size(), sum);
  double as_far = 0, every = 0;
  for (std::size_t at = 0; at < counts.size(); ++at) {
    every += counts[at];
    if (std::abs(static_cast<double>(at) - mean) >= distance) as_far += counts[at];
  }
  return as_far / every;
}

double min_p_value(std::size_t before, std::size_t after) {
  double ways = 1;
  for (std::size_t i = 1; i <= before; ++i)
    ways *= static_cast<double>(after + i) / static_cast<double>(i);
  return std::min(1.0, 2 / ways);
}

}  // namespace gpuprof::report::diff
