// SPDX-License-Identifier: Apache-2.0
//
// Records that are not ready yet, and the worker that moves them into buffers when they are.
//
// Context:  application threads and the worker
// Owns:     operations between enqueue and delivery; one worker thread for each client, all signals
//           blocked
// Promises: what was enqueued while its kind was on is delivered, also if the kind is off by then
// Not here: buffers (buffers.hpp)
#pragma once

#include <cstdint>

#include "cupti/records.hpp"

namespace gpusim {

/// Keeps a device operation until its end. `kind` was decided by the caller, at enqueue.
void defer_operation(const DeviceOp& op, std::uint32_t kind);
/// Keeps a whole-graph operation until its end.
void defer_graph(const GraphLaunchOp& op);
/// Keeps a finished record until `release_ns`.
void defer_record(const Record& record, std::uint64_t release_ns);

/// Moves everything that has ended into buffers; with `forced` everything.
void deliver_ready(bool forced);

/// cuptiActivityFlushAll.
void flush(bool forced);

/// Starts the worker if it does not run.
void start_worker();
/// Wakes the worker.
void wake_worker();
/// Drops what is held (cuptiFinalize, driver gone).
void discard_pending();

}  // namespace gpusim
