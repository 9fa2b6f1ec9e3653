// SPDX-License-Identifier: Apache-2.0
//
// CLOCK_MONOTONIC of one thread, read from the processor's counter for a millisecond or two and
// then compared again: reading the clock is the most expensive part of an operator's record.
//
// Context:  callback (its own thread only)
// Owns:     whether the counter may serve as a clock
// Promises: never goes back; where the kernel does not trust the counter, it is the clock itself
//           that is read, never the counter
// Not here: how the kernel is asked (clock_source.cpp)
#pragma once

#include <atomic>
#include <cstdint>

#include "gpuprof/base/clock.hpp"

namespace gpuprof::hot {

/// Whether the kernel itself keeps time by the processor's counter.
extern std::atomic<bool> g_tsc_is_trusted;

/// Checks which counter the kernel uses, each time operators are switched on. Worker.
void check_clocksource();

#if defined(__x86_64__)

/// Zeroed memory is a valid one.
class TscClock {
 public:
  std::uint64_t now_ns() {
    // Where the counter may not be read there is no slope.
    if (slope_ == 0) return resync();
    const std::uint64_t passed = read() - ticks_;
    if (passed >= kTrusted) return resync();
    const std::uint64_t now = ns_ + (passed * slope_ >> 32);
    return now > floor_ ? now : floor_;
  }

 private:
  /// The next comparison is due this many ticks after the last: a millisecond or two.
  static constexpr std::uint64_t kTrusted = std::uint64_t{1} << 22;
  /// From comparisons closer than this nothing is learnt …
  static constexpr std::uint64_t kEnough = kTrusted / 2;
  /// … nor from those further apart, in ns: the machine may have slept.
  static constexpr std::uint64_t kTooLong = std::uint64_t{1} << 31;

  static std::uint64_t read() { return __builtin_ia32_rdtsc(); }
  std::uint64_t resync();
  void calibrate(std::uint64_t ticks, std::uint64_t ns);

  std::uint64_t ticks_, ns_;  // the last comparison
  std::uint64_t slope_;       // 2^32 ns a tick; 0: not known
  std::uint64_t floor_;       // nothing later was ever returned
};

#else

class TscClock {
 public:
  std::uint64_t now_ns() { return base::mono_ns(); }
};

#endif

}  // namespace gpuprof::hot
