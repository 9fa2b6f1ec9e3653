// SPDX-License-Identifier: Apache-2.0
//
// Options → wire::Config.
//
// Context:  daemon
// Owns:     nothing
#include "daemon/session/agent_config.hpp"

#include <unistd.h>

#include <utility>

namespace gpuprof::session {
namespace {

constexpr std::uint32_t kFlushPeriodMs = 25;
constexpr std::uint32_t kCuptiBufferBytes = 1u << 20;
constexpr std::uint32_t kCuptiBuffers = 12;

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

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

std::uint32_t torch_detail(const api::SessionOptions& options) {
  return (options.record_shapes ? wire::kTorchShapes : 0) |
         (options.with_stack ? wire::kTorchStack : 0) |
         (options.with_modules ? wire::kTorchModules : 0) |
         (options.profile_memory ? wire::kTorchMemory : 0);
}

}  // namespace

support::Result<StepSpec> parse_step(const std::string& text) {
  StepSpec spec;
  if (text.empty() || text == "auto" || text == "none") return spec;
  for (const auto& [prefix, source] :
       {std::pair{"nvtx:", wire::StepSource::kNvtx}, {"kernel:", wire::StepSource::kKernel}}) {
    if (!starts_with(text, prefix)) continue;
    spec.source = source;
    spec.text = text.substr(std::string(prefix).size());
    if (!spec.text.empty()) return spec;
    return support::error("--step " + text + " names nothing; write " + prefix + "NAME.");
  }
  return support::error("--step " + text +
                        " is not in this version; use nvtx:NAME, kernel:REGEX, none or auto.");
}

support::Result<AgentConfig> agent_config(const api::SessionOptions& options) {
  GPUPROF_TRY(step, parse_step(options.step));
  AgentConfig made;
  made.step = step;
  wire::Config& c = made.config;
  c.major = wire::kWireMajor;
  c.minor = wire::kWireMinor;
  c.trace = options.trace;
  c.sampler = static_cast<std::uint32_t>(sampler_kind(options.sampler));
  c.rate_hz = options.rate_hz;
  c.step_source = static_cast<std::uint32_t>(step.source);
  c.step_text_bytes = static_cast<std::uint32_t>(step.text.size());
  c.flush_period_ms = kFlushPeriodMs;
  const bool graph =
      options.cuda_graph.empty() ? !options.schedule.given : options.cuda_graph == "graph";
  c.cuda_graph_mode = graph ? 1 : 0;
  c.launch_stacks = options.launch_stacks ? 1 : 0;
  c.blocked_threads = options.blocked_threads ? 1 : 0;
  c.cupti_buffer_bytes = kCuptiBufferBytes;
  c.cupti_buffer_count = kCuptiBuffers;
  c.torch_detail = torch_detail(options);
  c.daemon_pid = static_cast<std::uint64_t>(::getpid());
  return made;
}

}  // namespace gpuprof::session
