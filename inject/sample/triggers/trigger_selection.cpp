// SPDX-License-Identifier: Apache-2.0
//
// Looks at the program and tries the triggers.
//
// Context:  worker
// Owns:     nothing
#include "inject/sample/triggers/trigger_selection.hpp"

#include <stdio.h>

#include "inject/hot/outbox.hpp"
#include "inject/messages/sampling.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/program_kind.hpp"
#include "inject/sample/signals/handler.hpp"

namespace gpuprof::sample {

namespace {

using wire::Feature;
using wire::NoticeLevel;

bool usable(const TriggerKind& kind, const TriggerPlan& plan, const char* then) {
  char why[160] = "", text[256];
  if (kind.probe(plan, why, sizeof why)) return true;
  snprintf(text, sizeof text, messages::sampling::kSamplerUnavailable, then, kind.name, why);
  hot::send_notice(Feature::kNative, NoticeLevel::kMissing, 0, text);
  return false;
}

const TriggerKind* choose(wire::SamplerKind asked, const TriggerPlan& plan, bool no_perf) {
  constexpr const char* kNothing = messages::sampling::kRunningNotSampled;
  switch (asked) {
    case wire::SamplerKind::kPerf:
      return !no_perf && usable(kPerfTrigger, plan, kNothing) ? &kPerfTrigger : nullptr;
    case wire::SamplerKind::kCpuTimer:
      return usable(kCpuTimerTrigger, plan, kNothing) ? &kCpuTimerTrigger : nullptr;
    case wire::SamplerKind::kTgkill:
      return &kTgkillTrigger;
    case wire::SamplerKind::kAuto:
#ifdef GPUPROF_TEST_WALL_TIMER
      return &kWallTrigger;  // the stress build does what nothing else asks for
#endif
      if (!no_perf && usable(kPerfTrigger, plan, messages::sampling::kCpuTimersUsed))
        return &kPerfTrigger;
      return usable(kCpuTimerTrigger, plan, kNothing) ? &kCpuTimerTrigger : nullptr;
#ifdef GPUPROF_TEST_WALL_TIMER
    case wire::SamplerKind::kWallTestOnly:
      return &kWallTrigger;
#endif
    default:
      return nullptr;
  }
}

}  // namespace

const TriggerKind* choose_trigger(wire::SamplerKind asked, const TriggerPlan& plan, bool no_perf) {
  if (has_non_libc_threads(current_snapshot())) {
    hot::send_notice(Feature::kNative, NoticeLevel::kMissing, 0, messages::sampling::kGoCode);
    return nullptr;
  }
  if (sampling_signal() == 0) {
    hot::send_notice(Feature::kNative, NoticeLevel::kMissing, 0, messages::sampling::kNoFreeSignal);
    return nullptr;
  }
  return choose(asked, plan, no_perf);
}

}  // namespace gpuprof::sample
