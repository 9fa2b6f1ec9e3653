// SPDX-License-Identifier: Apache-2.0
//
// What happens to a record between the truth and the client's buffer.
//
// Context:  application threads and the worker
// Owns:     the records held back by the shuffled scenario
// Promises: without a scenario every record passes unchanged
// Not here: scenarios of buffers (completion.cpp) and clocks (cupti_clock.cpp)
#pragma once

#include <cstdint>

#include "cupti/records.hpp"

namespace gpusim {

/// Delivers a device operation as the scenarios want it.
void deliver_operation(const DeviceOp& op, std::uint32_t kind);

/// Delivers an API record together with its external-correlation records.
void deliver_api(const ApiCall& call);

/// Whether an API callback is made; counts the calls.
bool should_call_back();

/// Whether the callback at a call's exit is made.
bool should_report_return();

/// Delivers device records that the shuffled scenario kept back.
void deliver_withheld();

}  // namespace gpusim
