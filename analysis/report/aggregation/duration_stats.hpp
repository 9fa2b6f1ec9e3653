// SPDX-License-Identifier: Apache-2.0
//
// How long things of one kind took: count, sum, extremes and percentiles.
//
// Context:  cli
// Owns:     DurationCollector: 4 bytes a value
// Promises: sums and extremes are exact, percentiles to the 24 bits of a float
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gpuprof::report {

struct DurationStats {
  std::uint64_t count = 0, total_ns = 0, min_ns = 0, max_ns = 0;
  double mean_ns = 0, stddev_ns = 0;
  /// Interpolated between the two nearest values, as numpy.percentile does.
  double p50_ns = 0, p90_ns = 0, p95_ns = 0, p99_ns = 0;
};

class DurationCollector {
 public:
  void add(std::uint64_t ns) {
    values_.push_back(static_cast<float>(ns));
    total_ns_ += ns;
    min_ns_ = std::min(min_ns_, ns);
    max_ns_ = std::max(max_ns_, ns);
  }
  std::uint64_t count() const { return values_.size(); }
  std::uint64_t total_ns() const { return total_ns_; }
  /// Sorts the values.
  DurationStats stats();

 private:
  std::vector<float> values_;
  std::uint64_t total_ns_ = 0, min_ns_ = ~0ULL, max_ns_ = 0;
};

/// Of sorted values, 0 ≤ share ≤ 1; 0 for none.
double percentile(const std::vector<float>& sorted, double share);

}  // namespace gpuprof::report
