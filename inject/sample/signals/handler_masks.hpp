// SPDX-License-Identifier: Apache-2.0
//
// Handlers of the program that run on its alternate stacks are not interrupted by the sampling
// signal: the kernel would put a frame of 3 to 12 KiB on top of theirs, and ends the program where
// it does not fit.
//
// Context:  boundary (mask_own_signal, unmask_own_signal), worker (the rest)
// Owns:     which bits of ours are in the masks of such handlers
// Promises: the program gets its own masks where it queries the C library
// Not here: a handler that the program sets by a bare system call: it is found a second later
#pragma once

#include <signal.h>

namespace gpuprof::sample {

/// Changes what the program is about to set: the sampling signal is held back while its handler
/// runs. Boundary, also in signal handlers.
void mask_own_signal(int signal, struct sigaction* action);

/// Takes what we added out of what the program learns of that signal's action. To be called before
/// record_masked_handler of the same call. Boundary.
void unmask_own_signal(int signal, struct sigaction* action);

/// After the call. Nothing is noted of an action other than a handler with SA_ONSTACK: in a vfork
/// child, which sets none, the memory is the parent's and the dispositions are not.
/// @param asked     What the program set.
/// @param shielded  What mask_own_signal() made of it.
void record_masked_handler(int signal, const struct sigaction& asked,
                           const struct sigaction& shielded);

/// Masks the sampling signal `ours` from now on: goes through all handlers there are. 64 system
/// calls.
void mask_all_handlers(int ours);
/// Undoes all of it.
void unmask_all_handlers();
/// Whether a thread may block the sampling signal because of us. Worker.
bool any_handler_masked();
/// In a forked child, which sets its handlers as it likes; what it inherited is still shown as its
/// own. Boundary.
void reset_handler_masks_after_fork();

}  // namespace gpuprof::sample
