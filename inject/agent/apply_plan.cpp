// SPDX-License-Identifier: Apache-2.0
//
// From the daemon's plan and the step counter to what is switched on.
//
// Context:  worker (apply_cuda_state also: boundary)
#include <string.h>

#include "gpuprof/base/clock.hpp"
#include "inject/agent/core.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/got/patches.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/steps.hpp"
#include "inject/nvtx/nvtx.hpp"
#include "inject/python/frames/frames.hpp"
#include "inject/sample/sampler.hpp"
#include "inject/torch/loops/loop_steps.hpp"
#include "inject/torch/memory/allocations.hpp"
#include "inject/torch/torch.hpp"

namespace gpuprof::agent {

namespace {

bool traced(std::uint32_t bits) { return (g_agent.config.trace & bits) != 0; }

// Left out to cost less.
bool is_throttled(std::uint32_t bits) { return (g_agent.throttle & bits) != 0; }

bool torch_memory_wanted() {
  return traced(wire::kTraceTorch) && (g_agent.config.torch_detail & wire::kTorchMemory) != 0;
}

bool steps_from(wire::StepSource source) {
  return g_agent.config.step_source == static_cast<std::uint32_t>(source);
}

// These sources are looked for among PyTorch's operators.
bool steps_from_operators() {
  return steps_from(wire::StepSource::kAuto) || steps_from(wire::StepSource::kUser) ||
         steps_from(wire::StepSource::kLoop) || steps_from(wire::StepSource::kOptimizer);
}

wire::AgentState wanted_state() {
  const wire::Plan* plan = hot::g_state.plan;
  const auto mode = static_cast<wire::AgentState>(plan->mode.load(std::memory_order_acquire));
  if (mode != wire::AgentState::kCounting) return mode;
  const std::uint64_t steps = hot::g_state.stats->steps.load(std::memory_order_acquire);
  return steps != 0 && hot::recording_wanted(steps - 1) ? wire::AgentState::kRecording : mode;
}

std::uint32_t hot_bits(wire::AgentState state) {
  std::uint32_t bits = 0;
  if (state == wire::AgentState::kCounting || state == wire::AgentState::kRecording) {
    if (steps_from(wire::StepSource::kNvtx)) bits |= hot::kOnNvtxSteps;
    if (steps_from(wire::StepSource::kKernel)) bits |= hot::kOnKernelSteps;
    const bool looked_for =
        !is_throttled(wire::kThrottleSteps) || state == wire::AgentState::kCounting;
    if (steps_from_operators() && looked_for) bits |= hot::kOnOpSteps;
  }
  if (state != wire::AgentState::kRecording) return bits;
  if (traced(wire::kTracePython | wire::kTraceNative) && !is_throttled(wire::kThrottleSamples))
    bits |= hot::kOnSamples;
  if (!is_throttled(wire::kThrottleHost)) {
    if (traced(wire::kTraceNvtx)) bits |= hot::kOnNvtx;
    if (traced(wire::kTraceTorch)) bits |= hot::kOnOperators;
  }
  if (!is_throttled(wire::kThrottleApi)) {
    if (traced(wire::kTraceCuda)) bits |= hot::kOnCuda;
    if (torch_memory_wanted()) bits |= hot::kOnAllocations;
  }
  if (traced(wire::kTraceCuda) && g_agent.config.launch_stacks != 0 &&
      !is_throttled(wire::kThrottleStacks | wire::kThrottleApi))
    bits |= hot::kOnLaunchStacks;
  return bits;
}

std::uint32_t torch_detail() {
  std::uint32_t detail = g_agent.config.torch_detail;
  if (is_throttled(wire::kThrottleStacks)) detail &= ~(wire::kTorchStack | wire::kTorchModules);
  if (is_throttled(wire::kThrottleApi)) detail &= ~(wire::kTorchShapes | wire::kTorchMemory);
  return detail;
}

sample::Settings sampler_settings() {
  sample::Settings settings;
  settings.kind = static_cast<wire::SamplerKind>(g_agent.config.sampler);
  settings.rate_hz = g_agent.config.rate_hz >> wire::rate_halvings(g_agent.throttle);
  if (settings.rate_hz == 0 && g_agent.config.rate_hz != 0) settings.rate_hz = 1;
  settings.blocked_threads = g_agent.config.blocked_threads != 0;
  settings.python = traced(wire::kTracePython);
  // A runtime that begins asks what is done with SIGSEGV, and leaves out what it would do (Rust's
  // about a stack's end) where somebody was quicker. Python does not, and has waited as long.
  constexpr std::uint64_t kBeginningNs = 20'000'000;
  if ((g_agent.wake_reasons.load(std::memory_order_relaxed) & wire::kWakeCommand) != 0)
    settings.guard_from_ns = g_agent.load_ns + kBeginningNs;
  // Where there is no Python nothing would be left of the samples.
  const bool python_alone =
      settings.python && is_throttled(wire::kThrottleStacks) && python::minor_version() != 0;
  settings.native = traced(wire::kTraceNative) && !python_alone;
  return settings;
}

bool samples_wanted() {
  return g_agent.config.rate_hz != 0 && traced(wire::kTracePython | wire::kTraceNative) &&
         !is_throttled(wire::kThrottleSamples);
}

void apply_torch(wire::AgentState state) {
  auto wanted = torch::ObserveMode::kOff;
  const std::uint32_t bits = hot_bits(state);
  if ((bits & hot::kOnOpSteps) != 0) wanted = torch::ObserveMode::kSteps;
  if ((bits & hot::kOnOperators) != 0) wanted = torch::ObserveMode::kOperators;
  torch::set_step_source(static_cast<wire::StepSource>(g_agent.config.step_source));
  torch::set_mode(wanted, torch_detail());
  torch::tick(base::mono_ns());
}

// Replays of CUDA graphs are no operators, and may be the steps. In a program that we came to late
// the slot is for its own profiler, which nobody could make room for.
bool steps_from_graphs() {
  return steps_from_operators() && torch::observed() &&
         (g_agent.wake_reasons.load(std::memory_order_relaxed) & wire::kWakeAttach) == 0;
}

cupti::Mode cupti_mode_for(wire::AgentState state) {
  if (state == wire::AgentState::kRecording) return cupti::Mode::kRecording;
  if (state != wire::AgentState::kCounting) return cupti::Mode::kOff;
  if (steps_from(wire::StepSource::kKernel)) return cupti::Mode::kKernelSteps;
  return steps_from_graphs() ? cupti::Mode::kGraphSteps : cupti::Mode::kOff;
}

void switch_to(wire::AgentState state) {
  const bool was = g_agent.state == wire::AgentState::kRecording;
  const bool is = state == wire::AgentState::kRecording;
  // On: bits first, so that nothing is missed; off: bits first, so that nothing more comes.
  hot::g_state.on.store(hot_bits(state), std::memory_order_release);
  hot::g_state.stats->state.store(static_cast<std::uint64_t>(state), std::memory_order_release);
  // A program that is linked with libtorch may be running operators already.
  apply_torch(state);
  if (is && !was && samples_wanted()) sample::start(sampler_settings());
  if (!is && was) sample::stop();
  apply_cuda_state(state);
  g_agent.state = state;
}

}  // namespace

void apply_cuda_state(wire::AgentState state) {
  if (!traced(wire::kTraceCuda) || !cupti::is_driver_initialised()) return;
  cupti::Settings settings;
  settings.flush_period_ms = g_agent.config.flush_period_ms;
  settings.buffer_bytes = g_agent.config.cupti_buffer_bytes;
  settings.buffer_count = g_agent.config.cupti_buffer_count;
  settings.graph_nodes = g_agent.config.cuda_graph_mode == 0;
  settings.calls = !is_throttled(wire::kThrottleApi);
  settings.attached =
      (g_agent.wake_reasons.load(std::memory_order_relaxed) & wire::kWakeAttach) != 0;
  settings.kernel_steps = steps_from(wire::StepSource::kKernel);
  cupti::set_mode(cupti_mode_for(state), settings);
}

void restart_sampling() {
  if (!samples_wanted()) return;
  sample::stop();
  sample::start(sampler_settings());
}

namespace {

// What is on goes on with less of it; what is off begins with less.
void apply_throttle(std::uint32_t less) {
  const sample::Settings before = sampler_settings();
  const bool sampled = samples_wanted();
  g_agent.throttle = less;
  if (g_agent.state != wire::AgentState::kRecording) return;
  hot::g_state.on.store(hot_bits(g_agent.state), std::memory_order_release);
  apply_torch(g_agent.state);
  const sample::Settings after = sampler_settings();
  if (sampled && !samples_wanted())
    sample::stop();
  else if (before.rate_hz != after.rate_hz || before.native != after.native)
    restart_sampling();
  apply_cuda_state(g_agent.state);
}

}  // namespace

void configure_components() {
  nvtx::set_step_pattern(steps_from(wire::StepSource::kNvtx) ? g_agent.step_text : "");
  cupti::set_step_expression(steps_from(wire::StepSource::kKernel) ? g_agent.step_text : "");
  if (traced(wire::kTracePython | wire::kTraceNative) || g_agent.config.launch_stacks != 0)
    sample::prepare();
}

void release_components() {
  constexpr std::uint32_t kReleaseMs = 1000;
  cupti::release(kReleaseMs);
  torch::release();
  nvtx::release();
  sample::release();
  python::release();
}

// PyTorch complains, on stderr, of each block that it learns of only when it is given back.
void decide_cpu_memory() {
  const bool from_the_first_block = g_agent.join_ns == 0 && got::is_preloaded();
  torch::decide_cpu_memory(torch_memory_wanted() && from_the_first_block);
}

void apply_plan() {
  const wire::Plan* plan = hot::g_state.plan;
  const std::uint32_t sequence = plan->sequence.load(std::memory_order_acquire);
  const wire::AgentState state = wanted_state();
  if (cupti::is_mode_pending()) apply_cuda_state(g_agent.state);
  if (state == g_agent.state && sequence == g_agent.applied_sequence) return;
  const std::uint64_t begin = base::mono_ns();
  const std::uint32_t less = plan->throttle.load(std::memory_order_relaxed);
  if (less != g_agent.throttle) apply_throttle(less);
  if (state != g_agent.state) switch_to(state);
  g_agent.applied_sequence = sequence;
  const std::uint64_t now = base::mono_ns();
  send_message(wire::StateReport{static_cast<std::uint32_t>(state), sequence, now,
                                 hot::g_state.stats->steps.load(std::memory_order_relaxed),
                                 now - begin});
}

void disable_all() {
  if (hot::g_state.stats == nullptr) return;
  switch_to(wire::AgentState::kStopped);
}

}  // namespace gpuprof::agent
