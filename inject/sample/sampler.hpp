// SPDX-License-Identifier: Apache-2.0
//
// Host stack sampling: one trigger per running thread, a signal-free walk for blocked ones.
//
// Context:  worker, except the fork hooks (boundary)
// Owns:     triggers (perf descriptors or timers), the signal handler, the module snapshot, from
//           prepare() to release()
// Promises: off means no signal arrives; no EINTR with perf and cpu-timer triggers
// Not here: stacks at API callbacks (launch_stack.hpp), Python frames (inject/python)
#pragma once

#include <signal.h>

#include <cstdint>

#include "gpuprof/wire/messages.hpp"

namespace gpuprof::sample {

struct Settings {
  wire::SamplerKind kind = wire::SamplerKind::kAuto;
  std::uint32_t rate_hz = 100;
  bool blocked_threads = true;
  bool native = true;
  bool python = true;
  /// CLOCK_MONOTONIC; until then, and as long as the main thread waits for a processor and has used
  /// less than 15 ms of one, the dispositions of faults stay as they are, and stacks are the
  /// program counter alone.
  std::uint64_t guard_from_ns = 0;
};

/// Builds the module snapshot, warms the unwinder and sends the module list. At the begin of each
/// session, worker.
/// Must have run before launch stacks are taken. False: no native stacks in this process.
bool prepare();

/// The realtime signal whose handler prepare() has installed; 0 before. The handler's first act,
/// before any check of its own, is hot::resume_if_parked() (inject/hot/worker/worker_thread.hpp):
/// also for signals of a POSIX timer the agent armed while no sampling is on.
int signal_number();

/// Bits of all signals by which ours may have been sent and may still be pending.
std::uint64_t own_signals();

/// A signal set that has the sampling signal but not this one means just that signal, not all.
constexpr int neighbour_signal(int ours) {
  constexpr int kFirst = 34;  // those below are the C library's, which blocks them for nobody
  return ours > kFirst ? ours - 1 : ours + 1;
}

/// A call that takes signals without a handler has taken this one: true if it is ours, which then
/// has had its effect. Any thread.
bool consume_own_signal(int signal, const siginfo_t& info);

/// Takes ours off the calling thread, where it blocks that signal; the program's stay, in their
/// order. heed: ours have their effect, as with consume_own_signal. Boundary, also in signal
/// handlers.
void discard_own_pending(int signal, bool heed = true);

/// What the C library would have returned for that signal without us: `action` is what it has
/// returned to the program. Boundary, also in signal handlers.
void restore_program_action(int signal, struct sigaction* action);

/// As signal_number(); installs the handler if there is none yet, 0 if no signal is free. Worker,
/// or boundary while the worker is parked.
int claim_signal();

/// The program is about to take that signal for itself, if only for its default action, which would
/// end the process: while samples are taken, waits until they use another one, 0.5 s at most. Keeps
/// errno. Boundary, also in signal handlers.
void yield_signal(int number);

/// The program waits for that signal, by which it was not to be disturbed: the same, but our
/// handler stays, and so does what is pending. Boundary.
void yield_signal_keep_handler(int number);

/// As yield_signal where the worker is parked, or a forked child has none yet: our handler is
/// removed and what is pending discarded, unless one of the program's is pending here: then both
/// are left, as by yield_signal_keep_handler. Boundary, also in signal handlers.
void abandon_signal(bool forked);

/// Removes the handler, where there is no session: the signal's disposition is again what it was
/// before us, a timer of worker_resume_after_cpu is deleted, nothing stays pending. Not while a
/// fork is under way: the agent may be about to arm that timer. Worker.
void release_signal();

/// Ends a session: stops, gives the signal up, disarms the fault guard, closes every descriptor,
/// unmaps lists, snapshots, caches and stacks. prepare() makes all of it again. What stays: a few
/// pages of libunwind's pools (unwind_libunwind_prepare.cpp). After hot::unpublish_segment().
/// Worker.
/// @return false: a walk is still under way after a second; its memory and the fault guard stay,
///         and the next release() takes them.
bool release();

/// Refreshes the module snapshot if the loader's add/sub counters changed, and sends what is
/// new or gone. Cheap when nothing changed.
void refresh_modules();

/// Starts or stops triggers of all threads. start() returns how it went; notices go to the outbox.
bool start(const Settings& settings);
void stop();

/// One turn while recording: thread scan, blocked threads, snapshot refresh, retire of dead
/// threads' ring buffers. Returns how long the worker may sleep, in ms.
std::uint32_t tick(std::uint64_t now_ns);

/// Gives back the ring buffers of threads that have ended, where no sampler looks at the threads.
/// Worker.
void retire_ended_threads(std::uint64_t now_ns);

/// fork: prepare stops sampling and waits (bounded) until no handler runs; the parent continues;
/// the child forgets everything and closes inherited perf descriptors.
void before_fork();
void after_fork_parent();
void after_fork_child();

}  // namespace gpuprof::sample
