// SPDX-License-Identifier: Apache-2.0
//
// What a late beginning takes.
//
// Context:  worker
// Owns:     see late_attach.hpp
#include "inject/cupti/interpose/late_attach.hpp"

#include <stdlib.h>

#include "inject/cupti/activity/flush_thread.hpp"
#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/cupti/interpose/kineto.hpp"
#include "inject/cupti/interpose/program_profiler.hpp"
#include "inject/cupti/library/hazards.hpp"
#include "inject/cupti/notice_queue.hpp"
#include "inject/hot/state.hpp"

namespace gpuprof::cupti {

namespace {

using wire::NoticeLevel;

constinit std::atomic<bool> g_late{false};
constinit got::Patches g_callers(kWrappers);

// Stands in for the kinds of a session whose begin we have not seen: it is over when Kineto says
// so.
constexpr std::uint64_t kUnseenSession = std::uint64_t{1} << 63;

// Since CUDA 13.2; not in the headers this is built with.
using GetEnabledKinds = CUptiResult (*)(CUpti_SubscriberHandle, CUpti_ActivityKind* kinds,
                                        std::uint32_t* room, std::uint32_t* count);

template <typename F>
F optional(const Room& room, const char* name) {
  return room.copy.handle.function<F>(name);
}

std::uint64_t enabled_kinds(const Room& room) {
  const auto get = optional<GetEnabledKinds>(room, "cuptiActivityGetEnabledKinds");
  CUpti_ActivityKind kinds[64];
  std::uint32_t space = 64, count = 0;
  if (get == nullptr || get(nullptr, kinds, &space, &count) != CUPTI_SUCCESS) return 0;
  std::uint64_t bits = 0;
  for (std::uint32_t i = 0; i < count && i < 64; ++i)
    bits |= kind_bit(static_cast<std::uint32_t>(kinds[i]));
  return bits;
}

}  // namespace

void driver_found() {
  g_late.store(true, std::memory_order_relaxed);
  driver_seen();
}

bool driver_is_late() { return g_late.load(std::memory_order_relaxed); }

void follow_callers() {
  if (driver_was_seen() && !got::in_front()) g_callers.follow();
}

void restore_callers() {
  g_callers.restore();
  if (!got::in_front()) forget_program();
}

bool joins_running_session(Room& room, std::uint64_t now_ns) {
  if (room.recording) return false;
  std::uint64_t kinds = kinds_of_program();
  // What of ours stays on between windows is nobody's session.
  if (driver_is_late())
    kinds |= (enabled_kinds(room) & ~room.kinds) | (kineto_is_active() ? kUnseenSession : 0);
  if (kinds == 0) return false;
  room.other.active = true;
  room.other.kinds = kinds;
  room.other.idle_since_ns = room.other.done_ns = 0;
  ++room.other.sessions;
  if (room.wanted == Wanted::kRecording) open_share(room, now_ns);
  return true;
}

void watch_joined_session(Room& room) {
  if ((room.other.kinds & kUnseenSession) == 0 || kineto_is_active()) return;
  room.other.kinds &= ~kUnseenSession;
  update_idle(room.other);
  // It answers so when it has read all it wanted.
  if (room.other.idle_since_ns != 0) room.other.flushed = true;
}

// The driver has registered its own handler by now: later ones run earlier.
void hook_late_exit() {
  static bool s_hooked = false;
  if (!driver_is_late() || s_hooked) return;
  s_hooked = atexit(before_exit) == 0;
}

void say_what_is_late(Room& room) {
  if (!driver_is_late() || (room.said & kSaidLate) != 0) return;
  room.said |= kSaidLate;
  const bool dump = g_live.api.cuptiActivityEnableAndDump != nullptr;
  say(NoticeLevel::kMissing, 0,
      "gpuprof came to a program that was using CUDA already: GPU work launched before is not in "
      "the trace.%s%s",
      dump ? "" : " Streams made before have no priority: this CUPTI cannot tell of them later.",
      room.settings.graph_nodes
          ? ""
          : " Launches of graphs that were instantiated before are not shown either: CUPTI records "
            "only later ones as a whole.");
}

void before_own_files() {
  // Preloaded, the driver tells of itself, on a thread of the program.
  if (!got::in_front() || driver_was_seen()) keep_helper();
}

void worker_ends() { drop_helper(2000); }

void after_fork_parent() { restore_helper(); }

}  // namespace gpuprof::cupti
