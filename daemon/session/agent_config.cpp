// SPDX-License-Identifier: Apache-2.0
//
// Options → wire::Config.
//
// Context:  daemon
// Owns:     nothing
#include "daemon/session/agent_config.hpp"

#include <unistd.h>

#include <utility>

#include "analysis/symbols/python_lines.hpp"
#include "recording/session/overhead_limit.hpp"
#include "recording/session/step_spec.hpp"

namespace gpuprof::session {
namespace {

constexpr std::uint32_t kFlushPeriodMs = 25;
constexpr std::uint32_t kCuptiBufferBytes = 1u << 20;
// 64 threads that launch at once keep one each, cut into eighths, and fill others until CUPTI has
// delivered those: 12 MiB were too few on a GPU.
constexpr std::uint32_t kCuptiBuffers = 24;

wire::SamplerKind sampler_kind(const std::string& name) {
  constexpr std::pair<const char*, wire::SamplerKind> kNames[] = {
      {"auto", wire::SamplerKind::kAuto},
      {"perf", wire::SamplerKind::kPerf},
      {"cpu-timer", wire::SamplerKind::kCpuTimer},
      {"tgkill", wire::SamplerKind::kTgkill},
      {"wall-test-only", wire::SamplerKind::kWallTestOnly},
  };
  for (const auto& [word, kind] : kNames)
    if (name == word) return kind;
  return wire::SamplerKind::kOff;
}

wire::StepSource source_of(const recording::SessionOptions& options,
                           const recording::StepSpec& step) {
  using Source = recording::StepSpec::Source;
  // Without operators there is nothing to look among.
  if (step.among_operators() && (options.trace & wire::kTraceTorch) == 0)
    return wire::StepSource::kNone;
  switch (step.source) {
    case Source::kNone:
      return wire::StepSource::kNone;
    case Source::kAuto:
      return wire::StepSource::kAuto;
    case Source::kUser:
      return wire::StepSource::kUser;
    case Source::kLoop:
      return wire::StepSource::kLoop;
    case Source::kOptimizer:
      return wire::StepSource::kOptimizer;
    case Source::kNvtx:
      return wire::StepSource::kNvtx;
    case Source::kKernel:
      return wire::StepSource::kKernel;
  }
  return wire::StepSource::kNone;
}

std::uint32_t torch_detail(const recording::SessionOptions& options) {
  return (options.record_shapes ? wire::kTorchShapes : 0) |
         (options.with_stack ? wire::kTorchStack : 0) |
         (options.with_modules ? wire::kTorchModules : 0) |
         (options.profile_memory ? wire::kTorchMemory : 0);
}

}  // namespace

support::Result<AgentConfig> agent_config(const recording::SessionOptions& options) {
  GPUPROF_TRY(step, recording::parse_step(options.step));
  GPUPROF_TRY(max_overhead_ppm, recording::parse_max_overhead(options.max_overhead));
  AgentConfig made;
  made.max_overhead_ppm = max_overhead_ppm;
  made.search = ingest::StepSearch{source_of(options, step), {}, step.line, symbols::python_line};
  (step.among_operators() ? made.search.file : made.step_text) = step.text;
  wire::Config& c = made.config;
  c.major = wire::kWireMajor;
  c.minor = wire::kWireMinor;
  c.trace = options.trace;
  c.sampler = static_cast<std::uint32_t>(sampler_kind(options.sampler));
  c.rate_hz = options.rate_hz;
  c.step_source = static_cast<std::uint32_t>(made.search.source);
  c.step_text_bytes = static_cast<std::uint32_t>(made.step_text.size());
  c.flush_period_ms = kFlushPeriodMs;
  c.cuda_graph_mode = options.cuda_graph == "graph" ? 1 : 0;
  c.launch_stacks = options.with_stack ? 1 : 0;
  c.blocked_threads = options.blocked_threads ? 1 : 0;
  c.cupti_buffer_bytes = kCuptiBufferBytes;
  c.cupti_buffer_count = kCuptiBuffers;
  c.torch_detail = torch_detail(options);
  c.measure_overhead = max_overhead_ppm != 0 ? 1 : 0;
  c.daemon_pid = static_cast<std::uint64_t>(::getpid());
  made.reductions = reductions_for(c, options.schedule.in_steps());
  return made;
}

}  // namespace gpuprof::session
