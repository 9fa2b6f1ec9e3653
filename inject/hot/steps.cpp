// SPDX-License-Identifier: Apache-2.0
//
// The step counter and its comparison with the plan.
//
// Context:  callback
// Owns:     nothing
#include "inject/hot/steps.hpp"

namespace gpuprof::hot {

namespace {

void push_mark(const Guard& guard, wire::StepSource source, std::uint64_t number,
               std::uint64_t ts_ns, std::uint32_t flags, std::uint64_t label) {
  record_reserved(guard,
                  wire::StepMark{ts_ns, number, static_cast<std::uint32_t>(source), flags, label},
                  ts_ns);
}

}  // namespace

bool recording_wanted(std::uint64_t step) {
  const wire::Plan* plan = g_state.plan;
  if (plan == nullptr) return false;
  const auto mode = static_cast<wire::AgentState>(plan->mode.load(std::memory_order_relaxed));
  if (mode == wire::AgentState::kRecording) return true;
  if (mode != wire::AgentState::kCounting) return false;
  return step >= plan->on_step.load(std::memory_order_relaxed) &&
         step < plan->off_step.load(std::memory_order_relaxed);
}

std::uint64_t step_begin(const Guard& guard, wire::StepSource source, std::uint64_t ts_ns,
                         std::uint64_t label, std::uint32_t flags) {
  wire::Stats* stats = g_state.stats;
  const std::uint64_t number = stats->steps.fetch_add(1, std::memory_order_relaxed);
  push_mark(guard, source, number, ts_ns, wire::kStepBegin | flags, label);
  if (number == 0 || recording_wanted(number) != recording_wanted(number - 1)) wake_worker();
  return number;
}

void step_end(const Guard& guard, wire::StepSource source, std::uint64_t number,
              std::uint64_t ts_ns) {
  push_mark(guard, source, number, ts_ns, wire::kStepEnd, 0);
}

}  // namespace gpuprof::hot
