// SPDX-License-Identifier: Apache-2.0
//
// Switches sampling on and off and takes its turns.
//
// Context:  worker
// Owns:     which trigger is in use and when what is due
#include "inject/sample/sampler.hpp"

#include <errno.h>
#include <stdio.h>

#include <algorithm>

#include "gpuprof/base/clock.hpp"
#include "gpuprof/base/loader_counts.hpp"
#include "inject/eh_frames/registered_tables.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/messages/sampling.hpp"
#include "inject/python/frames/frames.hpp"
#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/fault_guard/guard_policy.hpp"
#include "inject/sample/jit/jit_code.hpp"
#include "inject/sample/modules/module_report.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/modules/snapshot_build.hpp"
#include "inject/sample/program_kind.hpp"
#include "inject/sample/restrictions.hpp"
#include "inject/sample/sampler_state.hpp"
#include "inject/sample/signals/alt_stacks.hpp"
#include "inject/sample/signals/handler.hpp"
#include "inject/sample/signals/handler_masks.hpp"
#include "inject/sample/signals/handler_stack.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"
#include "inject/sample/signals/signal_conflicts.hpp"
#include "inject/sample/signals/sigqueue_limit.hpp"
#include "inject/sample/threads/off_cpu.hpp"
#include "inject/sample/threads/thread_status.hpp"
#include "inject/sample/threads/threads.hpp"
#include "inject/sample/triggers/trigger.hpp"
#include "inject/sample/triggers/trigger_selection.hpp"
#include "inject/sample/unwind/launch_stack_cache.hpp"
#include "inject/sample/unwind/unwind.hpp"

