// SPDX-License-Identifier: Apache-2.0
//
// What a late beginning takes.
//
// Context:  worker
#include "inject/cupti/interpose/late_attach.hpp"

#include <stdlib.h>

#include "gpuprof/base/notices.hpp"
#include "inject/cupti/activity/flush_thread.hpp"
#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/cupti/interpose/kineto.hpp"
#include "inject/cupti/interpose/program_profiler.hpp"
#include "inject/cupti/library/hazards.hpp"
#include "inject/cupti/notice_queue.hpp"
#include "inject/hot/state.hpp"
#include "inject/messages/cupti.hpp"

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
F optional(const CuptiState& state, const char* name) {
  return state.library.handle.function<F>(name);
}

std::uint64_t enabled_kinds(const CuptiState& state) {
  const auto get = optional<GetEnabledKinds>(state, "cuptiActivityGetEnabledKinds");
  CUpti_ActivityKind kinds[64];
  std::uint32_t space = 64, count = 0;
  if (get == nullptr || get(nullptr, kinds, &space, &count) != CUPTI_SUCCESS) return 0;
  std::uint64_t bits = 0;
  for (std::uint32_t i = 0; i < count && i < 64; ++i)
    bits |= kind_bit(static_cast<std::uint32_t>(kinds[i]));
  return bits;
}

}  // namespace

void on_driver_found() {
  g_late.store(true, std::memory_order_relaxed);
  on_driver_initialised();
}

bool driver_is_late() { return g_late.load(std::memory_order_relaxed); }

void hook_cupti_callers() {
  if (is_driver_initialised() && !got::is_preloaded()) g_callers.apply();
}

void unhook_cupti_callers() {
  g_callers.restore();
  if (!got::is_preloaded()) reset_program_state();
}

bool detect_running_session(CuptiState& state, std::uint64_t now_ns) {
  if (state.recording) return false;
  std::uint64_t kinds = program_kinds();
  // What of ours stays on between windows is nobody's session.
  if (driver_is_late())
    kinds |= (enabled_kinds(state) & ~state.kinds) | (kineto_is_active() ? kUnseenSession : 0);
  if (kinds == 0) return false;
  state.program.active = true;
  state.program.kinds = kinds;
  state.program.idle_since_ns = state.program.done_ns = 0;
  ++state.program.sessions;
  if (state.mode == Mode::kRecording) begin_program_share(state, now_ns);
  return true;
}

void watch_detected_session(CuptiState& state) {
  if ((state.program.kinds & kUnseenSession) == 0 || kineto_is_active()) return;
  state.program.kinds &= ~kUnseenSession;
  update_idle_since(state.program);
  // It answers so when it has read all it wanted.
  if (state.program.idle_since_ns != 0) state.program.flushed = true;
}

// The driver has registered its own handler by now: later ones run earlier.
void register_exit_flush() {
  static bool s_hooked = false;
  if (!driver_is_late() || s_hooked) return;
  s_hooked = atexit(before_exit) == 0;
}

void report_late_attach(CuptiState& state) {
  if (!driver_is_late() || (state.sent_notices & kReportedLate) != 0) return;
  state.sent_notices |= kReportedLate;
  const bool dump = g_callback_state.api.cuptiActivityEnableAndDump != nullptr;
  queue_notice(NoticeLevel::kMissing, 0, "%s%s%s", base::kWorkBeforeAttach,
               dump ? "" : messages::cupti::kEarlierStreams,
               state.settings.graph_nodes ? "" : messages::cupti::kEarlierGraphLaunches);
}

void before_fd_unshare() {
  // Preloaded, the driver tells of itself, on a thread of the program.
  if (!got::is_preloaded() || is_driver_initialised()) keep_flush_thread();
}

void on_worker_exit() { end_flush_thread(2000); }

void after_fork_parent() { restart_flush_thread(); }

}  // namespace gpuprof::cupti
