// SPDX-License-Identifier: Apache-2.0
//
// The agent: one per process, decides when this library wakes, what it switches on, when it
// detaches.
//
// Context:  boundary, except where stated
// Owns:     the worker thread, the connection, the segment
// Promises: dormant until a reason to wake; first failure means quiet for good; nothing here
//           waits without a deadline
// Not here: what the components do once switched on
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace gpuprof::agent {

/// Reads GPUPROF_SOCKET and registers the fork hooks. Constructor. No system call beyond getpid.
/// @param python_linked  The program (or a library it was linked with) defines _PyRuntime.
/// @param python_version Its Py_Version, 0 where there is none (no Python, or before 3.11).
/// @param sanitized      It was built with a sanitizer: CPU time does not wake it.
void load(bool python_linked, unsigned long python_version, bool sanitized);

/// What attach() returns.
inline constexpr int kAttachStarted = 0;  // the worker runs, a control socket will open
inline constexpr int kAttachRunning = 1;  // it ran already, there is a control socket
inline constexpr int kAttachBadText = 2;  // the text is not ours
inline constexpr int kAttachNoThread = 3;
inline constexpr int kAttachNoTsc = 4;  // reading the time stamp counter would end the program

/// The library was injected by `gpuprof attach`, now or earlier. Called again on a thread of the
/// program that was stopped at a safe place. Returns at once.
/// @param text  Like GPUPROF_SOCKET; copied.
int attach(const char* text);

/// A reason to wake has appeared (wire::kWake…). Starts the worker at the first one. Any thread.
void wake(std::uint32_t why);

/// Waits until the daemon's settings are in force, or it is known that there is no daemon.
/// @return true if the agent is ready.
bool wait_ready(std::uint32_t deadline_ms);

/// libcuda has initialised in this process: switches CUPTI on now if recording is on.
void on_cuda_initialised();

/// The process is about to end by exit(), _exit() or quick_exit(): bounded flush, good-bye.
/// Does nothing in vfork and fork children. Keeps errno.
void before_exit();

/// abort() was called. Where its signal has the default action, which ends the process, what CUPTI
/// holds is delivered first, within a tenth of a second at most. Any thread, also in a handler.
void before_abort();

/// Around a call for which the kernel requires a process with one thread (unshare, setns): the
/// worker is gone in between. Keeps errno.
void begin_single_threaded();
void end_single_threaded();

/// Around the program's fork: where the program has one thread, the C library takes no lock on
/// account of ours. Async-signal-safe, as fork. Keeps errno.
/// @return  What to pass to after_fork_call(), in the parent and in the child.
struct ForkCall {
  bool prepared = false, single_threaded = false;
};
ForkCall before_fork_call();
void after_fork_call(ForkCall call, pid_t child);

/// exit() was called. The same, if in a handler, until the process ends.
void on_exit_call();

/// The program has changed its ids, groups or capabilities: ours follow. Async-signal-safe. Keeps
/// errno.
void credentials_changed();

/// The calling thread is about to end by the bare system call: this matters for the main thread,
/// which may be the program's only one. Async-signal-safe. Keeps errno.
void on_thread_exit();

/// The program is about to have the kernel kill it for system calls it did not foresee (seccomp):
/// recording ends here, and nothing of ours that makes one is left. Keeps errno.
void shut_down();

/// Whether shut_down() was called. Async-signal-safe.
bool is_shut_down();

/// Fork handlers.
void fork_prepare();
void fork_parent();
void fork_child();

}  // namespace gpuprof::agent
