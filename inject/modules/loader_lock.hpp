// SPDX-License-Identifier: Apache-2.0
//
// Whether somebody is inside dlopen or dlclose.
//
// Context:  worker
// Owns:     the address of the loader's lock, once it was found
// Promises: the lock is read, never taken, where it was found
//
// Why not take it: it is held while constructors run, however long they take, and one of them may
// wait for what waits for us (a fork, for instance).
#pragma once

#include <cstdint>

namespace gpuprof::modules {

/// Whether every load that was under way when this began is over. Polls for a quarter of a
/// millisecond at most; waits for these loads only where the lock was not found.
bool pending_loads_done();

enum class LockState : std::uint8_t { kFree, kHeld, kNotFound };

/// The loader's lock at this moment.
LockState loader_lock_state();

}  // namespace gpuprof::modules
