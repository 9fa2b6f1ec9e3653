// SPDX-License-Identifier: Apache-2.0
//
// Park and resume of the worker: the kernel thread ends by a bare exit(2), its stack and
// thread-local block stay, and a later clone(2) with the same thread pointer continues it.
//
// Context:  boundary
// Owns:     the stack (mapped once)
// Promises: glibc never sees the thread end, so nothing of it is freed or reused
//
// Why: Python 3.12 and later warn when a process forks while the kernel counts a second thread,
// and look just after fork() has returned. A thread made anew would need malloc, which no signal
// handler may call.
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/hot/worker/deadline.hpp"
#include "inject/hot/worker/sleep.hpp"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/worker/glibc_threads.hpp"
#include "inject/hot/worker/worker_state.hpp"

namespace gpuprof::hot {

namespace {

constexpr std::size_t kStackBytes = 512u << 10;
constexpr std::uint64_t kHandOverDeadlineNs = 20'000'000;
constexpr long kLookNs = 1'000'000;
// The thread that glibc makes: its id, cleared by the kernel, with a wake-up, when it has handed
// over and ended.
constinit std::atomic<std::uint32_t> g_first_tid{0};
constexpr std::uint32_t kNotBegun = 1;               // init's, or nobody's
constinit std::atomic<std::uint32_t> g_first_id{0};  // the same, kept

long futex(std::atomic<std::uint32_t>* word, int op, std::uint32_t value, const timespec* wait) {
  return ::syscall(SYS_futex, word, op, value, wait, nullptr, 0);
}

// glibc has it 0x2d0 (x86-64) or 0xd0 bytes (aarch64) into its record of the thread, which
// pthread_self points to; looked for, not believed.
std::uint32_t* glibc_tid_of_this_thread() {
  constexpr std::uint32_t kSearchWords = 0x400 / 4;
  std::uint32_t* recorded = nullptr;
  const auto own = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  if (prctl(PR_GET_TID_ADDRESS, &recorded, 0, 0, 0) == 0 && recorded != nullptr && *recorded == own)
    return recorded;
  auto* words = reinterpret_cast<std::uint32_t*>(pthread_self());
  for (std::uint32_t i = 0; i < kSearchWords; ++i)
    if (words[i] == own) return words + i;
  return nullptr;
}

std::uint32_t bytes_into_record(const std::uint32_t* recorded) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(recorded) - pthread_self());
}

// From now on the kernel clears a word of ours when this thread ends, not glibc's record of its id.
void take_glibc_id() {
  std::uint32_t* recorded = glibc_tid_of_this_thread();
  g_worker.glibc_tid.store(recorded, std::memory_order_relaxed);
  g_worker.glibc_tid_offset.store(recorded == nullptr ? 0 : bytes_into_record(recorded),
                                  std::memory_order_relaxed);
  const auto own = static_cast<std::uint32_t>(::syscall(SYS_set_tid_address, &g_first_tid));
  g_first_id.store(own, std::memory_order_relaxed);
  g_first_tid.store(own, std::memory_order_release);
}

void* first_entry(void*) {
  g_worker.thread_pointer.store(__builtin_thread_pointer(), std::memory_order_relaxed);
  take_glibc_id();
  // A setuid that has begun is answered on the way out of the kernel or in this wait, one that
  // begins waits for no answer of a thread that is about to end.
  hide_from_setuid();
  if (g_worker.first_wait_ns != 0) sleep_ns(static_cast<std::uint64_t>(g_worker.first_wait_ns));
  find_glibc_thread_count();
  exclude_from_thread_count();
  adjust_counted_threads(-1);
  continue_as_clone();
}

std::uint8_t* map_stack() {
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(memory);
}

}  // namespace

bool worker_start(bool (*body)(), long first_wait_ns, bool asks_loader) {
  std::uint8_t* stack = map_stack();
  if (stack == nullptr) return false;
  g_worker.body = body;
  g_worker.first_wait_ns = first_wait_ns;
  // glibc's block lies at the top of the half it is given; a resumed thread uses the other half.
  constexpr std::size_t kHalf = kStackBytes / 2;
  g_worker.resume_stack.store(stack + kHalf, std::memory_order_relaxed);
  if (asks_loader) find_glibc_thread_count();
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  sigset_t all;
  sigfillset(&all);
  pthread_attr_setsigmask_np(&attr, &all);
  pthread_attr_setstack(&attr, stack + kHalf, kHalf);
  g_worker.phase.store(WorkerPhase::kRunning, std::memory_order_release);
  g_first_tid.store(kNotBegun, std::memory_order_relaxed);
  adjust_counted_threads(1);
  pthread_t thread;
  const int failed = pthread_create(&thread, &attr, first_entry, nullptr);
  pthread_attr_destroy(&attr);
  if (failed != 0) {
    adjust_counted_threads(-1);
    g_worker.phase.store(WorkerPhase::kEnded, std::memory_order_release);
    munmap(stack, kStackBytes);
    return false;
  }
  return true;
}

