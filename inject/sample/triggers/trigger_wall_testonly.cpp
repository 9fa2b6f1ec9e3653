// SPDX-License-Identifier: Apache-2.0
//
// Signals every thread by the clock, asleep or not: what gpuprof never does to a program, and what
// its stress test does to gpuprof. Built with GPUPROF_TEST_WALL_TIMER only.
//
// Context:  worker
// Owns:     nothing
#include "inject/sample/triggers/timer_slot.hpp"
#include "inject/sample/triggers/trigger.hpp"

namespace gpuprof::sample {

namespace {

bool probe(const TriggerPlan&, char*, std::size_t) { return true; }
bool open_trigger(const TriggerPlan& plan, pid_t tid, TriggerSlot* slot) {
  return open_timer(plan, CLOCK_MONOTONIC, tid, slot);
}
std::uint32_t effective_hz(const TriggerPlan& plan) { return plan.rate_hz; }

}  // namespace

constinit const TriggerKind kWallTrigger{wire::SamplerKind::kWallTestOnly,
                                         "wall (test only)",
                                         probe,
                                         open_trigger,
                                         close_timer,
                                         timer_intact,
                                         effective_hz,
                                         nullptr,
                                         nullptr};

}  // namespace gpuprof::sample
