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
enum class ExitAction : std::uint8_t { kNothing, kFlush, kSendNotices, kMissed };
constexpr std::uint32_t kExitMs = 2000;

ExitAction begin_exit() {
  const CuptiLock lock(kExitMs);
  // A thread of ours is inside, and gets no processor or hangs in CUPTI.
  if (!lock) return ExitAction::kMissed;
  if (g_cupti.exiting || g_cupti.dead) return ExitAction::kNothing;
  g_cupti.exiting = true;
  const std::uint64_t now_ns = base::mono_ns();
  if (g_cupti.program.active) {
    const bool has_share = g_cupti.program.share_since_ns != 0;
    end_program_share(g_cupti, now_ns);
    return has_share ? ExitAction::kSendNotices : ExitAction::kNothing;
  }
  if (!g_cupti.open || !expects_records(g_cupti, now_ns)) return ExitAction::kNothing;
  const std::uint64_t since = flush_started_ns();
  return since != 0 && elapsed_ns(now_ns, since) > kHungNs ? ExitAction::kMissed
                                                           : ExitAction::kFlush;
}

bool may_flush_at_abort() {
  // Whoever holds it may be this very thread.
  const CuptiLock lock(0);
  if (!lock || g_cupti.exiting || g_cupti.dead || g_cupti.program.active || !g_cupti.open)
    return false;
  return expects_records(g_cupti, base::mono_ns());
}

}  // namespace

void before_exit() {
  if (!hot::is_owner_process()) return;
  count_mode_delay_at_exit();
  const std::uint64_t begun_ns = base::mono_ns();
  switch (begin_exit()) {
    case ExitAction::kNothing:
      return;
    case ExitAction::kFlush: {
      const std::uint64_t passed_ms = elapsed_ns(base::mono_ns(), begun_ns) / kMsNs;
      const auto left_ms =
          static_cast<std::uint32_t>(kExitMs - std::min<std::uint64_t>(passed_ms, kExitMs));
      if (start_flush_thread() && wait_flush(request_flush(true), left_ms)) return;
      return hot::count(wire::Counter::kFinalFlushTimedOut);
    }
    case ExitAction::kMissed:
      return hot::count(wire::Counter::kFinalFlushTimedOut);
    case ExitAction::kSendNotices:
      break;
  }
  hot::wake_worker();
  // The worker sends it, if it can at once; the program is not held any longer.
  for (int i = 0; i < 20 && has_queued_notices(); ++i) hot::sleep_ns(2'000'000);
}

// No thread is made here, which would call malloc: its lock may be this thread's.
void before_abort(std::uint32_t deadline_ms) {
  if (hot::is_owner_process() && flush_thread_runs() && may_flush_at_abort())
    wait_flush(request_flush(true), deadline_ms);
}

}  // namespace gpuprof::cupti
