// SPDX-License-Identifier: Apache-2.0
//
// The component's main functions: one reconciling step, one periodic turn, exit and fork.
//
// Context:  worker | boundary
// Owns:     g_cupti
#include "inject/cupti/subscribe/cupti_state.hpp"

#include <time.h>

#include "gpuprof/base/clock.hpp"
#include "gpuprof/base/notices.hpp"
#include "inject/cupti/activity/buffer_callbacks.hpp"
#include "inject/cupti/activity/buffer_pool.hpp"
#include "inject/cupti/activity/flush_thread.hpp"
#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/callbacks/kernel_steps.hpp"
#include "inject/cupti/interpose/late_attach.hpp"
#include "inject/cupti/library/devices.hpp"
#include "inject/cupti/library/hazards.hpp"
#include "inject/cupti/library/mapped_libraries.hpp"
#include "inject/cupti/notice_queue.hpp"
#include "inject/cupti/subscribe/api_kinds.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/hot/worker/sleep.hpp"
#include "inject/messages/cupti.hpp"

namespace gpuprof::cupti {

constinit CuptiState g_cupti;

namespace {

using wire::NoticeLevel;

constinit std::atomic<bool> g_driver_seen{false};

constexpr std::uint64_t kMsNs = 1'000'000;
constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint32_t kLockMs = 2000;
/// For a turn; one that takes longer goes on by itself.
constexpr std::uint32_t kTurnMs = 500;

void begin_recording(CuptiState& state, std::uint64_t now_ns) {
  if (state.recording) return update_api_kinds(state);
  start_flush_thread();
  g_callback_state.node_records.store(0, std::memory_order_relaxed);
  g_callback_state.drop_nodes.store(false, std::memory_order_relaxed);
  g_callback_state.captures.store(0, std::memory_order_relaxed);
  g_callback_state.seen.store(0, std::memory_order_relaxed);
  state.budget_stopped = false;
  state.devices_sent = false;
  g_callback_state.accept_until_ns.store(wire::kNever, std::memory_order_release);
  enable_kinds(state);
  report_late_attach(state);
  state.recording = true;
  state.recording_since_ns = now_ns;
  state.next_flush_ns = now_ns;
}

// The agent has set the state it switched to; this one differs in what it costs.
void publish_activity_left_enabled() {
  wire::Stats* stats = hot::g_state.stats;
  if (stats == nullptr || !g_callback_state.activity_left_enabled.load(std::memory_order_relaxed))
    return;
  auto counting = static_cast<std::uint64_t>(wire::AgentState::kCounting);
  stats->state.compare_exchange_strong(
      counting, static_cast<std::uint64_t>(wire::AgentState::kCountingActivityEnabled),
      std::memory_order_release, std::memory_order_relaxed);
}

void end_recording(CuptiState& state, std::uint64_t now_ns) {
  if (!state.recording) return;
  disable_kinds(state);
  state.recording = false;
  if (state.replaced) state.registered = state.replaced = false;
  publish_activity_left_enabled();
  // Records of work launched inside the window still come; times decide what belongs to it.
  g_callback_state.accept_until_ns.store(now_ns | kUntilFlushed, std::memory_order_release);
  state.next_flush_ns = now_ns;
}

void queue_notice_once(CuptiState& state, std::uint32_t what, NoticeLevel level, const char* text) {
  if ((state.sent_notices & what) != 0) return;
  state.sent_notices |= what;
  queue_notice(level, 0, "%s", text);
}

void stop_at_budget(CuptiState& state) {
  if (state.budget_stopped || !state.recording) return;
  state.budget_stopped = true;
  const bool all = stop_device_kinds(state);
  g_callback_state.drop_nodes.store(!all, std::memory_order_relaxed);
  hot::count(wire::Counter::kGraphBudgetStops);
  const auto records = static_cast<unsigned long long>(
      g_callback_state.node_records.load(std::memory_order_relaxed));
  if (all)
    queue_notice(NoticeLevel::kMissing, base::kNoticeGraphNodesStopped,
                 messages::cupti::kDeviceWorkStopped, records);
  else
    queue_notice(NoticeLevel::kMissing, base::kNoticeGraphNodesStopped,
                 messages::cupti::kGraphNodesStopped, records);
}

void report_callback_events(CuptiState& state) {
  const std::uint32_t seen = g_callback_state.seen.load(std::memory_order_relaxed);
  if ((seen & kSawGraphBudget) != 0) stop_at_budget(state);
  if ((seen & kSawGraph) != 0 && driver_is_late() && state.settings.graph_nodes)
    queue_notice_once(state, kReportedLateGraphs, NoticeLevel::kMissing,
                      messages::cupti::kEarlierGraphs);
  if ((seen & kSawZeroTimes) != 0)
    queue_notice_once(state, kReportedZeroTimes, NoticeLevel::kMissing,
                      messages::cupti::kNoValidTimes);
  if ((seen & kSeenUnknownKind) != 0)
    queue_notice_once(state, kReportedUnknownKind, NoticeLevel::kMissing,
                      messages::cupti::kUnknownRecords);
  if ((seen & kSawDiscard) != 0)
    queue_notice_once(state, kReportedDiscard, NoticeLevel::kMissing,
                      messages::cupti::kNoFreeBuffer);
  if (clock_was_foreign())
    queue_notice_once(state, kSentForeignClock, NoticeLevel::kInfo, messages::cupti::kClockChanged);
}

void watch_for_replacement(CuptiState& state, std::uint64_t now_ns) {
  constexpr std::uint64_t kWaits = kind_bit(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  if (!state.recording || (state.kinds & kWaits) == 0) return state.replacement.forget();
  const DeliveryCounts seen{g_callback_state.completions.load(std::memory_order_relaxed),
                            g_callback_state.device_launches.load(std::memory_order_relaxed),
                            g_callback_state.waits.load(std::memory_order_relaxed), flushes_done()};
  if (!state.replacement.is_replaced(seen, now_ns)) return;
  queue_notice_once(state, kReportedReplaced, NoticeLevel::kMissing,
                    messages::cupti::kCallbacksReplaced);
  state.replaced = true;
}

void flush_if_due(CuptiState& state, std::uint64_t now_ns) {
  if (state.program.active || !expects_records(state, now_ns)) {
    if (!state.recording && !is_flush_thread_kept() && flush_started_ns() == 0)
      stop_flush_thread(100);
    return;
  }
  const std::uint64_t since = flush_started_ns();
  if (since != 0) {
    if (elapsed_ns(now_ns, since) > kHungNs)
      queue_notice_once(state, kReportedStuck, NoticeLevel::kFailure, messages::cupti::kFlushHangs);
    return;
  }
  if (now_ns < state.next_flush_ns || !start_flush_thread()) return;
  const bool busy = state.recording || accepting(now_ns);
  const std::uint32_t asked = busy ? state.settings.flush_period_ms : 1000;
  state.next_flush_ns = now_ns + flush_period_ms(g_callback_state.api.version, asked) * kMsNs;
  request_flush(false);
}

// A session of the application is over once nothing of it is on and it had time to read.
bool program_session_done(const ProgramProfiler& other, std::uint64_t now_ns) {
  if (other.idle_since_ns == 0) return false;
  // Kineto's last call is a forced flush with all kinds off; what is launched while we rest is in
  // neither trace. Without that flush its buffers may still have to be read.
  constexpr std::uint64_t kFlushedNs = 20 * kMsNs, kUnflushedNs = 2 * kSecondNs;
  return elapsed_ns(now_ns, other.idle_since_ns) > (other.flushed ? kFlushedNs : kUnflushedNs);
}

bool may_look_for_driver(CuptiState& state, std::uint64_t now_ns) {
  if (g_driver_seen.load(std::memory_order_acquire)) return true;
  if (now_ns < state.next_look_ns) return false;
  state.next_look_ns = now_ns + kSecondNs / 2;
  if (!state.driver.handle) state.driver = find_driver();
  // Mapped is not enough: before cuInit CUPTI would only answer that it is not initialised.
  return state.driver.stub || driver_ready(state.driver);
}

std::uint32_t run_once(std::uint64_t now_ns) {
  const CuptiLock lock(1);
  if (!lock) return 5;
  CuptiState& state = g_cupti;
  if (state.dead) return 1000;
  if (state.exiting) return 1000;
  if (state.program.active) watch_detected_session(state);
  if (state.program.active && program_session_done(state.program, now_ns)) {
    state.program.active = false;
    end_program_share(state, now_ns);
    state.sent_notices &= ~(kReportedHandOver | kSentForeignClock);
    if (state.mode == Mode::kRecording)
      queue_notice(NoticeLevel::kInfo, 0, messages::cupti::kProfilerEnded);
  }
  apply_mode(state, now_ns);
  if (state.open) {
    if (state.recording && !state.devices_sent && query_devices(state.driver)) {
      record_devices();
      state.devices_sent = true;
    }
    report_callback_events(state);
    watch_for_replacement(state, now_ns);
    watch_api_calls(state, now_ns);
    flush_if_due(state, now_ns);
  }
  if (state.recording || accepting(now_ns)) return state.settings.flush_period_ms;
  // Its moment of rest is short, and what is launched after it is ours again.
  if (state.program.active && state.program.idle_since_ns != 0)
    return state.program.flushed ? 10 : 50;
  return state.mode == Mode::kOff ? 1000 : 500;
}

// What tick() found out on the thread that talks to CUPTI.
constinit std::atomic<std::uint32_t> g_next_ms{0};

void run_once_now() { g_next_ms.store(run_once(base::mono_ns()), std::memory_order_relaxed); }

}  // namespace

bool expects_records(const CuptiState& state, std::uint64_t now_ns) {
  return state.recording || state.kinds != 0 || accepting(now_ns);
}

void apply_mode(CuptiState& state, std::uint64_t now_ns) {
  state.applied.store(true, std::memory_order_release);
  if (state.dead || state.exiting) return;
  if (state.program.active) {
    if (state.mode == Mode::kRecording)
      begin_program_share(state, now_ns);
    else
      end_program_share(state, now_ns);
    return;
  }
  if (state.mode == Mode::kOff) {
    end_recording(state, now_ns);
    if (state.open) {
      if (state.subscriber_state == SubscriberState::kOurs) set_callbacks(state, Mode::kOff);
      release_subscriber(state);
    }
    return;
  }
  if (!state.open && !may_look_for_driver(state, now_ns)) return;
  if (!open_cupti(state, now_ns)) return;
  if (state.subscriber_state != SubscriberState::kOurs && detect_running_session(state, now_ns))
    return;
  if (!acquire_subscriber(state, now_ns)) return;
  register_exit_flush();
  // What is launched between the two has a call without GPU work, and not the reverse.
  if (state.mode != Mode::kRecording) end_recording(state, now_ns);
  if (state.subscriber_state == SubscriberState::kOurs) set_callbacks(state, state.mode);
  if (state.mode == Mode::kRecording) begin_recording(state, now_ns);
}

bool is_own_thread() { return hot::is_our_thread(hot::current_tid()); }

CuptiLock::CuptiLock(std::uint32_t deadline_ms) {
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  const std::uint64_t ns = static_cast<std::uint64_t>(until.tv_nsec) + deadline_ms * kMsNs;
  until.tv_sec += static_cast<time_t>(ns / kSecondNs);
  until.tv_nsec = static_cast<long>(ns % kSecondNs);
  held_ = pthread_mutex_timedlock(&g_cupti.lock, &until) == 0;
}
CuptiLock::~CuptiLock() {
  if (held_) pthread_mutex_unlock(&g_cupti.lock);
}

void on_driver_initialised() {
  // This thread has the program's descriptors, the worker has not.
  if (!is_own_thread()) keep_flush_thread();
  g_driver_seen.store(true, std::memory_order_release);
}
bool is_driver_initialised() { return g_driver_seen.load(std::memory_order_acquire); }

bool driver_mapped() {
  MappedLibrary found;
  return find_mapped_libraries("libcuda.so", &found, 1) != 0;
}

bool is_activity_left_enabled() {
  return g_callback_state.activity_left_enabled.load(std::memory_order_relaxed);
}

bool set_step_expression(const char* expression) {
  const CuptiLock lock(kLockMs);
  return lock && set_expression(expression);
}

std::uint32_t tick(std::uint64_t now_ns) {
  match_pending(now_ns);
  hook_cupti_callers();
  const bool done = run_on_flush_thread(run_once_now, kTurnMs);
  const CuptiLock lock(1);
  if (!lock) return 5;
  send_queued_notices();
  return done ? g_next_ms.load(std::memory_order_relaxed) : 50;
}

bool flush(bool forced, std::uint32_t deadline_ms) {
  bool begun = false;
  {
    const CuptiLock lock(deadline_ms);
    if (lock && (g_cupti.dead || !g_cupti.open || g_cupti.program.active)) return false;
    if (lock && !expects_records(g_cupti, base::mono_ns())) return true;
    begun = lock && start_flush_thread();
  }
  if (begun && wait_flush(request_flush(forced), deadline_ms)) return true;
  hot::count(wire::Counter::kFlushTimeouts);
  return false;
}

void before_fork(std::uint32_t starved_ms) {
  // Bounded: a switch that hangs inside CUPTI must not keep the program from forking.
  const CuptiLock lock(200);
  if (lock) stop_flush_thread(200, starved_ms);
}

void on_worker_paused_before_fork(std::uint32_t starved_ms) {
  if (is_flush_thread_kept()) before_fork(starved_ms);
}

void after_fork_child() {
  const bool had_cupti = g_cupti.open && (g_cupti.subscriber_state == SubscriberState::kOurs ||
                                          g_cupti.kinds != 0 || g_cupti.callbacks_in_force);
  const bool driver = g_driver_seen.load(std::memory_order_relaxed);
  reset_flush_thread_after_fork();
  clear_queued_notices();
  reset_mode();
  // The lock may be held by a thread that does not exist here.
  const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  g_cupti.lock = fresh;
  g_cupti.mode = Mode::kOff;
  g_cupti.recording = false;
  g_cupti.kinds = 0;
  g_callback_state.accept_until_ns.store(0, std::memory_order_relaxed);
  // CUDA initialised before the fork cannot be used in the child, and CUPTI's locks may be held.
  if (had_cupti || driver) g_cupti.dead = true;
}

}  // namespace gpuprof::cupti
