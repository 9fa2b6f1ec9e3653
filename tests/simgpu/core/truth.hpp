// SPDX-License-Identifier: Apache-2.0
//
// The simulator's own log of what really happened: GPUSIM_TRUTH, JSON lines.
//
// Context:  any
// Owns:     one leaked LineLog
// Promises: written whether or not a tool is attached; independent of every CUPTI scenario
// Not here: the log of CUPTI calls (cupti/api/call.hpp)
#pragma once

#include "core/work/operations.hpp"

namespace gpusim {

/// Opens the log if one was asked for and writes the header line.
void truth_open();
/// Cuts the file to its real length.
void truth_close();
/// Whether a log is being written.
bool truth_on();

void truth_api(const ApiCall& call);
void truth_op(const DeviceOp& op);
void truth_graph(const GraphLaunchOp& op);
void truth_sync(const SyncOp& op);

/// Says once a process that `name` of `library` was called and refused with `code`.
void note_refusal(const char* library, const char* name, int code);

}  // namespace gpusim
