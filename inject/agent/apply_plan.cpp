// SPDX-License-Identifier: Apache-2.0
//
// From the daemon's plan and the step counter to what is switched on.
//
// Context:  worker (apply_cuda also: boundary)
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

bool traced(std::uint32_t bits) { return (g_core.config.trace & bits) != 0; }

// Left out to cost less.
bool left_out(std::uint32_t bits) { return (g_core.less & bits) != 0; }

bool torch_memory_wanted() {
  return traced(wire::kTraceTorch) && (g_core.config.torch_detail & wire::kTorchMemory) != 0;
}

bool steps_from(wire::StepSource source) {
  return g_core.config.step_source == static_cast<std::uint32_t>(source);
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
    const bool looked_for = !left_out(wire::kLessSteps) || state == wire::AgentState::kCounting;
    if (steps_from_operators() && looked_for) bits |= hot::kOnOpSteps;
  }
  if (state != wire::AgentState::kRecording) return bits;
  if (traced(wire::kTracePython | wire::kTraceNative) && !left_out(wire::kLessSamples))
    bits |= hot::kOnSamples;
  if (!left_out(wire::kLessHost)) {
    if (traced(wire::kTraceNvtx)) bits |= hot::kOnNvtx;
    if (traced(wire::kTraceTorch)) bits |= hot::kOnOperators;
  }
  if (!left_out(wire::kLessApi)) {
    if (traced(wire::kTraceCuda)) bits |= hot::kOnCuda;
    if (torch_memory_wanted()) bits |= hot::kOnAllocations;
  }
  if (traced(wire::kTraceCuda) && g_core.config.launch_stacks != 0 &&
      !left_out(wire::kLessStacks | wire::kLessApi))
    bits |= hot::kOnLaunchStacks;
  return bits;
}

std::uint32_t torch_detail() {
  std::uint32_t detail = g_core.config.torch_detail;
  if (left_out(wire::kLessStacks)) detail &= ~(wire::kTorchStack | wire::kTorchModules);
  if (left_out(wire::kLessApi)) detail &= ~(wire::kTorchShapes | wire::kTorchMemory);
  return detail;
}

sample::Settings sampler_settings() {
  sample::Settings settings;
  settings.kind = static_cast<wire::SamplerKind>(g_core.config.sampler);
  settings.rate_hz = g_core.config.rate_hz >> wire::rate_halvings(g_core.less);
  if (settings.rate_hz == 0 && g_core.config.rate_hz != 0) settings.rate_hz = 1;
  settings.blocked_threads = g_core.config.blocked_threads != 0;
  settings.python = traced(wire::kTracePython);
  // A runtime that begins asks what is done with SIGSEGV, and leaves out what it would do (Rust's
  // about a stack's end) where somebody was quicker. Python does not, and has waited as long.
  constexpr std::uint64_t kBeginning_ns = 20'000'000;
  if ((g_core.woke.load(std::memory_order_relaxed) & wire::kWokeCommand) != 0)
    settings.guard_from_ns = g_core.load_ns + kBeginning_ns;
  // Where there is no Python nothing would be left of the samples.
  const bool python_alone =
      settings.python && left_out(wire::kLessStacks) && python::minor_version() != 0;
  settings.native = traced(wire::kTraceNative) && !python_alone;
  return settings;
}

bool samples_wanted() {
  return g_core.config.rate_hz != 0 && traced(wire::kTracePython | wire::kTraceNative) &&
         !left_out(wire::kLessSamples);
}

void apply_torch(wire::AgentState state) {
  auto wanted = torch::Wanted::kOff;
  const std::uint32_t bits = hot_bits(state);
  if ((bits & hot::kOnOpSteps) != 0) wanted = torch::Wanted::kSteps;
  if ((bits & hot::kOnOperators) != 0) wanted = torch::Wanted::kOperators;
  torch::look_for_steps(static_cast<wire::StepSource>(g_core.config.step_source));
  torch::want(wanted, torch_detail());
  torch::tick(base::mono_ns());
}

// Replays of CUDA graphs are no operators, and may be the steps. In a program that we came to late
// the slot is for its own profiler, which nobody could make room for.
bool steps_from_graphs() {
  return steps_from_operators() && torch::observed() &&
         (g_core.woke.load(std::memory_order_relaxed) & wire::kWokeAttach) == 0;
}

