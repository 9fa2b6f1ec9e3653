// SPDX-License-Identifier: Apache-2.0
//
// The user's pending signals have reached their limit (ulimit -i): for the signal of a perf event
// that it cannot queue the kernel then sends SIGIO, whose default action ends the program.
//
// Context:  worker
// Owns:     the disposition of SIGIO, where it was the default action, from watch to unwatch
// Promises: a SIGIO that somebody sent has the effect it would have had
#pragma once

#include <signal.h>

namespace gpuprof::sample {

/// While perf events are armed. Called again, it checks whether anything has changed.
/// @return false: the program handles SIGIO itself, and would receive one that means nothing.
bool watch_sigqueue_limit();
void unwatch_sigqueue_limit();

/// Whether it was reached since the last call.
bool take_sigqueue_limit();

/// As restore_program_action, for SIGIO.
void restore_program_sigio_action(int signal, struct sigaction* action);

}  // namespace gpuprof::sample
