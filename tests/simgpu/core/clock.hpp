// SPDX-License-Identifier: Apache-2.0
//
// Host time for the simulated GPU: one monotonic line, waiting and spinning on it.
//
// Context:  any
// Owns:     nothing
// Promises: every internal time is CLOCK_MONOTONIC nanoseconds
// Not here: the CUPTI clock (cupti/cupti_clock.hpp)
#pragma once

#include <cstdint>
#include <ctime>

namespace gpusim {

/// Reads a POSIX clock in nanoseconds.
inline std::uint64_t read_clock_ns(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

/// Now, on the internal line.
inline std::uint64_t now_ns() { return read_clock_ns(CLOCK_MONOTONIC); }

/// Sleeps until 50 us before `deadline_ns`, then yields until it has passed.
void wait_until(std::uint64_t deadline_ns);

/// Burns CPU until `deadline_ns` has passed.
void spin_until(std::uint64_t deadline_ns);

/// The kernel's id of the calling thread, cached per thread.
std::uint32_t current_tid();

}  // namespace gpusim
