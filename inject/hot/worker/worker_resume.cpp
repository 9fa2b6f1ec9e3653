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
#include "inject/hot/thread_block.hpp"
#include "inject/hot/worker/worker_state.hpp"
#include "inject/hot/worker/worker_thread.hpp"

namespace gpuprof::hot {

constinit Worker g_worker;
constinit ResumeHook g_resume_hook = nullptr;

namespace {

// A bare exit: glibc's own thread end would free what resume needs.
[[noreturn]] void exit_kernel_thread() {
  for (;;) ::syscall(SYS_exit, 0);
}

// An id above the kernel's limit of 2^22: no thread ever has it.
constexpr std::uint32_t kNoThreadsId = 0x3ffffffe;

}  // namespace

// glibc's recursive mutexes compare owners with the id it recorded. 0 is the owner of a free one:
// with that the worker would walk into the loader's lock. And the id of a thread that came later
// would send that one setuid's signal twice.
void hide_from_setuid() {
  std::uint32_t* recorded = g_worker.glibc_tid.load(std::memory_order_relaxed);
  if (recorded != nullptr) __atomic_store_n(recorded, kNoThreadsId, __ATOMIC_RELEASE);
}

namespace {

// A thread of the program's made this one: what waits for a processor must not wait for us.
void set_normal_scheduling() {
  constexpr long kDeadline = 6;  // SCHED_DEADLINE
  const long policy = ::syscall(SYS_sched_getscheduler, 0) & ~SCHED_RESET_ON_FORK;
  // A program that gives way to others has us do so, too.
  if (policy != SCHED_FIFO && policy != SCHED_RR && policy != kDeadline) return;
  const sched_param none{};
  ::syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
}

int worker_entry(void*) {
  hide_from_setuid();  // in a forked child glibc has written 0
  reset_this_thread();
  set_normal_scheduling();
  g_state.parked_by_fork.store(false, std::memory_order_relaxed);
  g_state.worker_tid.store(static_cast<std::uint32_t>(::syscall(SYS_gettid)),
                           std::memory_order_relaxed);
  const bool parks = g_worker.body();
  g_worker.park_wanted.store(false, std::memory_order_relaxed);
  g_worker.phase.store(parks ? WorkerPhase::kParked : WorkerPhase::kEnded,
                       std::memory_order_release);
  exit_kernel_thread();
}

// A thread with the worker's stack and thread-local block; returns its id, negative on failure.
int clone_worker() {
  constexpr int kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                         CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  return ::clone(worker_entry, g_worker.resume_stack.load(std::memory_order_relaxed), kFlags,
                 nullptr, &g_worker.kernel_tid,
                 g_worker.thread_pointer.load(std::memory_order_relaxed), &g_worker.kernel_tid);
}

}  // namespace

// glibc sends every thread it knows the program's setuid and setgroups calls and ends the process
// when their results differ, as they do after PR_SET_KEEPCAPS on the caller alone. Of this thread
// it keeps an id that no thread has.
void continue_as_clone() {
  if (clone_worker() < 0) g_worker.phase.store(WorkerPhase::kEnded, std::memory_order_release);
  exit_kernel_thread();
}

bool worker_parked() {
  return g_worker.phase.load(std::memory_order_acquire) == WorkerPhase::kParked &&
         g_worker.kernel_tid.load(std::memory_order_acquire) == 0;
}

bool worker_resume() {
  if (!worker_parked() || g_worker.resume_inhibited.load(std::memory_order_acquire)) return false;
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
