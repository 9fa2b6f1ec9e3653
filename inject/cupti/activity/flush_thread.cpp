// SPDX-License-Identifier: Apache-2.0
//
// The flush thread: counters of what was asked and of what is done, and a futex for each who waits.
//
// Context:  worker | boundary, and the thread itself
// Owns:     the thread
#include "inject/cupti/activity/flush_thread.hpp"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "gpuprof/base/clock.hpp"
#include "inject/cupti/activity/buffer_pool.hpp"
#include "inject/cupti/activity/clock.hpp"
#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/hot/worker/deadline.hpp"
#include "inject/hot/worker/glibc_threads.hpp"
#include "inject/hot/worker/sleep.hpp"

namespace gpuprof::cupti {

namespace {

using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == 4);

enum class Phase : std::uint32_t { kNone, kRunning, kEnding, kEnded };

struct FlushThread {
  // Who starts or ends the thread: the worker, and forks of the program.
  pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;
  pthread_t thread{};
  Word phase{static_cast<std::uint32_t>(Phase::kNone)};
  Word wakeup{0};     // futex of the thread: grows with each thing to do
  Word requested{0};  // flushes
  Word done{0};       // futex of those who wait
  std::atomic<void (*)()> job{nullptr};
  Word jobs_asked{0};
  Word jobs_done{0};  // futex of who waits
  std::atomic<bool> kept{false};
  std::atomic<bool> forced{false};
  std::atomic<bool> foreign{false};
  std::atomic<std::uint64_t> running_since{0}, flushed_ns{0};
};
constinit FlushThread g_flusher;

// CUPTI runs its own work and our translation on this stack.
constexpr std::size_t kStackBytes = 512u << 10;

void futex_wait(Word& word, std::uint32_t value, std::uint64_t timeout_ns) {
  timespec time{static_cast<time_t>(timeout_ns / 1'000'000'000),
                static_cast<long>(timeout_ns % 1'000'000'000)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &time, nullptr, 0);
}
void futex_wake(Word& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

Phase phase() { return static_cast<Phase>(g_flusher.phase.load(std::memory_order_acquire)); }
void set_phase(Phase to) {
  g_flusher.phase.store(static_cast<std::uint32_t>(to), std::memory_order_release);
}

void count_dropped() {
  std::size_t dropped = 0;
  // No lock of ours is held here: CUPTI may take one that a buffer request waits for.
  if (g_callback_state.api.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) ==
          CUPTI_SUCCESS &&
      dropped != 0)
    hot::count(wire::Counter::kCuptiDropped, dropped);
}

void flush_once(bool forced) {
  // Claims this thread's large ring buffer before the program's threads have taken all of them.
  { const hot::Guard claims(hot::RingRole::kCallback, true); }
  g_flusher.running_since.store(base::mono_ns(), std::memory_order_release);
  const std::uint64_t accepted = g_callback_state.accept_until_ns.load(std::memory_order_acquire);
  record_clock(g_callback_state.api);
  g_callback_state.api.cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
  count_dropped();
  g_flusher.foreign.store(record_clock(g_callback_state.api), std::memory_order_relaxed);
  g_buffers.zero_used();
  hot::count(wire::Counter::kFlushes);
  const std::uint64_t now_ns = base::mono_ns();
  accept_until_linger(accepted, now_ns);
  g_flusher.flushed_ns.store(now_ns, std::memory_order_relaxed);
  g_flusher.running_since.store(0, std::memory_order_release);
}

void notify_thread() {
  g_flusher.wakeup.fetch_add(1, std::memory_order_release);
  futex_wake(g_flusher.wakeup);
}

void run_jobs() {
  // acquire; pairs with the release in run_on_flush_thread
  const auto job = g_flusher.job.exchange(nullptr, std::memory_order_acq_rel);
  if (job == nullptr) return;
  job();
  g_flusher.jobs_done.fetch_add(1, std::memory_order_release);
  futex_wake(g_flusher.jobs_done);
}

void run_flushes() {
  const std::uint32_t asked = g_flusher.requested.load(std::memory_order_acquire);
  if (asked == g_flusher.done.load(std::memory_order_relaxed)) return;
  flush_once(g_flusher.forced.exchange(false, std::memory_order_acq_rel));
  g_flusher.done.store(asked, std::memory_order_release);
  futex_wake(g_flusher.done);
}

void* run(void*) {
  prctl(PR_SET_NAME, "gpuprof-flush");
  hot::exclude_from_thread_count();
  hot::adjust_counted_threads(-1);
  hot::g_state.flush_thread_tid.store(static_cast<std::uint32_t>(syscall(SYS_gettid)),
                                      std::memory_order_relaxed);
  // release; pairs with the acquire in sample/threads/threads.cpp
  hot::g_state.flush_thread_starting.store(false, std::memory_order_release);
  for (;;) {
    // acquire; first: an end that is asked for after the look at the phase is news to the wait
    const std::uint32_t news = g_flusher.wakeup.load(std::memory_order_acquire);
    if (phase() != Phase::kRunning) break;
    run_jobs();
    run_flushes();
    futex_wait(g_flusher.wakeup, news, 3'600'000'000'000);
  }
  set_phase(Phase::kEnded);
  futex_wake(g_flusher.phase);
  hot::adjust_counted_threads(1);
  while (!hot::include_in_thread_count()) syscall(SYS_exit, 0);
  return nullptr;
}

bool create_thread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  hot::adjust_counted_threads(1);
  const int result = pthread_create(&g_flusher.thread, &attributes, run, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (result != 0) hot::adjust_counted_threads(-1);
  return result == 0;
}

constexpr std::uint32_t kStartMs = 200;
// A fork of the program ends the thread at any time, also under those who wait for it.
constexpr std::uint64_t kRecheckNs = 5'000'000;

// A fork has ended the thread for a moment. Without CUDA no descriptor of the program is needed.
bool run_on_this_thread(void (*job)()) {
  if (is_driver_initialised()) return false;
  job();
  return true;
}

// What the thread was asked and had not begun when it ended.
bool run_abandoned_job() {
  const auto job = g_flusher.job.exchange(nullptr, std::memory_order_acq_rel);
  if (job == nullptr) return false;
  g_flusher.jobs_done.fetch_add(1, std::memory_order_release);
  return run_on_this_thread(job);
}

class LifeLock {
 public:
  explicit LifeLock(std::uint32_t deadline_ms) {
    const std::uint64_t ns =
        base::clock_ns(CLOCK_REALTIME) + std::uint64_t{deadline_ms} * 1'000'000;
    const timespec until{static_cast<time_t>(ns / 1'000'000'000),
                         static_cast<long>(ns % 1'000'000'000)};
    held_ = pthread_mutex_timedlock(&g_flusher.life, &until) == 0;
  }
  ~LifeLock() {
    if (held_) pthread_mutex_unlock(&g_flusher.life);
  }
  LifeLock(const LifeLock&) = delete;
  LifeLock& operator=(const LifeLock&) = delete;
  explicit operator bool() const { return held_; }

 private:
  bool held_ = false;
};

}  // namespace

namespace {

// Without CUDA a job calls nothing of CUPTI.
bool in_cupti() {
  const bool in_job = g_flusher.job.load(std::memory_order_relaxed) == nullptr &&
                      g_flusher.jobs_done.load(std::memory_order_relaxed) !=
                          g_flusher.jobs_asked.load(std::memory_order_relaxed);
  return flush_started_ns() != 0 || (in_job && is_driver_initialised());
}

// Inside CUPTI it works, and does not wait for a processor.
bool is_over(hot::Deadline& timeout) {
  const auto tid = hot::g_state.flush_thread_tid.load(std::memory_order_relaxed);
  if (in_cupti()) return timeout.expired(0);  // no thread has that number
  return tid == 0 ? timeout.expired_before_start() : timeout.expired(tid);
}

// It has said that it ends. pthread_join is where a thread that was cancelled would end.
void join_ended() {
  while (pthread_tryjoin_np(g_flusher.thread, nullptr) == EBUSY) hot::sleep_ns(20'000);
  hot::adjust_counted_threads(-1);
}

bool start_locked() {
  if (phase() == Phase::kRunning) return true;
  if (phase() == Phase::kEnding) return false;  // a hung one was left behind
  if (phase() == Phase::kEnded) join_ended();
  g_flusher.done.store(g_flusher.requested.load(std::memory_order_relaxed),
                       std::memory_order_relaxed);
  g_flusher.job.store(nullptr, std::memory_order_relaxed);
  g_flusher.jobs_done.store(g_flusher.jobs_asked.load(std::memory_order_relaxed),
                            std::memory_order_relaxed);
  hot::g_state.flush_thread_tid.store(0, std::memory_order_relaxed);
  set_phase(Phase::kRunning);
  hot::g_state.flush_thread_starting.store(true, std::memory_order_relaxed);
  if (create_thread()) return true;
  hot::g_state.flush_thread_starting.store(false, std::memory_order_relaxed);
  set_phase(Phase::kNone);
  return false;
}

}  // namespace

bool start_flush_thread() {
  if (phase() == Phase::kRunning) return true;
  const LifeLock lock(kStartMs);
  return lock && start_locked();
}

bool stop_flush_thread(std::uint32_t deadline_ms, std::uint32_t starved_ms) {
  hot::Deadline timeout(deadline_ms, starved_ms);
  const LifeLock lock(deadline_ms);
  if (!lock) return false;
  if (phase() == Phase::kNone) return true;
  if (phase() == Phase::kRunning) {
    set_phase(Phase::kEnding);
    notify_thread();
  }
  while (phase() == Phase::kEnding) {
    if (is_over(timeout)) return false;
    futex_wait(g_flusher.phase, static_cast<std::uint32_t>(Phase::kEnding), kRecheckNs);
  }
  join_ended();
  hot::g_state.flush_thread_tid.store(0, std::memory_order_relaxed);
  set_phase(Phase::kNone);
  return true;
}

std::uint32_t request_flush(bool forced) {
  if (forced) g_flusher.forced.store(true, std::memory_order_release);
  const std::uint32_t ticket = g_flusher.requested.fetch_add(1, std::memory_order_acq_rel) + 1;
  notify_thread();
  return ticket;
}

void restart_flush_thread() {
  const LifeLock lock(kStartMs);
  if (lock && g_flusher.kept.load(std::memory_order_relaxed))
    g_flusher.kept.store(start_locked(), std::memory_order_relaxed);
}

void keep_flush_thread() { g_flusher.kept.store(start_flush_thread(), std::memory_order_relaxed); }

bool end_flush_thread(std::uint32_t deadline_ms) {
  g_flusher.kept.store(false, std::memory_order_relaxed);
  return stop_flush_thread(deadline_ms);
}

bool is_flush_thread_kept() {
  return g_flusher.kept.load(std::memory_order_relaxed) && phase() == Phase::kRunning;
}

bool run_on_flush_thread(void (*job)(), std::uint32_t deadline_ms) {
  const std::uint32_t tid = hot::current_tid();
  const bool has_descriptors = !hot::is_our_thread(tid) ||
                               tid == hot::g_state.flush_thread_tid.load(std::memory_order_relaxed);
  if (has_descriptors || !g_flusher.kept.load(std::memory_order_relaxed)) {
    job();
    return true;
  }
  if (phase() != Phase::kRunning) return run_on_this_thread(job);
  std::uint32_t done = g_flusher.jobs_done.load(std::memory_order_acquire);
  if (done != g_flusher.jobs_asked.load(std::memory_order_relaxed)) return false;
  const std::uint32_t ticket = g_flusher.jobs_asked.fetch_add(1, std::memory_order_relaxed) + 1;
  g_flusher.job.store(job, std::memory_order_release);
  notify_thread();
  const std::uint64_t until = base::mono_ns() + std::uint64_t{deadline_ms} * 1'000'000;
  while ((done = g_flusher.jobs_done.load(std::memory_order_acquire)) != ticket) {
    const std::uint64_t now = base::mono_ns();
    if (phase() != Phase::kRunning) return run_abandoned_job();
    if (now >= until) return false;
    futex_wait(g_flusher.jobs_done, done, std::min(until - now, kRecheckNs));
  }
  return true;
}

void request_flush_soon(std::uint32_t spacing_ms) {
  if (phase() != Phase::kRunning) return;
  if (g_flusher.requested.load(std::memory_order_relaxed) !=
      g_flusher.done.load(std::memory_order_relaxed))
    return;
  const std::uint64_t flushed_ns = g_flusher.flushed_ns.load(std::memory_order_relaxed);
  if (base::mono_ns() - flushed_ns >= std::uint64_t{spacing_ms} * 1'000'000) request_flush(false);
}

bool wait_flush(std::uint32_t ticket, std::uint32_t deadline_ms) {
  const std::uint64_t until = base::mono_ns() + std::uint64_t{deadline_ms} * 1'000'000;
  while (phase() == Phase::kRunning) {
    const std::uint32_t done = g_flusher.done.load(std::memory_order_acquire);
    if (static_cast<std::int32_t>(done - ticket) >= 0) return true;
    const std::uint64_t now = base::mono_ns();
    if (now >= until) return false;
    futex_wait(g_flusher.done, done, std::min(until - now, kRecheckNs));
  }
  return false;
}

bool flush_thread_runs() { return phase() == Phase::kRunning; }

std::uint32_t flushes_requested() { return g_flusher.requested.load(std::memory_order_acquire); }
std::uint32_t flushes_done() { return g_flusher.done.load(std::memory_order_acquire); }

std::uint64_t flush_started_ns() { return g_flusher.running_since.load(std::memory_order_acquire); }

bool clock_was_foreign() { return g_flusher.foreign.load(std::memory_order_relaxed); }

bool wait_for_ring_space(const hot::Guard& guard) {
  const wire::RingWriter& ring = guard.producer().ring;
  // A daemon that is gone must not hold the flush for longer than this.
  for (int tries = 0; tries < 50; ++tries) {
    if (ring.unread_bytes() < ring.capacity_bytes() / 2) return true;
    hot::sleep_ns(1'000'000);
  }
  return false;
}

void reset_flush_thread_after_fork() {
  const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  g_flusher.life = fresh;
  hot::g_state.flush_thread_tid.store(0, std::memory_order_relaxed);
  hot::g_state.flush_thread_starting.store(false, std::memory_order_relaxed);
  g_flusher.kept.store(false, std::memory_order_relaxed);
  g_flusher.forced.store(false, std::memory_order_relaxed);
  g_flusher.running_since.store(0, std::memory_order_relaxed);
  set_phase(Phase::kNone);
}

}  // namespace gpuprof::cupti
