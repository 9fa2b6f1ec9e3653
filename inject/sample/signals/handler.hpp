// SPDX-License-Identifier: Apache-2.0
//
// The sampling signal and its handler.
//
// Context:  signal (the handler), worker (the rest)
// Owns:     the disposition of one realtime signal, from install_handler to remove_handler
// Promises: a signal of the same number that is not ours has the effect it would have had
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>

#include "inject/sample/unwind/stack_capture.hpp"

namespace gpuprof::sample {

/// What the handler needs to know; the worker fills it before the first signal.
struct HandlerSettings {
  StackParts parts;
  std::uint64_t period_ns = 0;  // weight of a thread's first sample
};

/// Chooses a realtime signal near SIGRTMAX that nobody handles and installs the handler.
/// @param except  A signal that it must not be.
/// @return the signal, 0 if none is free.
int install_handler(int except = 0);
int sampling_signal();

/// Puts back what was there before, if the program has not put its own there since. Nothing of ours
/// may send that signal any more; what is still pending is discarded.
/// @param forget_pending  False: nothing of ours can be pending.
void remove_handler(bool forget_pending = true);

/// Installs a handler of ours for that signal: everything but the faults is blocked in it, since a
/// fault must reach the guard. Worker, or boundary while the worker is parked.
/// @param replaced  What stood there; may be null.
void set_own_handler(int signal, void (*handler)(int, siginfo_t*, void*),
                     struct sigaction* replaced = nullptr);

/// Whether the program has put its own handler there since.
bool handler_was_replaced();

/// The signal is the program's from now on, and what is pending stays pending; our handler stays,
/// for those of ours that are. install_handler() finds another signal then.
void retire_handler();
/// Puts back what was there before, for all signals that were retired. Nothing of ours may send
/// these any more. Where one is pending on a thread, the program's or ours, the handler stays until
/// the next call: for the program's it does what would have happened without us.
void remove_retired_handlers();

/// From now on (or no longer) signals of ours become samples.
void enable_handler(const HandlerSettings& settings);
void disable_handler();

/// Discards signals that are pending anywhere in the process: a thread that waits for all signals
/// must not receive one of ours.
/// @return false: the program's own would be among them; nothing was done.
bool discard_pending_signals();

/// Signals to thread `tid` carry this where the trigger can choose a value.
void* signal_cookie(pid_t tid);

/// Samples are held back while a fork is under way. Boundary.
void suspend_handler(bool held);

}  // namespace gpuprof::sample
