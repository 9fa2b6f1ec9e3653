// SPDX-License-Identifier: Apache-2.0
//
// The last flush: when the program ends by itself, and when it aborts.
//
// Context:  boundary
// Owns:     nothing
#include <algorithm>

#include "gpuprof/base/clock.hpp"
#include "inject/cupti/activity/flush_thread.hpp"
#include "inject/cupti/notice_queue.hpp"
#include "inject/cupti/subscribe/cupti_state.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/worker/sleep.hpp"

namespace gpuprof::cupti {

namespace {

constexpr std::uint64_t kMsNs = 1'000'000;

/// What is left to do when the program ends.
enum class Exit : std::uint8_t { kNothing, kFlush, kSpeak, kMissed };
constexpr std::uint32_t kExitMs = 2000;

Exit begin_exit() {
  const RoomLock lock(kExitMs);
  // A thread of ours is inside, and gets no processor or hangs in CUPTI.
  if (!lock) return Exit::kMissed;
  if (g_room.exiting || g_room.dead) return Exit::kNothing;
  g_room.exiting = true;
  const std::uint64_t now_ns = base::mono_ns();
  if (g_room.other.active) {
    const bool has_share = g_room.other.share_since_ns != 0;
    close_share(g_room, now_ns);
    return has_share ? Exit::kSpeak : Exit::kNothing;
  }
  if (!g_room.open || !records_expected(g_room, now_ns)) return Exit::kNothing;
  const std::uint64_t since = flush_running_since();
  return since != 0 && elapsed_ns(now_ns, since) > kHungNs ? Exit::kMissed : Exit::kFlush;
}

bool may_flush_at_abort() {
  // Whoever holds it may be this very thread.
  const RoomLock lock(0);
  if (!lock || g_room.exiting || g_room.dead || g_room.other.active || !g_room.open) return false;
  return records_expected(g_room, base::mono_ns());
}

}  // namespace

void before_exit() {
  if (!hot::alive()) return;
  count_late_at_end();
  const std::uint64_t begun_ns = base::mono_ns();
  switch (begin_exit()) {
    case Exit::kNothing:
      return;
    case Exit::kFlush: {
      const std::uint64_t passed_ms = elapsed_ns(base::mono_ns(), begun_ns) / kMsNs;
      const auto left_ms =
          static_cast<std::uint32_t>(kExitMs - std::min<std::uint64_t>(passed_ms, kExitMs));
      if (start_flusher() && wait_flush(ask_flush(true), left_ms)) return;
      return hot::count(wire::Counter::kLastFlushMissed);
    }
    case Exit::kMissed:
      return hot::count(wire::Counter::kLastFlushMissed);
    case Exit::kSpeak:
      break;
  }
  hot::wake_worker();
  // The worker sends it, if it can at once; the program is not held any longer.
  for (int i = 0; i < 20 && sentences_waiting(); ++i) hot::pause_for(2'000'000);
}

// No thread is made here, which would call malloc: its lock may be this thread's.
void before_abort(std::uint32_t deadline_ms) {
  if (hot::alive() && flusher_runs() && may_flush_at_abort())
    wait_flush(ask_flush(true), deadline_ms);
}

}  // namespace gpuprof::cupti
