// SPDX-License-Identifier: Apache-2.0
//
// How long until the ring buffers are drained again.
//
// Context:  daemon (ingest thread)
// Owns:     one number
// Promises: at the rate of the last drain no ring buffer holds more than an eighth by the next
//           (small operators one after another are three records a microsecond, a ring buffer in 5
//           ms), unless that is nearer than 1 ms; a quiet target costs a drain each 3 ms
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpuprof::session {

class DrainPace {
 public:
  static constexpr std::uint64_t kMinPeriodNs = 1'000'000;
  static constexpr std::uint64_t kMaxPeriodNs = 3'000'000;
  /// What the fullest ring buffer may hold by the next drain, at the rate of the last.
  static constexpr std::uint64_t kWantedPercent = 12;

  /// From the end of one drain to the next, in nanoseconds.
  std::uint64_t period_ns() const { return period_ns_; }

  /// A drain found the fullest ring buffer filled so far, `gap_ns` after the one before. Down at
  /// once, up by at most twice: a burst is rarely the last.
  void drained(std::uint64_t gap_ns, std::uint64_t fullest_percent) {
    const std::uint64_t most_ns = std::min(kMaxPeriodNs, 2 * period_ns_);
    if (fullest_percent != 0)
      period_ns_ = gap_ns * kWantedPercent / fullest_percent;
    else
      period_ns_ = most_ns;
    period_ns_ = std::clamp(period_ns_, kMinPeriodNs, most_ns);
  }

 private:
  std::uint64_t period_ns_ = kMaxPeriodNs;
};

}  // namespace gpuprof::session
