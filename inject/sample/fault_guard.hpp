// SPDX-License-Identifier: Apache-2.0
//
// Reads of memory that may vanish: a fault inside guarded() ends it, any other fault is the
// program's.
//
// Context:  signal | callback (guarded, guard_in_force), worker (the rest)
// Owns:     the dispositions of SIGSEGV and SIGBUS while armed
// Promises: a fault of the program's own finds the program's disposition, bit for bit, and
//           repeats under it; a signal sent by someone is sent again unchanged
#pragma once

#include <cstdint>

namespace gpuprof::sample {

/// Runs body(argument). False if it faulted: nothing after the faulting read has happened. The
/// two fault signals must not be blocked (kernel_signal.hpp).
bool guarded(void (*body)(void*), void* argument);

/// Whether faults would reach us. If not, memory that may vanish must not be read.
bool guard_in_force();

enum class GuardState { kArmed, kGivenUp };

/// Puts our handler in front of the program's where it is not yet. Again at each tick: the
/// program may have installed its own since, or had a fault of its own. kGivenUp: it handles
/// faults itself too often, or layers ran out.
GuardState arm_guard();

/// No read begins any more under the guard's protection (guard_in_force); those under way go on.
void close_guard();

/// Restores the program's dispositions where ours are still in force. None may be under way.
void disarm_guard();

}  // namespace gpuprof::sample
