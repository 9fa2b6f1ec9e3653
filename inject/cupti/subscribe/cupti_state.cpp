// SPDX-License-Identifier: Apache-2.0
//
// The door's functions: one reconciling step, one periodic turn, exit and fork.
//
// Context:  worker | boundary
// Owns:     the room
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

namespace gpuprof::cupti {

constinit Room g_room;

namespace {

using wire::NoticeLevel;

constinit std::atomic<bool> g_driver_seen{false};

constexpr std::uint64_t kMsNs = 1'000'000;
constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint32_t kLockMs = 2000;
/// For a turn; one that takes longer goes on by itself.
constexpr std::uint32_t kTurnMs = 500;

void begin_recording(Room& room, std::uint64_t now_ns) {
  if (room.recording) return follow_calls(room);
  start_flusher();
  g_live.node_records.store(0, std::memory_order_relaxed);
  g_live.drop_nodes.store(false, std::memory_order_relaxed);
  g_live.captures.store(0, std::memory_order_relaxed);
  g_live.seen.store(0, std::memory_order_relaxed);
  room.budget_stopped = false;
  room.devices_sent = false;
  g_live.accept_until_ns.store(wire::kNever, std::memory_order_release);
  enable_kinds(room);
  say_what_is_late(room);
  room.recording = true;
  room.recording_since_ns = now_ns;
  room.next_flush_ns = now_ns;
}

// The agent has set the state it switched to; this one differs in what it costs.
void show_kept_kinds() {
  wire::Stats* stats = hot::g_state.stats;
  if (stats == nullptr || !g_live.kinds_kept.load(std::memory_order_relaxed)) return;
  auto counting = static_cast<std::uint64_t>(wire::AgentState::kCounting);
  stats->state.compare_exchange_strong(
      counting, static_cast<std::uint64_t>(wire::AgentState::kCountingKindsKept),
      std::memory_order_release, std::memory_order_relaxed);
}

void end_recording(Room& room, std::uint64_t now_ns) {
  if (!room.recording) return;
  disable_kinds(room);
  room.recording = false;
  if (room.replaced) room.registered = room.replaced = false;
  show_kept_kinds();
  // Records of work launched inside the window still come; times decide what belongs to it.
  g_live.accept_until_ns.store(now_ns | kUntilFlushed, std::memory_order_release);
  room.next_flush_ns = now_ns;
}

void say_once(Room& room, std::uint32_t what, NoticeLevel level, const char* text) {
  if ((room.said & what) != 0) return;
  room.said |= what;
  say(level, 0, "%s", text);
}

void stop_at_budget(Room& room) {
  if (room.budget_stopped || !room.recording) return;
  room.budget_stopped = true;
  const bool all = stop_device_kinds(room);
  g_live.drop_nodes.store(!all, std::memory_order_relaxed);
  hot::count(wire::Counter::kGraphBudgetStops);
  say(NoticeLevel::kMissing, base::kNoticeNodesStopped,
      "After %llu records of CUDA graph nodes %s until the window ends: CUPTI does not give its "
      "device buffers back under long graph replay, later times would be wrong. Use --cuda-graph "
      "graph or shorter windows.",
      static_cast<unsigned long long>(g_live.node_records.load(std::memory_order_relaxed)),
      all ? "no kernel, copy or memory set is recorded"
          : "those that come are left out (below CUDA 13.0 Update 1 they cannot be switched off), "
            "and of other GPU work what has no valid time,");
}

void tell_what_callbacks_saw(Room& room) {
  const std::uint32_t seen = g_live.seen.load(std::memory_order_relaxed);
  if ((seen & kSawGraphBudget) != 0) stop_at_budget(room);
  if ((seen & kSawGraph) != 0 && driver_is_late() && room.settings.graph_nodes)
    say_once(room, kSaidLateGraphs, NoticeLevel::kMissing,
             "The program launches CUDA graphs. Of graphs that were instantiated before gpuprof "
             "came CUPTI may tell less: nodes without names, copies that look like kernels.");
  if ((seen & kSawZeroTimes) != 0)
    say_once(room, kSaidZeroTimes, NoticeLevel::kMissing,
             "Some GPU records came without valid times (device buffers exhausted, or a fault in "
             "CUPTI). They are counted and not drawn.");
  if ((seen & kSawUnknownKind) != 0)
    say_once(room, kSaidUnknownKind, NoticeLevel::kMissing,
             "CUPTI wrote records its own iterator does not know; the rest of each such buffer "
             "was lost and counted.");
  if ((seen & kSawDiscard) != 0)
    say_once(
        room, kSaidDiscard, NoticeLevel::kMissing,
        "GPU records were lost because all buffers for CUPTI were in use: more threads launched "
        "work between two flushes than there are buffers, or our thread got no processor. How many "
        "records is not known.");
  if (clock_was_foreign())
    say_once(room, kSaidForeignClock, NoticeLevel::kInfo,
             "Another profiler in the program changed CUPTI's clock; times are converted.");
}

void watch_for_replacement(Room& room, std::uint64_t now_ns) {
  constexpr std::uint64_t kWaits = kind_bit(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  if (!room.recording || (room.kinds & kWaits) == 0) return room.replacement.forget();
  const Delivery seen{g_live.completions.load(std::memory_order_relaxed),
                      g_live.runs.load(std::memory_order_relaxed),
                      g_live.waits.load(std::memory_order_relaxed), flushes_done()};
  if (!room.replacement.is_replaced(seen, now_ns)) return;
  say_once(room, kSaidReplaced, NoticeLevel::kMissing,
           "GPU records stopped although the program goes on launching work: another profiler has "
           "replaced our CUPTI callbacks. gpuprof leaves it alone and tries again with the next "
           "window.");
  room.replaced = true;
}

void turn_flush(Room& room, std::uint64_t now_ns) {
  if (room.other.active || !records_expected(room, now_ns)) {
    if (!room.recording && !helper_is_kept() && flush_running_since() == 0) stop_flusher(100);
    return;
  }
  const std::uint64_t since = flush_running_since();
  if (since != 0) {
    if (elapsed_ns(now_ns, since) > kHungNs)
      say_once(room, kSaidStuck, NoticeLevel::kFailure,
               "CUPTI's flush does not return; GPU events come only as far as CUPTI delivers them "
               "by itself. The program is not held up.");
    return;
  }
  if (now_ns < room.next_flush_ns || !start_flusher()) return;
  const bool busy = room.recording || accepting(now_ns);
  const std::uint32_t asked = busy ? room.settings.flush_period_ms : 1000;
  room.next_flush_ns = now_ns + flush_period_ms(g_live.api.version, asked) * kMsNs;
  ask_flush(false);
}

// A session of the application is over once nothing of it is on and it had time to read.
bool other_is_done(const OtherSession& other, std::uint64_t now_ns) {
  if (other.idle_since_ns == 0) return false;
  // Kineto's last call is a forced flush with all kinds off; what is launched while we rest is in
  // neither trace. Without that flush its buffers may still have to be read.
  constexpr std::uint64_t kFlushedNs = 20 * kMsNs, kUnflushedNs = 2 * kSecondNs;
  return elapsed_ns(now_ns, other.idle_since_ns) > (other.flushed ? kFlushedNs : kUnflushedNs);
}

bool may_look_for_driver(Room& room, std::uint64_t now_ns) {
  if (g_driver_seen.load(std::memory_order_acquire)) return true;
  if (now_ns < room.next_look_ns) return false;
  room.next_look_ns = now_ns + kSecondNs / 2;
  if (!room.driver.handle) room.driver = find_driver();
  // Mapped is not enough: before cuInit CUPTI would only answer that it is not initialised.
  return room.driver.stub || driver_ready(room.driver);
}

std::uint32_t turn(std::uint64_t now_ns) {
  const RoomLock lock(1);
  if (!lock) return 5;
  Room& room = g_room;
  if (room.dead) return 1000;
  if (room.exiting) return 1000;
  if (room.other.active) watch_joined_session(room);
  if (room.other.active && other_is_done(room.other, now_ns)) {
    room.other.active = false;
    close_share(room, now_ns);
    room.said &= ~(kSaidHandOver | kSaidForeignClock);
    if (room.wanted == Wanted::kRecording)
      say(NoticeLevel::kInfo, 0,
          "The program's own profiler is done: GPU events are recorded again.");
  }
  apply(room, now_ns);
  if (room.open) {
    if (room.recording && !room.devices_sent && query_devices(room.driver)) {
      record_devices();
      room.devices_sent = true;
    }
    tell_what_callbacks_saw(room);
    watch_for_replacement(room, now_ns);
    watch_calls(room, now_ns);
    turn_flush(room, now_ns);
  }
  if (room.recording || accepting(now_ns)) return room.settings.flush_period_ms;
  // Its moment of rest is short, and what is launched after it is ours again.
  if (room.other.active && room.other.idle_since_ns != 0) return room.other.flushed ? 10 : 50;
  return room.wanted == Wanted::kOff ? 1000 : 500;
}

// What tick() found out on the thread that talks to CUPTI.
constinit std::atomic<std::uint32_t> g_next_ms{0};

void turn_now() { g_next_ms.store(turn(base::mono_ns()), std::memory_order_relaxed); }

}  // namespace

bool records_expected(const Room& room, std::uint64_t now_ns) {
  return room.recording || room.kinds != 0 || accepting(now_ns);
}

void apply(Room& room, std::uint64_t now_ns) {
  room.applied.store(true, std::memory_order_release);
  if (room.dead || room.exiting) return;
  if (room.other.active) {
    if (room.wanted == Wanted::kRecording)
      open_share(room, now_ns);
    else
      close_share(room, now_ns);
    return;
  }
  if (room.wanted == Wanted::kOff) {
    end_recording(room, now_ns);
    if (room.open) {
      if (room.slot == Slot::kOurs) set_callbacks(room, Wanted::kOff);
      release_slot(room);
    }
    return;
  }
  if (!room.open && !may_look_for_driver(room, now_ns)) return;
  if (!open_cupti(room, now_ns)) return;
  if (room.slot != Slot::kOurs && joins_running_session(room, now_ns)) return;
  if (!take_slot(room, now_ns)) return;
  hook_late_exit();
  // What is launched between the two has a call without GPU work, and not the reverse.
  if (room.wanted != Wanted::kRecording) end_recording(room, now_ns);
  if (room.slot == Slot::kOurs) set_callbacks(room, room.wanted);
  if (room.wanted == Wanted::kRecording) begin_recording(room, now_ns);
}

bool on_our_thread() { return hot::is_our_thread(hot::this_tid()); }

RoomLock::RoomLock(std::uint32_t deadline_ms) {
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  const std::uint64_t ns = static_cast<std::uint64_t>(until.tv_nsec) + deadline_ms * kMsNs;
  until.tv_sec += static_cast<time_t>(ns / kSecondNs);
  until.tv_nsec = static_cast<long>(ns % kSecondNs);
  held_ = pthread_mutex_timedlock(&g_room.lock, &until) == 0;
}
RoomLock::~RoomLock() {
  if (held_) pthread_mutex_unlock(&g_room.lock);
}

void driver_seen() {
  // This thread has the program's descriptors, the worker has not.
  if (!on_our_thread()) keep_helper();
  g_driver_seen.store(true, std::memory_order_release);
}
bool driver_was_seen() { return g_driver_seen.load(std::memory_order_acquire); }

bool driver_mapped() {
  Mapped found;
  return find_mapped("libcuda.so", &found, 1) != 0;
}

bool kinds_kept() { return g_live.kinds_kept.load(std::memory_order_relaxed); }

bool set_step_expression(const char* expression) {
  const RoomLock lock(kLockMs);
  return lock && set_expression(expression);
}

std::uint32_t tick(std::uint64_t now_ns) {
  match_waiting(now_ns);
  follow_callers();
  const bool done = run_on_helper(turn_now, kTurnMs);
  const RoomLock lock(1);
  if (!lock) return 5;
  deliver_sentences();
  return done ? g_next_ms.load(std::memory_order_relaxed) : 50;
}

bool flush(bool forced, std::uint32_t deadline_ms) {
  bool begun = false;
  {
    const RoomLock lock(deadline_ms);
    if (lock && (g_room.dead || !g_room.open || g_room.other.active)) return false;
    if (lock && !records_expected(g_room, base::mono_ns())) return true;
    begun = lock && start_flusher();
  }
  if (begun && wait_flush(ask_flush(forced), deadline_ms)) return true;
  hot::count(wire::Counter::kFlushesMissed);
  return false;
}

void before_fork(std::uint32_t starved_ms) {
  // Bounded: a switch that hangs inside CUPTI must not keep the program from forking.
  const RoomLock lock(200);
  if (lock) stop_flusher(200, starved_ms);
}

void worker_stands_before_fork(std::uint32_t starved_ms) {
  if (helper_is_kept()) before_fork(starved_ms);
}

void after_fork_child() {
  const bool had_cupti =
      g_room.open && (g_room.slot == Slot::kOurs || g_room.kinds != 0 || g_room.in_force);
  const bool driver = g_driver_seen.load(std::memory_order_relaxed);
  forget_flusher();
  forget_sentences();
  forget_wants();
  // The lock may be held by a thread that does not exist here.
  const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  g_room.lock = fresh;
  g_room.wanted = Wanted::kOff;
  g_room.recording = false;
  g_room.kinds = 0;
  g_live.accept_until_ns.store(0, std::memory_order_relaxed);
  // CUDA initialised before the fork cannot be used in the child, and CUPTI's locks may be held.
  if (had_cupti || driver) g_room.dead = true;
}

}  // namespace gpuprof::cupti
