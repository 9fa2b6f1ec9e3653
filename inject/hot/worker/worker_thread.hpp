// SPDX-License-Identifier: Apache-2.0
//
// The worker thread: can be parked (the kernel thread is gone) and resumed from any context.
//
// Context:  start, park: boundary; resume: signal | callback | boundary; the rest: worker
// Owns:     the thread's stack and thread-local block, for the life of the process
// Promises: parked means that the kernel no longer counts the thread; resume allocates nothing
//           and takes no lock, so a signal handler may do it, also in a forked child
#pragma once

#include <cstdint>

#include "inject/hot/state.hpp"

namespace gpuprof::hot {

/// Starts the thread with every signal blocked. `body` returns true to park (it is called again
/// from its beginning at each resume) or false to end for good. Boundary. False: no thread could
/// be made.
/// @param first_wait_ns  It sleeps this long (below 1 s) before it begins: it takes no processor
///                       from a caller in a hurry.
/// @param asks_loader    The caller may wait for the loader's lock; else the new thread does.
bool worker_start(bool (*body)(), long first_wait_ns = 0, bool asks_loader = true);

/// Waits, 20 ms at most, until the thread that glibc made for it has ended: a setuid that is called
/// at the moment it ends may wait for it for ever. Boundary.
void worker_wait_for_clone();

/// Whether that thread is gone, for the kernel, too.
bool worker_is_cloned();

/// True in the worker when it should return from `body` soon so that it can be parked.
bool worker_park_wanted();

/// For what fails, ends or causes a warning when there is a second thread.
inline constexpr std::uint32_t kStarvationLimitMs = 10'000;

/// Asks the worker to park and waits until the kernel thread is gone. Until
/// worker_allow_resume() nothing resumes it, whatever signal still arrives.
/// @param starved_ms  Additional time to wait, while the thread is at work (Deadline): for what
///                    must not continue beside it.
/// @return false if it did not within `deadline_ms`; it keeps running then.
bool worker_park(std::uint32_t deadline_ms, std::uint32_t starved_ms = 0);
void worker_allow_resume();

bool worker_parked();

/// Like park, but the kernel thread stays: it pauses at a place where it holds no lock, until
/// worker_unpause(). For forks of programs that do not mind a second thread. Boundary.
/// @param starved_ms  As worker_park's.
/// @return false if it did not pause within `deadline_ms`; it keeps running then.
bool worker_pause(std::uint32_t deadline_ms, std::uint32_t starved_ms = 0);
void worker_unpause();

/// Whether it is paused: the kernel still counts it then.
bool worker_is_paused();

/// Where the worker pauses if that was requested. Worker.
void worker_pause_point();

/// Runs the parked thread again. Does nothing unless parked. True if it runs.
bool worker_resume();

/// What resume_if_parked() calls; set once by the agent before the handler exists.
using ResumeHook = void (*)();
extern ResumeHook g_resume_hook;

/// First thing in the sampling signal handler: runs the parked worker again. Signal.
inline void resume_if_parked() {
  if (worker_parked() && g_resume_hook != nullptr) g_resume_hook();
}

/// The same from a callback, for a fork in a thread that does nothing more. Callback.
inline void resume_after_fork() {
  if (g_state.parked_by_fork.load(std::memory_order_relaxed)) [[unlikely]]
    resume_if_parked();
}

/// Arms a one-shot timer on the calling thread's CPU clock that raises `signal` there, whose
/// handler calls resume_if_parked(), in place of one that is armed already. What fires before
/// worker_allow_resume() is lost. Never interrupts a sleeping thread. Boundary, while the worker is
/// parked. False: there can be no such timer now.
bool worker_resume_after_cpu(std::uint64_t cpu_ns, int signal);

/// The value that its signal carries.
inline const void* resume_cookie() { return &g_resume_hook; }

/// The timer has fired or is not needed. Signal | worker.
void worker_clear_resume_timer();

/// It will not fire any more; what it has raised already may be pending. Boundary, also in signal
/// handlers.
/// @return whether there is such a timer.
bool worker_delete_resume_timer();

/// Where the C library's record of a thread keeps the kernel's id for it, in bytes from what
/// pthread_self points to; 0 unknown. Worker | boundary.
std::uint32_t glibc_tid_offset();

/// In a forked child: the thread counts as parked if it was parked or paused before the fork, else
/// as lost (worker_start makes a new one). Boundary.
void worker_after_fork_child();

}  // namespace gpuprof::hot
