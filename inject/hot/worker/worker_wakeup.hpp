// SPDX-License-Identifier: Apache-2.0
//
// Wakes the worker where it waits for descriptors rather than for the plan's futex word.
//
// Context:  signal_wakeup: signal | callback | boundary; the rest: worker
// Promises: a signal_wakeup() after wakeup_count() ends the wait that follows; one while nobody
//           waits costs no system call
//
// Why a signal: the worker has its own table of descriptors, so no thread of the program can write
// to one of them. SIGURG is ignored by default, so that one sent too late does no harm.
#pragma once

#include <signal.h>

#include <cstdint>

namespace gpuprof::hot {

inline constexpr int kWakeupSignal = SIGURG;

/// Makes a wait for a wakeup that is in progress, or about to begin, return. Keeps errno.
void signal_wakeup();

/// How often signal_wakeup() was called; read before checking what it may have been called for.
std::uint32_t wakeup_count();

/// Marks the worker as waiting. False: signal_wakeup() was called since `seen`, do not wait.
bool begin_wakeup_wait(std::uint32_t seen);
void end_wakeup_wait();

}  // namespace gpuprof::hot
