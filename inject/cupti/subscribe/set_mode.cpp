// SPDX-License-Identifier: Apache-2.0
//
// What the agent wants, and how late it is there where our threads get no processor.
//
// Context:  worker | boundary
// Owns:     what is late
#include <atomic>

#include "gpuprof/base/clock.hpp"
#include "inject/cupti/activity/flush_thread.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/cupti/interpose/late_attach.hpp"
#include "inject/cupti/subscribe/cupti_state.hpp"
#include "inject/hot/clock/tsc_clock.hpp"
#include "inject/hot/state.hpp"

namespace gpuprof::cupti {

namespace {

constexpr std::uint32_t kFirstMs = 2000;
/// Of the worker's time; forks of the program wait for it, too.
constexpr std::uint32_t kAgainMs = 100;

struct ModeDelay {
  std::atomic<bool> asked_again{false};  // the next time is not the first
  std::atomic<bool> again{false};
  std::atomic<Mode> in_force{Mode::kOff};
  std::atomic<std::uint64_t> since_ns{0};  // more is wanted than is in force; 0: it is not
};
constinit ModeDelay g_late;

void apply_now() {
  // Who holds it now may wait for a flush of this very thread; the next turn applies it then.
  const CuptiLock lock(is_flush_thread_kept() ? kAgainMs : kFirstMs);
  if (lock) apply_mode(g_cupti, base::mono_ns());
}

bool try_set_mode(Mode wanted, const Settings& settings, std::uint32_t timeout_ms) {
  {
    const CuptiLock lock(timeout_ms);
    if (!lock) return false;
    // Whoever held the slot may have gone.
    if (wanted > g_cupti.mode && g_cupti.subscriber_state == SubscriberState::kTaken)
      g_cupti.retry_at_ns = 0;
    g_cupti.mode = wanted;
    g_cupti.settings = settings;
    g_cupti.applied.store(false, std::memory_order_relaxed);
  }
  run_on_flush_thread(apply_now, timeout_ms);
  return g_cupti.applied.load(std::memory_order_acquire);
}

// In steps: whoever is killed while it is late has told of what came before.
void count_mode_delay(bool goes_on) {
  const std::uint64_t now_ns = base::mono_ns();
  const std::uint64_t since_ns =
      g_late.since_ns.exchange(goes_on ? now_ns : 0, std::memory_order_relaxed);
  if (since_ns != 0) hot::count(wire::Counter::kCuptiEnableDelayNs, elapsed_ns(now_ns, since_ns));
}

}  // namespace

void set_mode(Mode wanted, const Settings& settings) {
  // First, so that no session of the program begins unseen. Inside cuInit it is too early.
  if (wanted != Mode::kOff && is_own_thread()) {
    hook_cupti_callers();
    hot::check_clocksource();
  }
  const bool first = !g_late.asked_again.load(std::memory_order_relaxed);
  const bool done = try_set_mode(wanted, settings, first ? kFirstMs : kAgainMs);
  g_late.asked_again.store(!done, std::memory_order_relaxed);
  if (done) g_late.in_force.store(wanted, std::memory_order_relaxed);
  count_mode_delay(!done && wanted > g_late.in_force.load(std::memory_order_relaxed));
  if (done) return;
  g_late.again.store(true, std::memory_order_relaxed);
  // Once: a helper that hangs would have it turn all the time.
  if (first) hot::wake_worker();
}

bool is_mode_pending() { return g_late.again.exchange(false, std::memory_order_relaxed); }

void reset_mode() {
  g_late.asked_again.store(false, std::memory_order_relaxed);
  g_late.in_force.store(Mode::kOff, std::memory_order_relaxed);
  g_late.since_ns.store(0, std::memory_order_relaxed);
}

void count_mode_delay_at_exit() { count_mode_delay(false); }

}  // namespace gpuprof::cupti
