// SPDX-License-Identifier: Apache-2.0
//
// Bookkeeping of the program's own CUPTI session.
//
// Context:  boundary
// Owns:     nothing
#include "inject/cupti/interpose/program_profiler.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "gpuprof/base/clock.hpp"
#include "gpuprof/base/notices.hpp"
#include "inject/cupti/activity/buffer_callbacks.hpp"
#include "inject/cupti/activity/buffer_pool.hpp"
#include "inject/cupti/activity/flush_thread.hpp"
#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/interpose/buffer_forwarding.hpp"
#include "inject/cupti/library/hazards.hpp"
#include "inject/cupti/notice_queue.hpp"
#include "inject/cupti/subscribe/attributes.hpp"
#include "inject/cupti/subscribe/cupti_state.hpp"
#include "inject/hot/state.hpp"
#include "inject/messages/cupti.hpp"

namespace gpuprof::cupti {

namespace {

using wire::NoticeLevel;

constexpr std::uint32_t kLockMs = 1000;
constexpr std::uint32_t kFlushMs = 1000;
constexpr std::uint32_t kEndMs = 100;
// From its last call to our next question for the slot.
constexpr std::uint64_t kFreedNs = 50'000'000;

// Kept while nothing of ours is awake, too: whoever comes later must know whose CUPTI is.
struct ProgramState {
  std::atomic<SubscribeVersion> slot{SubscribeVersion::kNone};
  std::atomic<std::uint64_t> kinds{0};
  std::atomic<bool> thread_ids{false};  // it has said how its threads are called
};
constinit ProgramState g_program;

// From here on nobody records: what is launched until we have CUPTI back is in no trace.
void mark_session_done(ProgramProfiler& other, std::uint64_t now_ns) {
  if (other.done_ns != 0) return;
  other.done_ns = now_ns;
  other.done_launches_at = launch_count();
}

// It had the slot before we came: now it may be free.
void retry_subscribe_soon(CuptiState& state) {
  if (state.subscriber_state != SubscriberState::kTaken) return;
  state.retry_at_ns = base::mono_ns() + kFreedNs;
  hot::wake_worker();
}

bool reclaim_buffers(bool forced, std::uint32_t deadline_ms) {
  return start_flush_thread() && wait_flush(request_flush(forced), deadline_ms);
}

// What is in CUPTI's buffers is ours and must come back to us before the program's callbacks
// stand in their place. Our window may be long over: its last records are still to come, or a kind
// stays on and fills our buffers unread.
void disable_own_activity(CuptiState& state) {
  const std::uint64_t now_ns = base::mono_ns();
  if (!expects_records(state, now_ns) && !g_buffers.has_outstanding()) return;
  const bool wanted = state.recording || accepting(now_ns);
  if (state.recording) disable_kinds(state);
  const bool flushed = reclaim_buffers(true, kFlushMs);
  if (!flushed && wanted) hot::count(wire::Counter::kFlushTimeouts);
  state.recording = false;
  // Of a flush that goes on, what still comes to our callbacks is ours.
  g_callback_state.accept_until_ns.store(flushed || !wanted ? 0 : base::mono_ns() | kUntilFlushed,
                                         std::memory_order_release);
}

// A kind that stays on may have had CUPTI ask us once more between the flush and the program's
// callbacks: what it records next would come to us. Not forced, which would end records that run;
// the program may hold a lock that its own callbacks want.
void reclaim_last_buffer() {
  constexpr std::uint32_t kLastMs = 50;
  if (g_buffers.has_outstanding()) reclaim_buffers(false, kLastMs);
}

void release_to_program(CuptiState& state) {
  if (!state.open) return;
  disable_own_activity(state);
  restore_attributes(state);
  restore_program_callbacks(state);
  if (!state.callbacks_in_force) reclaim_last_buffer();
}

void begin_program_session(CuptiState& state) {
  ProgramProfiler& other = state.program;
  release_to_program(state);
  other.active = true;
  other.idle_since_ns = base::mono_ns();
  other.done_ns = 0;
  mark_session_done(other, other.idle_since_ns);
  other.flushed = false;
  ++other.sessions;
  if (state.mode == Mode::kRecording) begin_program_share(state, other.idle_since_ns);
}

/// " (N launches and waits)"; nothing for 0: without the slot we have no callbacks, and no count.
void format_launch_count(char* text, std::size_t bytes, std::uint64_t launches) {
  text[0] = '\0';
  if (launches == 1)
    std::snprintf(text, bytes, "%s", messages::cupti::kOneLaunch);
  else if (launches != 0)
    std::snprintf(text, bytes, messages::cupti::kLaunches,
                  static_cast<unsigned long long>(launches));
}

/// Runs f under the component's lock if this process is one we watch. The program waits no longer
/// than kLockMs for a thread of ours that gets no processor: then the call is counted.
template <typename F>
void with_cupti(F f) {
  if (!hot::is_owner_process()) return;
  const CuptiLock lock(kLockMs);
  if (!lock) return hot::count(wire::Counter::kProgramCuptiCallsMissed);
  if (!g_cupti.dead) f(g_cupti);
}

/// The same between two sessions of ours, too: buffers of ours, and a kind that stays on, are left
/// in CUPTI then.
template <typename F>
void with_cupti_or_leftovers(F f) {
  if (hot::is_owner_process()) return with_cupti(f);
  if (g_cupti.buffers_pid.load(std::memory_order_relaxed) != getpid()) return;
  const CuptiLock lock(kLockMs);
  if (!lock || g_cupti.dead) return;
  f(g_cupti);
  // Nobody else would end it now.
  if (!is_flush_thread_kept()) stop_flush_thread(kEndMs);
}

}  // namespace

void restore_program_callbacks(CuptiState& state) {
  state.registered = false;
  if (!state.callbacks_in_force) return;
  state.callbacks_in_force =
      !restore_program_registration(g_callback_state.api.cuptiActivityRegisterCallbacks);
}

void update_idle_since(ProgramProfiler& other) {
  // PyTorch's keeps the slot when its session is over, until the program ends. What is done by
  // later calls is not seen.
  if (other.kinds != 0 || program_subscribe_version() == SubscribeVersion::kV2) {
    other.idle_since_ns = other.done_ns = 0;
    other.flushed = false;
  } else if (other.idle_since_ns == 0) {
    other.idle_since_ns = base::mono_ns();
    mark_session_done(other, other.idle_since_ns);
  }
}

void begin_program_share(CuptiState& state, std::uint64_t now_ns) {
  ProgramProfiler& other = state.program;
  if (other.share_since_ns != 0) return;
  other.share_since_ns = now_ns;
  other.share_launches_at = launch_count();
  if ((state.sent_notices & kReportedHandOver) != 0) return;
  state.sent_notices |= kReportedHandOver;
  queue_notice(NoticeLevel::kMissing, base::kNoticeCuptiYielded | base::kNoticeProvisional,
               messages::cupti::kYielded,
               state.open && has_hazard(g_callback_state.api.version, Hazard::kKernelKindStays)
                   ? messages::cupti::kKernelsStayedOnClause
                   : "");
  hot::wake_worker();
}

void end_program_share(CuptiState& state, std::uint64_t now_ns) {
  ProgramProfiler& other = state.program;
  if (other.share_since_ns == 0) return;
  const std::uint64_t launches = launch_count();
  // Our recording may have begun when it was done already.
  const std::uint64_t since_ns = other.share_since_ns;
  const std::uint64_t done_ns =
      other.done_ns == 0 ? now_ns : since_ns + elapsed_ns(other.done_ns, since_ns);
  const std::uint64_t at_done = other.done_ns == 0   ? launches
                                : done_ns > since_ns ? other.done_launches_at
                                                     : other.share_launches_at;
  other.share_since_ns = 0;
  char during[48], gap[224] = "";
  format_launch_count(during, sizeof during, at_done - other.share_launches_at);
  const std::uint64_t gap_ns = elapsed_ns(now_ns, done_ns);
  // With callbacks all the time none counted means none made.
  if (gap_ns != 0 && (launches != at_done || state.subscriber_state != SubscriberState::kOurs)) {
    char lost[48];
    format_launch_count(lost, sizeof lost, launches - at_done);
    std::snprintf(gap, sizeof gap, messages::cupti::kInNeitherTrace,
                  static_cast<unsigned long long>(gap_ns / 1'000'000), lost);
  }
  queue_notice(NoticeLevel::kMissing, base::kNoticeCuptiYielded | base::kNoticeFinal,
               messages::cupti::kProfilerShare,
               static_cast<unsigned long long>(elapsed_ns(done_ns, since_ns) / 1'000'000), during,
               gap);
}

void yield_cupti(ProgramCall call) {
  with_cupti_or_leftovers([call](CuptiState& state) {
    // Between two sessions of ours nothing is theirs to have: the next one finds what runs.
    if (!hot::is_owner_process())
      release_to_program(state);
    else if (!state.program.active)
      begin_program_session(state);
    if (call == ProgramCall::kSubscribe) release_subscriber(state);
  });
}

SubscribeVersion program_subscribe_version() {
  return g_program.slot.load(std::memory_order_relaxed);
}
std::uint64_t program_kinds() { return g_program.kinds.load(std::memory_order_relaxed); }

void on_program_set_thread_ids() { g_program.thread_ids.store(true, std::memory_order_relaxed); }
bool program_chose_thread_ids() { return g_program.thread_ids.load(std::memory_order_relaxed); }

void reset_program_state() {
  g_program.slot.store(SubscribeVersion::kNone, std::memory_order_relaxed);
  g_program.kinds.store(0, std::memory_order_relaxed);
  clear_program_callbacks();
}

void on_program_subscribed(bool worked, SubscribeVersion by) {
  if (worked) g_program.slot.store(by, std::memory_order_relaxed);
  with_cupti([](CuptiState& state) { update_idle_since(state.program); });
}

void on_program_unsubscribed(bool worked) {
  if (worked) g_program.slot.store(SubscribeVersion::kNone, std::memory_order_relaxed);
  with_cupti([](CuptiState& state) {
    retry_subscribe_soon(state);
    update_idle_since(state.program);
  });
}

void on_program_registered() {
  with_cupti_or_leftovers([](CuptiState& state) {
    state.registered = state.callbacks_in_force = false;
    reclaim_last_buffer();
    // A moment of rest counts from the last thing it did.
    state.program.idle_since_ns = 0;
    update_idle_since(state.program);
  });
}

void on_program_enabled(std::uint32_t kind, bool worked) {
  if (worked) g_program.kinds.fetch_or(kind_bit(kind), std::memory_order_relaxed);
  with_cupti([kind, worked](CuptiState& state) {
    if (worked) state.program.kinds |= kind_bit(kind);
    update_idle_since(state.program);
  });
}

void on_program_disabled(std::uint32_t kind) {
  g_program.kinds.fetch_and(~kind_bit(kind), std::memory_order_relaxed);
  with_cupti_or_leftovers([kind](CuptiState& state) {
    state.program.kinds &= ~kind_bit(kind);
    // CUPTI's switches are one for all: what we had kept on is off now too.
    state.kinds &= ~kind_bit(kind);
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
      g_callback_state.activity_left_enabled.store(false, std::memory_order_relaxed);
    update_idle_since(state.program);
  });
}

void on_program_flushed() {
  with_cupti([](CuptiState& state) {
    retry_subscribe_soon(state);
    if (!state.program.active || state.program.idle_since_ns == 0) return;
    state.program.flushed = true;
    state.program.idle_since_ns = base::mono_ns();
    hot::wake_worker();
  });
}

void on_program_finalized() {
  reset_program_state();
  with_cupti_or_leftovers([](CuptiState& state) {
    // CUPTI forgot all settings, ours too.
    state.kinds = 0;
    state.registered = state.callbacks_in_force = false;
    state.saved_attributes = SavedAttributes{};
    state.recording = false;
    g_callback_state.activity_left_enabled.store(false, std::memory_order_relaxed);
    state.subscriber_state = state.subscriber_state == SubscriberState::kOurs
                                 ? SubscriberState::kFree
                                 : state.subscriber_state;
    set_callback_flags(state, Mode::kOff);
    state.program.kinds = 0;
    state.program.active = hot::is_owner_process();
    state.program.idle_since_ns = 0;
    update_idle_since(state.program);
    // Nothing of it is left in CUPTI that it could still want to read.
    state.program.flushed = true;
  });
}

}  // namespace gpuprof::cupti
