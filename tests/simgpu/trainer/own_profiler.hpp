// SPDX-License-Identifier: Apache-2.0
//
// A profiler that the program brings itself, as torch.profiler does: CUPTI's activity interface, no
// subscriber, or one that it keeps.
//
// Context:  the training thread; CUPTI's threads in the buffer callbacks
// Owns:     the buffers it hands out; leaked with the process
// Promises: its calls are looked up in the global scope, so that a preloaded wrapper sees them
// Not here: when it starts and stops (worker.cpp)
#pragma once

namespace trainer {

/// Starts a session. Returns false if the process has no CUPTI, or its slot is taken.
/// @param subscribes  It takes the slot first, and keeps it until the process ends.
bool start_own_profiler(bool subscribes);
/// Ends it: kinds off first (but for kernels, if asked), then a forced flush.
void stop_own_profiler(bool keep_kernels);
/// Kernel records it received in all its sessions.
long own_profiler_kernels();

}  // namespace trainer
