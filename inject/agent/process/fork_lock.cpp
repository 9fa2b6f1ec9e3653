// SPDX-License-Identifier: Apache-2.0
//
// A word with the id of the thread whose turn it is.
//
// Context:  boundary
#include "inject/agent/process/fork_lock.hpp"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/hot/worker/sleep.hpp"
#include "inject/hot/worker/worker_thread.hpp"

namespace gpuprof::agent {

constinit PendingForks g_pending_forks;

namespace {

constinit std::atomic<std::uint32_t> g_owner{0};
constinit std::atomic<std::uint32_t> g_waiting{0};

// What the one before may wait for, and some more.
constexpr std::uint64_t kMaxTurnNs = (hot::kStarvationLimitMs + 1'000) * 1'000'000ULL;
constexpr long kLookNs = 1'000'000;
constexpr std::uint64_t kLongUnderWayNs = 50'000'000;
constexpr std::uint64_t kGapNs = 20'000'000, kGapLookNs = 200'000;

void wait_for_a_change(std::uint32_t seen) {
  const timespec wait{0, kLookNs};
  g_waiting.fetch_add(1, std::memory_order_seq_cst);
  ::syscall(SYS_futex, &g_owner, FUTEX_WAIT_PRIVATE, seen, &wait, nullptr, 0);
  g_waiting.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

bool lock_fork() {
  const std::uint32_t mine = hot::current_tid();
  const int saved = errno;
  const std::uint64_t begun_ns = base::mono_ns();
  for (;;) {
    std::uint32_t owner = 0;
    // acquire: pairs with the release of whoever had it before
    if (g_owner.compare_exchange_strong(owner, mine, std::memory_order_acquire)) break;
    if (owner == mine) return false;
    const bool over = base::mono_ns() - begun_ns > kMaxTurnNs || hot::thread_exited(owner);
    if (over && g_owner.compare_exchange_strong(owner, mine, std::memory_order_acquire)) break;
    wait_for_a_change(owner);
  }
  errno = saved;
  return true;
}

bool lock_when_no_fork(std::uint32_t deadline_ms) {
  const std::uint64_t deadline_ns = base::mono_ns() + deadline_ms * 1'000'000ULL;
  for (;;) {
    if (!g_pending_forks.any()) {
      if (!lock_fork()) return false;
      if (!g_pending_forks.any()) return true;
      unlock_fork();
    }
    if (base::mono_ns() >= deadline_ns) return false;
    hot::sleep_ns(kGapLookNs);
  }
}

void unlock_fork() {
  // Somebody waited longer than any turn takes, and has it now.
  std::uint32_t mine = hot::current_tid();
  if (!g_owner.compare_exchange_strong(mine, 0, std::memory_order_seq_cst)) return;
  if (g_waiting.load(std::memory_order_seq_cst) == 0) return;
  const int saved = errno;
  ::syscall(SYS_futex, &g_owner, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  errno = saved;
}

bool holds_fork_lock() { return g_owner.load(std::memory_order_relaxed) == hot::current_tid(); }

ForkLock::ForkLock() : taken_(lock_fork()) {}

ForkLock::~ForkLock() {
  if (taken_) unlock_fork();
}

bool PendingForks::begin() {
  if (count.fetch_add(1, std::memory_order_relaxed) != 0) return false;
  since_ns.store(base::mono_ns(), std::memory_order_relaxed);
  return true;
}

bool PendingForks::end() {
  // A handler that was registered amid a fork has not prepared it.
  if (count.load(std::memory_order_relaxed) == 0) return false;
  if (count.fetch_sub(1, std::memory_order_relaxed) != 1) return false;
  since_ns.store(0, std::memory_order_relaxed);
  return true;
}

void PendingForks::wait_for_gap() const {
  const std::uint64_t now_ns = base::mono_ns();
  for (std::uint64_t waited_ns = 0; waited_ns < kGapNs; waited_ns += kGapLookNs) {
    const std::uint64_t begun_ns = since_ns.load(std::memory_order_relaxed);
    if (begun_ns == 0 || now_ns < begun_ns + kLongUnderWayNs) return;
    hot::sleep_ns(kGapLookNs);
  }
}

void reset_fork_lock_after_fork() {
  g_owner.store(0, std::memory_order_relaxed);
  g_waiting.store(0, std::memory_order_relaxed);
  g_pending_forks.count.store(0, std::memory_order_relaxed);
  g_pending_forks.since_ns.store(0, std::memory_order_relaxed);
}

}  // namespace gpuprof::agent
