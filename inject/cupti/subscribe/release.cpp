// SPDX-License-Identifier: Apache-2.0
//
// Letting go: nothing of ours is left in CUPTI.
//
// Context:  worker, and the helper that has the program's descriptors
// Owns:     nothing
#include <atomic>

#include "gpuprof/base/clock.hpp"
#include "inject/cupti/activity/buffer_pool.hpp"
#include "inject/cupti/activity/flush_thread.hpp"
#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/callbacks/kernel_steps.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/cupti/interpose/late_attach.hpp"
#include "inject/cupti/interpose/program_profiler.hpp"
#include "inject/cupti/library/hazards.hpp"
#include "inject/cupti/notice_queue.hpp"
#include "inject/cupti/subscribe/attributes.hpp"
#include "inject/cupti/subscribe/cupti_state.hpp"
#include "inject/hot/worker/sleep.hpp"

namespace gpuprof::cupti {

namespace {

constexpr std::uint32_t kLockMs = 500;

// Kernel records below CUDA 13.0 Update 1 can neither be switched off safely nor be finalised away
// (graphs): CUPTI goes on filling our buffers, and we go on taking them back unread.
bool cannot_release(const CuptiState& state) {
  return state.open && (state.kinds & kind_bit(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) != 0 &&
         has_hazard(g_callback_state.api.version, Hazard::kKernelKindStays);
}

// Written by release_client_now, which may end later than whoever waits for it.
constinit std::atomic<bool> g_entered{false};

void release_client_now() {
  const CuptiLock lock(kLockMs);
  if (!lock) return;
  g_entered.store(true, std::memory_order_relaxed);
  if (g_cupti.dead || g_cupti.exiting) return;
  CuptiState& state = g_cupti;
  state.mode = Mode::kOff;
  if (!state.program.active) apply_mode(state, base::mono_ns());
  release_subscriber(state);
  if (state.open) restore_attributes(state);
  // A program that registers once and then only switches kinds would find ours. What stays on is no
  // business of its callbacks.
  if (state.kinds == 0) restore_program_callbacks(state);
}

// Facts and sentences are a session's; what is known of the process stays.
void reset_session_state(CuptiState& state) {
  state.sent_notices = 0;
  state.facts_sent = state.devices_sent = state.open_failed = state.budget_stopped = false;
  state.replaced = false;
  state.next_open_ns = state.retry_at_ns = state.not_ready_retries = 0;
  if (state.subscriber_state != SubscriberState::kOurs)
    state.subscriber_state = SubscriberState::kFree;
  // Nobody sees any more what it does: its next session is found when we come back.
  state.program = ProgramProfiler{};
  if (state.subscriber_state != SubscriberState::kOurs) state.registered = false;
  g_callback_state.accept_until_ns.store(0, std::memory_order_release);
}

bool flushed(std::uint32_t deadline_ms) {
  {
    const CuptiLock lock(kLockMs);
    if (!lock || g_cupti.dead || !g_cupti.open || g_cupti.program.active || !start_flush_thread())
      return false;
  }
  return wait_flush(request_flush(true), deadline_ms);
}

// With all kinds off a forced flush brings every buffer back; but a call that was under way may
// take one more.
bool reclaim_buffers(std::uint32_t deadline_ms) {
  constexpr std::uint32_t kTimeoutMs = 50;
  const std::uint64_t until = base::mono_ns() + std::uint64_t{deadline_ms} * 1'000'000;
  while (g_buffers.mapped()) {
    if (!flushed(deadline_ms)) return false;
    if (!g_buffers.unmap(kTimeoutMs) && base::mono_ns() >= until) return false;
  }
  return true;
}

// Again where a fork has taken the helper away meanwhile, or somebody was inside.
bool release_client(std::uint32_t deadline_ms) {
  const std::uint64_t until = base::mono_ns() + std::uint64_t{deadline_ms} * 1'000'000;
  g_entered.store(false, std::memory_order_relaxed);
  while (!run_on_flush_thread(release_client_now, deadline_ms) ||
         !g_entered.load(std::memory_order_relaxed)) {
    if (base::mono_ns() >= until) return false;
    hot::sleep_ns(5'000'000);
  }
  return true;
}

}  // namespace

bool release(std::uint32_t deadline_ms) {
  const bool done = release_client(deadline_ms);
  unhook_cupti_callers();
  const bool unmapped = done && !cannot_release(g_cupti) && reclaim_buffers(deadline_ms);
  if (!is_flush_thread_kept()) stop_flush_thread(deadline_ms);
  const CuptiLock lock(kLockMs);
  if (!lock || !done) return false;
  reset_session_state(g_cupti);
  reset_mode();
  clear_queued_notices();
  return unmapped && flush_started_ns() == 0;
}

}  // namespace gpuprof::cupti
