// SPDX-License-Identifier: Apache-2.0
//
// The simulated driver's process-wide state: devices, ids, the current context of each thread,
// start and end.
//
// Context:  application threads
// Owns:     one leaked Driver
// Promises: `initialize` runs once; a forked child of an initialised parent sees an unusable driver
// Not here: streams and time (timeline.hpp)
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/objects.hpp"

namespace gpusim {

/// Everything global in the driver.
struct Driver {
  std::atomic<int> state;     ///< 0 untouched, 1 initialised, 2 gone
  std::atomic<bool> started;  ///< cuInit has returned, or is about to
  int pid;
  int device_count;
  Device* devices[kMaxDevices];
  std::mutex mutex;  ///< guards contexts and ids that are not atomic
  std::vector<Context*> contexts;
  std::atomic<std::uint32_t> next_correlation;
  std::atomic<std::uint32_t> next_context_id, next_event_id, next_graph_id;
  std::atomic<std::uint64_t> next_grid_id, next_sync_id, next_node_id, next_capture_id;
};

Driver& driver();

/// What cuInit does: devices, exit handler, injection library. Returns a CUresult value.
int initialize_driver();

/// CUresult value that every call but cuInit starts with: 0 when usable.
int driver_status();

/// Whether the process was forked from one that had initialised the driver.
bool forked_child();

/// Stack of current contexts of the calling thread.
Context* current_context();
void set_current_context(Context* context);
bool push_context(Context* context);
Context* pop_context();

/// Creates a context on `device` and reports it.
Context* create_context(Device* device, unsigned flags, bool primary);
void destroy_context(Context* context);

/// Same pointer for the same text, for ever.
const char* intern(const char* text);

/// CUDA version number shown by the driver (for example 13000).
int driver_version();

}  // namespace gpusim