namespace gpuprof::sample {

constinit StackParts g_stack_parts{};

namespace {

constexpr std::uint64_t kScanNs = 40'000'000;
constexpr std::uint64_t kBeginningLookNs = 5'000'000;
/// A thread that makes steps and rests is looked at once a sampling period, but for very short
/// ones.
constexpr std::uint64_t kMinRestNs = 5'000'000;
constexpr std::uint32_t kHighestRate = 20'000;
// A walk is over within a millisecond; longer waits only who has no processor.
constexpr std::uint32_t kStopWaitMs = 100, kReleaseWaitMs = 1000;

struct Sampler {
  bool prepared = false, native = false;
  bool on = false;
  bool own_threads = false;  // none of the C library's
  bool no_perf = false;      // its signals might become SIGIO
  bool guard_lost_reported = false, guard_released = false, off_cpu_refused = false;
  Settings settings;
  TriggerPlan plan;
  const TriggerKind* kind = nullptr;
  bool some_step = false;  // some thread makes steps
  std::uint64_t idle_steps_sampled_ns = 0;
  std::uint64_t shielded_ns = 0, scanned_ns = 0, look_ns = 0, kept_ns = 0, turned_ns = 0,
                reclaimed_ns = 0;
};
constinit Sampler g_sampler;

using wire::Feature;
using wire::NoticeLevel;

void publish_rate() {
  wire::Stats* stats = hot::g_state.stats;
  if (stats == nullptr) return;
  const TriggerKind* kind = g_sampler.kind;
  const std::uint32_t hz = kind == nullptr ? 0 : kind->effective_hz(g_sampler.plan);
  stats->sampler.store(
      static_cast<std::uint64_t>(kind == nullptr ? wire::SamplerKind::kOff : kind->kind),
      std::memory_order_relaxed);
  stats->effective_rate_mhz.store(std::uint64_t{hz} * 1000, std::memory_order_relaxed);
  if (kind == nullptr || hz >= g_sampler.plan.rate_hz) return;
  char text[200];
  snprintf(text, sizeof text, messages::sampling::kLowerRate, kind->name, hz,
           g_sampler.plan.rate_hz);
  hot::send_notice(Feature::kNative, NoticeLevel::kInfo, 0, text);
}

void update_fault_guard() {
  if (!hot::on(hot::kOnSamples | hot::kOnLaunchStacks)) return;
  if (!program_has_begun(g_sampler.settings.guard_from_ns)) return;
  const char* why = update_guard(g_sampler.own_threads, &g_sampler.guard_released);
  if (why == nullptr || g_sampler.guard_lost_reported) return;
  g_sampler.guard_lost_reported = true;
  hot::send_notice(Feature::kNative, NoticeLevel::kMissing, 0, why);
}

void begin_triggers();

// What carries it came just now, and none of it has run yet.
void check_red_zone_code() {
  if (!detect_alt_stack_needs(*current_snapshot()) || !g_sampler.on) return;
  close_threads();
  discard_pending_signals();
  install_handler();
  begin_triggers();
}

void reclaim_signal_stacks(std::uint64_t now_ns) {
  constexpr std::uint64_t kPeriodNs = 200'000'000;
  if (!alt_stacks_enabled() || now_ns - g_sampler.reclaimed_ns < kPeriodNs) return;
  g_sampler.reclaimed_ns = now_ns;
  reclaim_alt_stacks();
}

void begin_triggers() {
  g_sampler.plan.signal = sampling_signal();
  mask_all_handlers(sampling_signal());
  g_sampler.kind = choose_trigger(g_sampler.settings.kind, g_sampler.plan, g_sampler.no_perf);
  publish_rate();
  open_threads(g_sampler.kind, g_sampler.plan);
}

void handle_sigqueue_limit() {
  if (g_sampler.kind != &kPerfTrigger || !program_has_begun(g_sampler.settings.guard_from_ns))
    return;
  const bool ended = take_sigqueue_limit();
  const bool choice = g_sampler.settings.kind == wire::SamplerKind::kAuto;
  if (!ended && (watch_sigqueue_limit() || !choice)) return;
  g_sampler.no_perf = true;
  close_threads();
  discard_pending_signals();
  hot::send_notice(
      Feature::kNative, ended ? NoticeLevel::kMissing : NoticeLevel::kInfo, 0,
      ended ? messages::sampling::kPerfSamplesLost : messages::sampling::kProgramHandlesSigio);
  begin_triggers();
}

void update_handler_masks(std::uint64_t now_ns) {
  constexpr std::uint64_t kPeriodNs = 1'000'000'000;
  if (now_ns - g_sampler.shielded_ns < kPeriodNs) return;
  g_sampler.shielded_ns = now_ns;
  mask_all_handlers(sampling_signal());
}

void switch_signal(int except, const char* why) {
  install_handler(except);
  hot::send_notice(Feature::kNative, NoticeLevel::kInfo, 0, why);
  begin_triggers();
}

// The program took the sampling signal for itself, or is about to, or means it.
void update_signal() {
  const SignalConflicts claims = take_signal_conflicts();
  // Once the program has it, it is not touched any more: what is pending may be the program's.
  const bool replaced = handler_was_replaced();
  const int ours = sampling_signal();
  const bool give = !replaced && ours != 0 && claims.handled == ours;
  const bool leave = !replaced && ours != 0 && claims.awaited == ours;
  if (!give && !replaced && !leave) return;
  close_threads();
  // What waits for the process is the program's own.
  if (give && is_pending_for_process(ours))
    retire_handler();
  else if (give)
    remove_handler();
  else if (leave)
    retire_handler();
  switch_signal(claims.handled, leave && !give ? messages::sampling::kSignalAwaited
                                               : messages::sampling::kSignalHandled);
}

void turn_of(ThreadEntry& entry, void*) {
  if (entry.has_trigger) g_sampler.kind->poll(g_sampler.plan, entry.tid, &entry.slot);
}

void refill(ThreadEntry& entry, void*) {
  if (entry.has_trigger) g_sampler.kind->refill(g_sampler.plan, entry.tid, &entry.slot);
}

bool has_turns() { return g_sampler.kind != nullptr && g_sampler.kind->poll != nullptr; }

std::uint64_t idle_step_period_ns() {
  return std::clamp(g_sampler.plan.period_ns, kMinRestNs, kScanNs);
}

void sample_off_cpu(std::uint64_t now_ns, bool last) {
  if (!g_sampler.settings.blocked_threads || g_sampler.off_cpu_refused) return;
  const std::uint64_t period_ns = g_sampler.plan.period_ns;
  bool allowed = true;
  if (last || now_ns >= g_sampler.look_ns) {
    g_sampler.look_ns = sample_off_cpu_threads(g_stack_parts, period_ns, now_ns, last);
    allowed = g_sampler.look_ns != 0;
  }
  if (allowed && !last && now_ns - g_sampler.idle_steps_sampled_ns >= idle_step_period_ns()) {
    g_sampler.idle_steps_sampled_ns = now_ns;
    allowed = sample_idle_step_threads(g_stack_parts, period_ns, now_ns, &g_sampler.some_step);
  }
  if (allowed) return;
  g_sampler.off_cpu_refused = true;
  hot::send_notice(Feature::kNative, NoticeLevel::kMissing, 0, messages::sampling::kNoReadv);
}

void update_modules(std::uint64_t now_ns) {
  if (now_ns - g_sampler.kept_ns < kScanNs - 5'000'000) return;
  g_sampler.kept_ns = now_ns;
  refresh_modules();
  reclaim_snapshots();
}

std::uint32_t next_turn_ms(std::uint64_t now_ns) {
  std::uint64_t wait_ns = has_turns() ? std::min(kScanNs, g_sampler.plan.period_ns) : kScanNs;
  if (g_sampler.settings.blocked_threads && !g_sampler.off_cpu_refused) {
    wait_ns = std::min(wait_ns, g_sampler.look_ns - std::min(g_sampler.look_ns, now_ns));
    if (g_sampler.some_step) wait_ns = std::min(wait_ns, idle_step_period_ns());
  }
  if (!program_has_begun(g_sampler.settings.guard_from_ns))
    wait_ns = std::min(wait_ns, kBeginningLookNs);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>((wait_ns + 999'999) / 1'000'000, 1));
}

}  // namespace

bool prepare() {
  const std::uint64_t now_ns = base::mono_ns();
  Snapshot* snapshot = build_snapshot();
  if (snapshot == nullptr) return false;
  report_modules(nullptr, snapshot, now_ns);
  publish_snapshot(snapshot);
  unwind_invalidate();
  frames::rebuild_index(now_ns, retire_mapping);
  check_red_zone_code();
  g_sampler.native = unwind_prepare() && map_handler_stacks();
  map_launch_stack_caches();
  install_handler();
  g_sampler.own_threads = has_non_libc_threads(snapshot);
  python::find_runtime();
  save_initial_filters();
  g_sampler.prepared = true;
  return g_sampler.native;
}

int signal_number() { return sampling_signal(); }

int claim_signal() { return install_handler(); }

void refresh_modules() {
  if (!g_sampler.prepared) return;
  const Snapshot* before = current_snapshot();
  const base::LoaderCounts counts = base::loader_counts();
  if (before != nullptr && counts == base::LoaderCounts{before->adds, before->subs}) {
    if (python::is_runtime_pending()) python::find_runtime();
    return;
  }
  Snapshot* after = build_snapshot();
  if (after == nullptr) return;
  report_modules(before, after, base::mono_ns());
  publish_snapshot(after);
  unwind_invalidate();
  check_red_zone_code();
  if (!python::ready()) python::find_runtime();
}

bool start(const Settings& settings) {
  if (!g_sampler.prepared || settings.rate_hz == 0) return false;
  refresh_modules();
  g_sampler.settings = settings;
  g_sampler.plan.rate_hz = std::min(settings.rate_hz, kHighestRate);
  g_sampler.plan.period_ns = 1'000'000'000u / g_sampler.plan.rate_hz;
  g_stack_parts = StackParts{settings.native && g_sampler.native, settings.python};
  g_sampler.no_perf = false;
  take_signal_conflicts();  // of a session that is over
  mask_all_handlers(install_handler());
  enable_handler(HandlerSettings{g_stack_parts, g_sampler.plan.period_ns});
  reset_restrictions();
  begin_triggers();
  g_sampler.on = true;
  g_sampler.scanned_ns = base::mono_ns();
  scan_threads(g_sampler.scanned_ns);
  sample_off_cpu(g_sampler.scanned_ns, false);
  update_fault_guard();  // it asks whether a thread is filtered
  return g_sampler.kind != nullptr;
}

void stop() {
  if (g_sampler.on) {
    sample_off_cpu(base::mono_ns(), true);
    close_threads();
    disable_handler();
    discard_pending_signals();
    unwatch_sigqueue_limit();
    g_sampler.on = false;
  }
  deactivate_guard();
  // A walk may still be under way; its faults would be the program's. One that stays keeps the
  // guard where it is, which harms nobody.
  if (wait_for_snapshot_readers(kStopWaitMs)) disarm_guard();
  reclaim_snapshots();
}

void release_signal() {
  hot::worker_clear_resume_timer();
  if (sampling_signal() != 0 && is_pending_for_process(sampling_signal())) retire_handler();
  remove_handler();
  remove_retired_handlers();
  unmask_all_handlers();
}

bool release() {
  stop();
  release_signal();
  release_threads();
  // Launch stacks end here; behind it no handler or walk looks at what is unmapped below.
  publish_snapshot(nullptr);
  const bool empty = wait_for_snapshot_readers(kReleaseWaitMs);
  if (empty) {
    disarm_guard();
    clear_jit_code();
    frames::drop_index(retire_mapping);
    unwind_release();
    unmap_launch_stack_caches();
    unmap_handler_stacks();
  }
  reclaim_snapshots();
  g_sampler = Sampler{};
  return empty;
}

void reset_sampler() { g_sampler = Sampler{}; }

void retire_ended_threads(std::uint64_t now_ns) {
  constexpr std::uint64_t kPeriodNs = 30'000'000;
  reclaim_signal_stacks(now_ns);
  static std::uint64_t looked_ns = 0;
  if (g_sampler.on || now_ns - looked_ns < kPeriodNs) return;
  looked_ns = now_ns;
  hot::retire_threads([](std::uint32_t tid, void*) { return hot::thread_exited(tid); }, nullptr);
}

void abandon_signal(bool forked) {
  const int saved = errno;
  // In a forked child nothing but that timer can have sent ours.
  const bool timer = hot::worker_delete_resume_timer();
  const int ours = sampling_signal();
  if (ours != 0) discard_own_pending(ours, false);
  if (ours != 0 && (pending_signals() & signal_bit(ours)) != 0)
    retire_handler();
  else
    remove_handler(timer || !forked);
  errno = saved;
}

std::uint32_t tick(std::uint64_t now_ns) {
  update_modules(now_ns);
  if (g_sampler.prepared) {
    scan_jit_code(now_ns);
    frames::rebuild_index(now_ns, retire_mapping);
  }
  update_fault_guard();
  reclaim_signal_stacks(now_ns);
  if (!g_sampler.on) return kScanNs / 1'000'000;
  handle_interrupted_waits(now_ns);
  if (has_signal_conflicts()) update_signal();
  handle_sigqueue_limit();
  if (now_ns - g_sampler.scanned_ns >= kScanNs) {
    g_sampler.scanned_ns = now_ns;
    update_signal();
    update_handler_masks(now_ns);
    scan_threads(now_ns);
    update_affinity(now_ns);
    if (has_signal_conflicts()) update_signal();
    report_missing_alt_stacks(any_needs_alt_stack());
    report_restrictions(any_filtered(), was_traced());
    if (g_sampler.kind != nullptr && g_sampler.kind->refill != nullptr)
      for_each_thread(refill, nullptr);
  }
  sample_off_cpu(now_ns, false);
  if (has_turns() && now_ns - g_sampler.turned_ns >= g_sampler.plan.period_ns) {
    g_sampler.turned_ns = now_ns;
    for_each_thread(turn_of, nullptr);
  }
  return next_turn_ms(now_ns);
}

}  // namespace gpuprof::sample
