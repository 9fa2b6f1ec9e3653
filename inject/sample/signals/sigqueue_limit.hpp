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

/// While perf events are armed. Called again, it looks whether anything has changed.
/// @return false: the program handles SIGIO itself, and would be given one that means nothing.
bool watch_queue_end();
void unwatch_queue_end();

/// Whether it was reached since the last call.
bool take_queue_end();

/// As show_programs_action, of SIGIO.
void show_programs_io_action(int signal, struct sigaction* action);

}  // namespace gpuprof::sample
