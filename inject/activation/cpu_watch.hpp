// SPDX-License-Identifier: Apache-2.0
//
// For programs that give no other reason to wake, but work: the agent wakes when one of their
// threads has used some CPU time. Until then there is no thread, descriptor or socket of ours.
//
// Context:  boundary, except where stated
// Owns:     a timer on the CPU clock of each thread that is watched; the action of kCpuWatchSignal
// Promises: never interrupts a sleeping call: a thread's CPU timer expires while it runs; nothing
//           stays pending, since no call of the C library blocks that signal, nor can one change
//           its action
// Not here: whether the interrupted code may be disturbed (safe_point.hpp), the handler
//           (cpu_watch_handler.cpp)
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

#include "inject/sample/signals/alt_stacks.hpp"

namespace gpuprof::wake {

/// A process that keeps running uses this much soon; `/bin/true` and `[` in a shell script never
/// do.
inline constexpr std::uint64_t kActivationCpuNs = 10'000'000;

/// The first realtime signal, which the C library keeps for pthread_cancel: it refuses to block it
/// and to set its action, and leaves it out of "all signals". Go, whose runtime handles every other
/// signal, leaves it alone for the same reason. The C library's own handler, set by the first
/// pthread_cancel, ignores a signal from a timer.
inline constexpr int kCpuWatchSignal = 32;

/// What is called once a thread has used kActivationCpuNs: on that thread, where it may call
/// pthread_create, on a stack with some 100 KiB of room. May be called several times.
using Hook = void (*)();

/// Watches the calling thread and those that are created from now on. Constructor, or forked child.
/// @param process  getpid().
void start_cpu_watch(Hook hook, int process);

extern std::atomic<bool> g_watching;
inline bool watching() { return g_watching.load(std::memory_order_relaxed); }

/// From now on no signal has an effect; the timers stay until stop_cpu_watch(). Any context.
void ignore_cpu_watch();

/// Deletes all timers. The action of the signal stays: another one's could come too late for one
/// under way.
void stop_cpu_watch();

/// The same where the program is about to restrict itself; does nothing in a vfork child, whose
/// memory is its parent's.
void stop_cpu_watch_unless_vfork();

/// In a forked child, which inherits no timer.
void reset_cpu_watch_after_fork();

/// pthread_create is about to be called in a process that is watched: wakes the agent if the
/// process has worked already, whatever its threads were interrupted in.
void on_new_thread();

/// The calling thread has that alternate stack now. Ends the watch where a frame of ours might land
/// on top of one of the program's handlers on a stack that has no room for both. Keeps errno.
void on_alt_stack(const stack_t& stack);

using sample::ThreadStart;
/// Keeps it for a new thread, which begins with begin_thread_start(). Null: no room, the thread is
/// not watched.
void* reserve_thread_start(const ThreadStart& start);
void cancel_thread_start(void* reserved);
/// On the new thread: watches it.
ThreadStart begin_thread_start(void* reserved);

}  // namespace gpuprof::wake
