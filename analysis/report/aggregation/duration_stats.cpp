// SPDX-License-Identifier: Apache-2.0
//
// Percentiles.
//
// Context:  cli
#include "analysis/report/aggregation/duration_stats.hpp"

#include <cmath>

namespace gpuprof::report {

double percentile(const std::vector<float>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return static_cast<double>(sorted.back());
  const double rest = at - static_cast<double>(below);
  const auto low = static_cast<double>(sorted[below]);
  return low + (static_cast<double>(sorted[below + 1]) - low) * rest;
}

DurationStats DurationCollector::stats() {
  DurationStats s;
  s.count = values_.size();
  if (s.count == 0) return s;
  std::sort(values_.begin(), values_.end());
  s.total_ns = total_ns_;
  s.min_ns = min_ns_;
  s.max_ns = max_ns_;
  s.mean_ns = static_cast<double>(total_ns_) / static_cast<double>(s.count);
  double squares = 0;
  for (const float value : values_) {
    const double off = static_cast<double>(value) - s.mean_ns;
    squares += off * off;
  }
  if (s.count > 1) s.stddev_ns = std::sqrt(squares / static_cast<double>(s.count - 1));
  s.p50_ns = percentile(values_, 0.5);
  s.p90_ns = percentile(values_, 0.9);
  s.p95_ns = percentile(values_, 0.95);
  s.p99_ns = percentile(values_, 0.99);
  return s;
}

}  // namespace gpuprof::report
