// SPDX-License-Identifier: Apache-2.0
//
// The seam between the simulated driver and the simulated CUPTI: a table of functions CUPTI
// installs.
//
// Context:  application threads, inside API calls
// Owns:     nothing
// Promises: with no table installed the driver pays one load per event
// Not here: the implementation of the table (cupti/driver_events.cpp)
#pragma once

#include <atomic>
#include <cstdint>

#include "core/work/operations.hpp"

namespace gpusim {

/// What an attached tool wants to hear. Every entry is set.
struct ToolHooks {
  void (*api_enter)(ApiCall& call);
  void (*api_exit)(ApiCall& call);
  /// On the launching thread, at enqueue: sets `wanted_by`. The times are not known yet.
  void (*select_op)(DeviceOp& op);
  void (*admit_graph)(GraphLaunchOp& op);
  /// Once start and end are known, on any thread.
  void (*enqueued)(const DeviceOp& op);
  void (*graph_launched)(const GraphLaunchOp& op);
  void (*synchronized)(const SyncOp& op);
  void (*resource)(const ResourceEvent& event);
  void (*driver_gone)();
};

/// Installs `hooks` for the rest of the process. Returns false if another table is already there.
bool install_hooks(const ToolHooks* hooks);

/// The installed table or null.
const ToolHooks* hooks();

/// The one profiler slot of the process. Shared by every copy of the CUPTI fake.
struct ToolSlot {
  std::atomic<bool> taken;
  char holder[64];
};
ToolSlot& tool_slot();

}  // namespace gpusim
