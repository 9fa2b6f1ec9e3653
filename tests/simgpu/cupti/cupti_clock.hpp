// SPDX-License-Identifier: Apache-2.0
//
// The clock of records: REALTIME, or whatever timestamp callback a client registered.
//
// Context:  any
// Owns:     one leaked calibration for each client
// Promises: converts CLOCK_MONOTONIC piece by piece from the registration on, the same time always
//           to the same value; a registered callback also governs cuptiGetTimestamp
// Not here: device time (core/work/timeline.hpp)
#pragma once

#include <cstdint>

namespace gpusim {

using TimestampFunction = std::uint64_t (*)();

/// Switches to `function` from now on; null goes back to REALTIME.
void set_timestamp_function(TimestampFunction function);

/// What cuptiGetTimestamp returns.
std::uint64_t cupti_now();

/// Both ends of a record.
struct TimeSpan {
  std::uint64_t start, end;
};

/// Monotonic times in the current record clock, both by one state of it: nothing that is learned
/// of the clock meanwhile comes between them. 0 stays 0.
TimeSpan to_cupti(std::uint64_t start_ns, std::uint64_t end_ns);

/// Called once per record: starts the tsc-clock and realtime-step scenarios when their time has
/// come.
void apply_clock_scenarios();

}  // namespace gpusim