void worker_wait_for_clone() {
  const std::uint64_t deadline = base::mono_ns() + kHandOverDeadlineNs;
  std::uint32_t alive = 0;
  while ((alive = g_first_tid.load(std::memory_order_acquire)) != 0) {
    const std::uint64_t now = base::mono_ns();
    if (now >= deadline) return;
    const timespec wait{0, static_cast<long>(deadline - now)};
    futex(&g_first_tid, FUTEX_WAIT, alive, &wait);
  }
}

bool worker_is_cloned() {
  if (g_first_tid.load(std::memory_order_acquire) != 0) return false;
  const std::uint32_t first = g_first_id.load(std::memory_order_relaxed);
  return first == 0 || thread_exited(first);
}

std::uint32_t glibc_tid_offset() {
  // The worker's own record is no longer true (worker_resume.cpp).
  const std::uint32_t known = g_worker.glibc_tid_offset.load(std::memory_order_relaxed);
  if (known != 0) return known;
  const std::uint32_t* recorded = glibc_tid_of_this_thread();
  return recorded == nullptr ? 0 : bytes_into_record(recorded);
}

bool worker_park_wanted() { return g_worker.park_wanted.load(std::memory_order_relaxed); }

namespace {

bool is_over(std::uint32_t first, std::uint32_t tid, Deadline& timeout) {
  const bool begun = first != 0 ? first != kNotBegun : tid != 0;
  return begun ? timeout.expired(first != 0 ? first : tid) : timeout.expired_before_start();
}

// Sleeps until one of ours has ended, or a moment. False: it is waited for no longer.
bool wait_a_moment(std::uint32_t first, std::uint32_t tid, Deadline& timeout) {
  std::atomic<std::uint32_t>* word = first != 0 ? &g_first_tid : &g_worker.kernel_tid;
  const std::uint32_t who = first != 0 ? first : tid;
  if (is_over(first, tid, timeout)) return false;
  const timespec wait{0, kLookNs};
  futex(word, FUTEX_WAIT, who, &wait);
  return true;
}

// The word is cleared a little before the thread leaves the process's list.
bool gone_for_the_kernel(Deadline& timeout) {
  const auto tid = g_state.worker_tid.load(std::memory_order_relaxed);
  while (tid != 0 && !thread_exited(tid) && !timeout.expired(tid)) sleep_ns(20'000);
  return true;
}

}  // namespace

bool worker_park(std::uint32_t deadline_ms, std::uint32_t starved_ms) {
  if (g_worker.phase.load(std::memory_order_acquire) == WorkerPhase::kNone) return true;
  Deadline timeout(deadline_ms, starved_ms);
  g_worker.resume_inhibited.store(true, std::memory_order_release);
  g_worker.park_wanted.store(true, std::memory_order_relaxed);
  wake_worker();
  for (;;) {
    // pairs with the kernel's clear-and-wake at thread end
    const std::uint32_t first = g_first_tid.load(std::memory_order_acquire);
    const std::uint32_t tid = g_worker.kernel_tid.load(std::memory_order_acquire);
    if (first == 0 && tid == 0 &&
        g_worker.phase.load(std::memory_order_acquire) != WorkerPhase::kRunning) {
      // It may have been parked before: the next one must not find the wish of this one.
      g_worker.park_wanted.store(false, std::memory_order_relaxed);
      return gone_for_the_kernel(timeout);
    }
    if (!wait_a_moment(first, tid, timeout)) break;
  }
  g_worker.park_wanted.store(false, std::memory_order_relaxed);
  worker_allow_resume();
  return false;
}

bool worker_pause(std::uint32_t deadline_ms, std::uint32_t starved_ms) {
  if (g_worker.phase.load(std::memory_order_acquire) != WorkerPhase::kRunning) return true;
  Deadline timeout(deadline_ms, starved_ms);
  std::uint32_t free = 0;
  // A handler that forks may have interrupted a thread that was about to let it go on.
  if (!g_worker.pause.compare_exchange_strong(free, 1, std::memory_order_acq_rel) && free == 2)
    return true;
  wake_worker();
  while (g_worker.pause.load(std::memory_order_acquire) != 2) {
    const std::uint32_t first = g_first_tid.load(std::memory_order_acquire);
    const std::uint32_t tid = g_worker.kernel_tid.load(std::memory_order_acquire);
    if (g_worker.phase.load(std::memory_order_acquire) != WorkerPhase::kRunning ||
        is_over(first, tid, timeout)) {
      worker_unpause();
      return false;
    }
    const timespec wait{0, kLookNs};
    futex(&g_worker.pause, FUTEX_WAIT_PRIVATE, 1, &wait);
  }
  return true;
}

void worker_unpause() {
  g_worker.pause.store(0, std::memory_order_release);
  futex(&g_worker.pause, FUTEX_WAKE_PRIVATE, 2, nullptr);
}

bool worker_is_paused() { return g_worker.pause.load(std::memory_order_acquire) == 2; }

void worker_pause_point() {
  std::uint32_t asked = 1;
  if (!g_worker.pause.compare_exchange_strong(asked, 2, std::memory_order_acq_rel)) return;
  futex(&g_worker.pause, FUTEX_WAKE_PRIVATE, 2, nullptr);
  while (g_worker.pause.load(std::memory_order_acquire) == 2)
    futex(&g_worker.pause, FUTEX_WAIT_PRIVATE, 2, nullptr);
}

void worker_allow_resume() { g_worker.resume_inhibited.store(false, std::memory_order_release); }

bool worker_resume_after_cpu(std::uint64_t cpu_ns, int signal) {
  // What is left of an earlier fork's time would end before Python has counted after this one, or
  // belongs to a thread that never runs again.
  if (g_worker.timer_armed.exchange(true, std::memory_order_acq_rel)) timer_delete(g_worker.timer);
  const auto tid = static_cast<pid_t>(::syscall(SYS_gettid));
  sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event.sigev_value.sival_ptr = const_cast<void*>(resume_cookie());
#ifdef sigev_notify_thread_id
  event.sigev_notify_thread_id = tid;
#else
  event._sigev_un._tid = tid;
#endif
  const itimerspec when{
      {0, 0},
      {static_cast<time_t>(cpu_ns / 1'000'000'000u), static_cast<long>(cpu_ns % 1'000'000'000u)}};
  const bool made = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &g_worker.timer) == 0;
  if (made && timer_settime(g_worker.timer, 0, &when, nullptr) == 0) return true;
  if (made) timer_delete(g_worker.timer);
  g_worker.timer_armed.store(false, std::memory_order_release);
  return false;
}

