// SPDX-License-Identifier: Apache-2.0
//
// The rate of another clock in nanoseconds of CLOCK_MONOTONIC per tick, fitted through snapshots.
//
// Context:  daemon (ingest thread)
// Owns:     a few readings of the last seconds
// Promises: a reading that took long never makes the rate worse; follows a rate that changes
//           within seconds; bounded
// Not here: where the clocks stand (clock_segment.hpp)
#pragma once

#include <cstdint>
#include <vector>

namespace gpuprof::ingest {

class ClockFit {
 public:
  /// A reading of both clocks that took `gap_ns`.
  void add(std::uint64_t ticks, std::uint64_t mono_ns, std::uint64_t gap_ns);

  bool known() const { return rate_ > 0; }
  /// Nanoseconds a tick; 0: not known.
  double rate() const { return rate_; }
  /// Largest relative error of the rate, as the readings' gaps bound it.
  double error() const { return error_; }
  /// Time between the two readings behind the rate.
  std::uint64_t baseline_ns() const { return baseline_ns_; }

 private:
  struct Point {
    std::uint64_t ticks, mono_ns, gap_ns;
  };

  bool jumped(const Point& now) const;
  void fit(const Point& now);
  void keep(const Point& now);

  std::vector<Point> points_;
  double rate_ = 0, error_ = 1;
  std::uint64_t baseline_ns_ = 0, fitted_ns_ = 0;
};

}  // namespace gpuprof::ingest
