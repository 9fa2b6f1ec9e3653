// SPDX-License-Identifier: Apache-2.0
//
// Clock snapshots: CUPTI's clock and ours, from which the daemon converts record times.
//
// Context:  worker | our flush thread
// Promises: of several tries, the reading with the smallest gap; detects a foreign clock
// Not here: the conversion (daemon)
#pragma once

#include "gpuprof/wire/records.hpp"
#include "inject/cupti/library/api.hpp"

namespace gpuprof::cupti {

/// Reads all clocks; cupti_ns is 0 if CUPTI does not return a time.
wire::ClockSync read_clocks(const Api& api);

/// More than a second from CLOCK_REALTIME: someone registered a timestamp callback.
bool is_foreign(std::uint64_t cupti_ns, std::uint64_t real_ns);

/// Reads and pushes one. @return whether the clock is a foreign one.
bool record_clock(const Api& api);

}  // namespace gpuprof::cupti