void worker_clear_resume_timer() {
  // timer_delete frees glibc's bookkeeping: the worker itself, or a fork while it is parked; never
  // a handler.
  if (g_worker.timer_armed.exchange(false, std::memory_order_acq_rel)) timer_delete(g_worker.timer);
}

bool worker_delete_resume_timer() {
  const itimerspec never{};
  const bool armed = g_worker.timer_armed.load(std::memory_order_acquire);
  if (armed) timer_settime(g_worker.timer, 0, &never, nullptr);
  return armed;
}

void worker_after_fork_child() {
  g_first_tid.store(0, std::memory_order_relaxed);  // it is the parent's
  g_first_id.store(0, std::memory_order_relaxed);
  reset_counted_threads();
  // POSIX timers are not inherited.
  g_worker.timer_armed.store(false, std::memory_order_relaxed);
  g_worker.park_wanted.store(false, std::memory_order_relaxed);
  worker_allow_resume();
  const bool stood_still = g_worker.pause.exchange(0, std::memory_order_relaxed) == 2;
  if (stood_still)
    g_worker.phase.store(WorkerPhase::kParked, std::memory_order_relaxed);
  else if (g_worker.phase.load(std::memory_order_relaxed) != WorkerPhase::kParked)
    g_worker.phase.store(WorkerPhase::kEnded, std::memory_order_relaxed);
  g_worker.kernel_tid.store(0, std::memory_order_relaxed);
}

}  // namespace gpuprof::hot
