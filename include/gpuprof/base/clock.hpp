// SPDX-License-Identifier: Apache-2.0
//
// The clocks of a trace, read through the vDSO.
//
// Context:  any (signal-safe: no state, no lock)
#pragma once

#include <time.h>

#include <cstdint>

namespace gpuprof::base {

inline std::uint64_t clock_ns(clockid_t id) {
  timespec ts;
  clock_gettime(id, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(ts.tv_nsec);
}

/// CLOCK_MONOTONIC in ns: the one time base of everything the daemon stores.
inline std::uint64_t mono_ns() { return clock_ns(CLOCK_MONOTONIC); }

/// CLOCK_REALTIME in ns since the epoch: CUPTI's default clock.
inline std::uint64_t real_ns() { return clock_ns(CLOCK_REALTIME); }

inline std::uint64_t boot_ns() { return clock_ns(CLOCK_BOOTTIME); }

}  // namespace gpuprof::base
