// SPDX-License-Identifier: Apache-2.0
//
// The worker's kernel thread: how it ends when parked and how clone(2) continues it.
//
// Context:  signal
// Owns:     nothing
// Promises: glibc never sees the thread end, so nothing of it is freed or reused; resume allocates
//           nothing and takes no lock
// Not here: start, park, timers (worker_thread.cpp)
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/hot/state.hpp"
#include "inject/hot/worker_state.hpp"
#include "inject/hot/worker_thread.hpp"

namespace gpuprof::hot {

constinit Worker g_worker;
constinit ResumeHook g_resume_hook = nullptr;

namespace {

// A bare exit: glibc's own thread end would free what resume needs.
[[noreturn]] void leave_kernel_thread() {
  for (;;) ::syscall(SYS_exit, 0);
}

int resumed_entry(void*) { run_worker_body(); }

// A thread with the worker's stack and thread-local block; returns its id, negative on failure.
int clone_worker() {
  constexpr int kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                         CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  return ::clone(resumed_entry, g_worker.resume_stack.load(std::memory_order_relaxed), kFlags,
                 nullptr, &g_worker.kernel_tid,
                 g_worker.thread_pointer.load(std::memory_order_relaxed), &g_worker.kernel_tid);
}

}  // namespace

void run_worker_body() {
  g_state.worker_tid.store(static_cast<std::uint32_t>(::syscall(SYS_gettid)),
                           std::memory_order_relaxed);
  const bool parks = g_worker.body();
  g_worker.park_wanted.store(false, std::memory_order_relaxed);
  g_worker.phase.store(parks ? WorkerPhase::kParked : WorkerPhase::kEnded,
                       std::memory_order_release);
  leave_kernel_thread();
}

bool worker_parked() {
  return g_worker.phase.load(std::memory_order_acquire) == WorkerPhase::kParked &&
         g_worker.kernel_tid.load(std::memory_order_acquire) == 0;
}

bool worker_resume() {
  if (!worker_parked() || g_worker.held.load(std::memory_order_acquire)) return false;
  WorkerPhase parked = WorkerPhase::kParked;
  if (!g_worker.phase.compare_exchange_strong(parked, WorkerPhase::kRunning,
                                              std::memory_order_acq_rel))
    return false;
  const int saved = errno;
  // The raw call: pthread_sigmask would leave glibc's two internal signals open.
  const std::uint64_t all = ~0ULL;
  std::uint64_t before = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  const int tid = clone_worker();
  if (tid < 0) g_worker.phase.store(WorkerPhase::kParked, std::memory_order_release);
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, sizeof before);
  errno = saved;
  return tid >= 0;
}

}  // namespace gpuprof::hot