cupti::Wanted wanted_of_cupti(wire::AgentState state) {
  if (state == wire::AgentState::kRecording) return cupti::Wanted::kRecording;
  if (state != wire::AgentState::kCounting) return cupti::Wanted::kOff;
  if (steps_from(wire::StepSource::kKernel)) return cupti::Wanted::kKernelSteps;
  return steps_from_graphs() ? cupti::Wanted::kGraphSteps : cupti::Wanted::kOff;
}

void switch_to(wire::AgentState state) {
  const bool was = g_core.state == wire::AgentState::kRecording;
  const bool is = state == wire::AgentState::kRecording;
  // On: bits first, so that nothing is missed; off: bits first, so that nothing more comes.
  hot::g_state.on.store(hot_bits(state), std::memory_order_release);
  hot::g_state.stats->state.store(static_cast<std::uint64_t>(state), std::memory_order_release);
  // A program that is linked with libtorch may be running operators already.
  apply_torch(state);
  if (is && !was && samples_wanted()) sample::start(sampler_settings());
  if (!is && was) sample::stop();
  apply_cuda(state);
  g_core.state = state;
}

}  // namespace

void apply_cuda(wire::AgentState state) {
  if (!traced(wire::kTraceCuda) || !cupti::driver_was_seen()) return;
  cupti::Settings settings;
  settings.flush_period_ms = g_core.config.flush_period_ms;
  settings.buffer_bytes = g_core.config.cupti_buffer_bytes;
  settings.buffer_count = g_core.config.cupti_buffer_count;
  settings.graph_nodes = g_core.config.cuda_graph_mode == 0;
  settings.calls = !left_out(wire::kLessApi);
  settings.attached = (g_core.woke.load(std::memory_order_relaxed) & wire::kWokeAttach) != 0;
  settings.kernel_steps = steps_from(wire::StepSource::kKernel);
  cupti::want(wanted_of_cupti(state), settings);
}

void restart_sampling() {
  if (!samples_wanted()) return;
  sample::stop();
  sample::start(sampler_settings());
}

namespace {

// What is on goes on with less of it; what is off begins with less.
void leave_out(std::uint32_t less) {
  const sample::Settings before = sampler_settings();
  const bool sampled = samples_wanted();
  g_core.less = less;
  if (g_core.state != wire::AgentState::kRecording) return;
  hot::g_state.on.store(hot_bits(g_core.state), std::memory_order_release);
  apply_torch(g_core.state);
  const sample::Settings after = sampler_settings();
  if (sampled && !samples_wanted())
    sample::stop();
  else if (before.rate_hz != after.rate_hz || before.native != after.native)
    restart_sampling();
  apply_cuda(g_core.state);
}

}  // namespace

void configure_rooms() {
  nvtx::set_step_name(steps_from(wire::StepSource::kNvtx) ? g_core.step_text : "");
  cupti::set_step_expression(steps_from(wire::StepSource::kKernel) ? g_core.step_text : "");
  if (traced(wire::kTracePython | wire::kTraceNative) || g_core.config.launch_stacks != 0)
    sample::prepare();
}

void release_rooms() {
  constexpr std::uint32_t kReleaseMs = 1000;
  cupti::release(kReleaseMs);
  torch::release();
  nvtx::release();
  sample::release();
  python::release();
}

// PyTorch complains, on stderr, of each block that it learns of only when it is given back.
void settle_memory() {
  const bool from_the_first_block = g_core.join_ns == 0 && got::in_front();
  torch::settle_cpu_memory(torch_memory_wanted() && from_the_first_block);
}

void apply_plan() {
  const wire::Plan* plan = hot::g_state.plan;
  const std::uint32_t sequence = plan->sequence.load(std::memory_order_acquire);
  const wire::AgentState state = wanted_state();
  if (cupti::wants_again()) apply_cuda(g_core.state);
  if (state == g_core.state && sequence == g_core.applied_sequence) return;
  const std::uint64_t begin = base::mono_ns();
  const std::uint32_t less = plan->less.load(std::memory_order_relaxed);
  if (less != g_core.less) leave_out(less);
  if (state != g_core.state) switch_to(state);
  g_core.applied_sequence = sequence;
  const std::uint64_t now = base::mono_ns();
  tell(wire::StateReport{static_cast<std::uint32_t>(state), sequence, now,
                         hot::g_state.stats->steps.load(std::memory_order_relaxed), now - begin});
}

void all_off() {
  if (hot::g_state.stats == nullptr) return;
  switch_to(wire::AgentState::kStopped);
}

}  // namespace gpuprof::agent
