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

namespace gpuprof::cupti {

namespace {

using wire::NoticeLevel;

constexpr std::uint32_t kLockMs = 1000;
constexpr std::uint32_t kFlushMs = 1000;
constexpr std::uint32_t kEndMs = 100;
// From its last call to our next question for the slot.
constexpr std::uint64_t kFreedNs = 50'000'000;

// Kept while nothing of ours is awake, too: whoever comes later must know whose CUPTI is.
struct OfProgram {
  std::atomic<SlotBy> slot{SlotBy::kNone};
  std::atomic<std::uint64_t> kinds{0};
  std::atomic<bool> thread_ids{false};  // it has said how its threads are called
};
constinit OfProgram g_program;

// From here on nobody records: what is launched until we have CUPTI back is in no trace.
void note_done(OtherSession& other, std::uint64_t now_ns) {
  if (other.done_ns != 0) return;
  other.done_ns = now_ns;
  other.done_launches_at = launches_ever();
}

// It had the slot before we came: now it may be free.
void ask_soon(Room& room) {
  if (room.slot != Slot::kTaken) return;
  room.retry_at_ns = base::mono_ns() + kFreedNs;
  hot::wake_worker();
}

bool take_buffers_back(bool forced, std::uint32_t deadline_ms) {
  return start_flusher() && wait_flush(ask_flush(forced), deadline_ms);
}

// What is in CUPTI's buffers is ours and must come back to us before the program's callbacks
// stand in their place. Our window may be long over: its last records are still to come, or a kind
// stays on and fills our buffers unread.
void put_down_activity(Room& room) {
  const std::uint64_t now_ns = base::mono_ns();
  if (!records_expected(room, now_ns) && !g_buffers.any_out()) return;
  const bool wanted = room.recording || accepting(now_ns);
  if (room.recording) disable_kinds(room);
  const bool flushed = take_buffers_back(true, kFlushMs);
  if (!flushed && wanted) hot::count(wire::Counter::kFlushesMissed);
  room.recording = false;
  // Of a flush that goes on, what still comes to our callbacks is ours.
  g_live.accept_until_ns.store(flushed || !wanted ? 0 : base::mono_ns() | kUntilFlushed,
                               std::memory_order_release);
}

// A kind that stays on may have had CUPTI ask us once more between the flush and the program's
// callbacks: what it records next would come to us. Not forced, which would end records that run;
// the program may hold a lock that its own callbacks want.
void take_back_the_last() {
  constexpr std::uint32_t kLastMs = 50;
  if (g_buffers.any_out()) take_buffers_back(false, kLastMs);
}

void lay_down(Room& room) {
  if (!room.open) return;
  put_down_activity(room);
  put_back_switches(room);
  give_back_callbacks(room);
  if (!room.in_force) take_back_the_last();
}

void begin_other(Room& room) {
  OtherSession& other = room.other;
  lay_down(room);
  other.active = true;
  other.idle_since_ns = base::mono_ns();
  other.done_ns = 0;
  note_done(other, other.idle_since_ns);
  other.flushed = false;
  ++other.sessions;
  if (room.wanted == Wanted::kRecording) open_share(room, other.idle_since_ns);
}

/// " (N launches and waits)"; nothing for 0: without the slot we have no callbacks, and no count.
void seen(char* text, std::size_t bytes, std::uint64_t launches) {
  text[0] = '\0';
  if (launches != 0)
    std::snprintf(text, bytes, " (%llu launch%s)", static_cast<unsigned long long>(launches),
                  launches == 1 ? " or wait" : "es and waits");
}

/// Runs f under the room's lock if this process is one we watch. The program waits no longer than
/// kLockMs for a thread of ours that gets no processor: then the call is counted.
template <typename F>
void with_room(F f) {
  if (!hot::alive()) return;
  const RoomLock lock(kLockMs);
  if (!lock) return hot::count(wire::Counter::kOtherCallsMissed);
  if (!g_room.dead) f(g_room);
}

/// The same between two sessions of ours, too: buffers of ours, and a kind that stays on, are left
/// in CUPTI then.
template <typename F>
void with_what_is_left(F f) {
  if (hot::alive()) return with_room(f);
  if (g_room.came_in.load(std::memory_order_relaxed) != getpid()) return;
  const RoomLock lock(kLockMs);
  if (!lock || g_room.dead) return;
  f(g_room);
  // Nobody else would end it now.
  if (!helper_is_kept()) stop_flusher(kEndMs);
}

}  // namespace

void give_back_callbacks(Room& room) {
  room.registered = false;
  if (!room.in_force) return;
  room.in_force = !register_again_for_program(g_live.api.cuptiActivityRegisterCallbacks);
}

void update_idle(OtherSession& other) {
  // PyTorch's keeps the slot when its session is over, until the program ends. What is done by
  // later calls is not seen.
  if (other.kinds != 0 || slot_of_program() == SlotBy::kLater) {
    other.idle_since_ns = other.done_ns = 0;
    other.flushed = false;
  } else if (other.idle_since_ns == 0) {
    other.idle_since_ns = base::mono_ns();
    note_done(other, other.idle_since_ns);
  }
}

void open_share(Room& room, std::uint64_t now_ns) {
  OtherSession& other = room.other;
  if (other.share_since_ns != 0) return;
  other.share_since_ns = now_ns;
  other.share_launches_at = launches_ever();
  if ((room.said & kSaidHandOver) != 0) return;
  room.said |= kSaidHandOver;
  say(NoticeLevel::kMissing, base::kNoticeHandOver | base::kNoticeOpening,
      "The program started its own CUPTI profiler (torch.profiler or the like): it has the GPU "
      "events until it is done, gpuprof goes on with everything else.%s",
      room.open && has_hazard(g_live.api.version, Hazard::kKernelKindStays)
          ? " Kernel records could not be switched off safely before (CUPTI below 13.0 Update 1)."
          : "");
  hot::wake_worker();
}

void close_share(Room& room, std::uint64_t now_ns) {
  OtherSession& other = room.other;
  if (other.share_since_ns == 0) return;
  const std::uint64_t launches = launches_ever();
  // Our recording may have begun when it was done already.
  const std::uint64_t since_ns = other.share_since_ns;
  const std::uint64_t done_ns =
      other.done_ns == 0 ? now_ns : since_ns + elapsed_ns(other.done_ns, since_ns);
  const std::uint64_t at_done = other.done_ns == 0   ? launches
                                : done_ns > since_ns ? other.done_launches_at
                                                     : other.share_launches_at;
  other.share_since_ns = 0;
  char during[48], gap[224] = "";
  seen(during, sizeof during, at_done - other.share_launches_at);
  const std::uint64_t gap_ns = elapsed_ns(now_ns, done_ns);
  // With callbacks all the time none counted means none made.
  if (gap_ns != 0 && (launches != at_done || room.slot != Slot::kOurs)) {
    char lost[48];
    seen(lost, sizeof lost, launches - at_done);
    std::snprintf(gap, sizeof gap,
                  " What was launched in the %llu ms%s from its end until gpuprof had CUPTI back "
                  "is in neither.",
                  static_cast<unsigned long long>(gap_ns / 1'000'000), lost);
  }
  say(NoticeLevel::kMissing, base::kNoticeHandOver | base::kNoticeClosing,
      "The program started its own CUPTI profiler and had the GPU events of %llu ms of the "
      "recording%s: they are in its trace, not in this one.%s",
      static_cast<unsigned long long>(elapsed_ns(done_ns, since_ns) / 1'000'000), during, gap);
}

void step_aside(OtherCall call) {
  with_what_is_left([call](Room& room) {
    // Between two sessions of ours nothing is theirs to have: the next one finds what runs.
    if (!hot::alive())
      lay_down(room);
    else if (!room.other.active)
      begin_other(room);
    if (call == OtherCall::kSubscribe) release_slot(room);
  });
}

SlotBy slot_of_program() { return g_program.slot.load(std::memory_order_relaxed); }
std::uint64_t kinds_of_program() { return g_program.kinds.load(std::memory_order_relaxed); }

void other_set_thread_ids() { g_program.thread_ids.store(true, std::memory_order_relaxed); }
bool program_chose_thread_ids() { return g_program.thread_ids.load(std::memory_order_relaxed); }

void forget_program() {
  g_program.slot.store(SlotBy::kNone, std::memory_order_relaxed);
  g_program.kinds.store(0, std::memory_order_relaxed);
  forget_pair_of_program();
}

void other_subscribed(bool worked, SlotBy by) {
  if (worked) g_program.slot.store(by, std::memory_order_relaxed);
  with_room([](Room& room) { update_idle(room.other); });
}

void other_unsubscribed(bool worked) {
  if (worked) g_program.slot.store(SlotBy::kNone, std::memory_order_relaxed);
  with_room([](Room& room) {
    ask_soon(room);
    update_idle(room.other);
  });
}

void other_registered() {
  with_what_is_left([](Room& room) {
    room.registered = room.in_force = false;
    take_back_the_last();
    // A moment of rest counts from the last thing it did.
    room.other.idle_since_ns = 0;
    update_idle(room.other);
  });
}

void other_enabled(std::uint32_t kind, bool worked) {
  if (worked) g_program.kinds.fetch_or(kind_bit(kind), std::memory_order_relaxed);
  with_room([kind, worked](Room& room) {
    if (worked) room.other.kinds |= kind_bit(kind);
    update_idle(room.other);
  });
}

void other_disabled(std::uint32_t kind) {
  g_program.kinds.fetch_and(~kind_bit(kind), std::memory_order_relaxed);
  with_what_is_left([kind](Room& room) {
    room.other.kinds &= ~kind_bit(kind);
    // CUPTI's switches are one for all: what we had kept on is off now too.
    room.kinds &= ~kind_bit(kind);
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
      g_live.kinds_kept.store(false, std::memory_order_relaxed);
    update_idle(room.other);
  });
}

void other_flushed() {
  with_room([](Room& room) {
    ask_soon(room);
    if (!room.other.active || room.other.idle_since_ns == 0) return;
    room.other.flushed = true;
    room.other.idle_since_ns = base::mono_ns();
    hot::wake_worker();
  });
}

void other_finalized() {
  forget_program();
  with_what_is_left([](Room& room) {
    // CUPTI forgot all settings, ours too.
    room.kinds = 0;
    room.registered = room.in_force = false;
    room.switches = Switches{};
    room.recording = false;
    g_live.kinds_kept.store(false, std::memory_order_relaxed);
    room.slot = room.slot == Slot::kOurs ? Slot::kFree : room.slot;
    callbacks_are(room, Wanted::kOff);
    room.other.kinds = 0;
    room.other.active = hot::alive();
    room.other.idle_since_ns = 0;
    update_idle(room.other);
    // Nothing of it is left in CUPTI that it could still want to read.
    room.other.flushed = true;
  });
}

}  // namespace gpuprof::cupti
