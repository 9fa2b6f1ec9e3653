// SPDX-License-Identifier: Apache-2.0
//
// The configuration that each agent of a session gets, from the session's options.
//
// Context:  daemon
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/ingest/steps/step_search.hpp"
#include "daemon/session/target/governor.hpp"
#include "gpuprof/wire/messages.hpp"
#include "recording/session/session_options.hpp"
#include "support/result.hpp"

namespace gpuprof::session {

struct AgentConfig {
  wire::Config config{};
  std::string step_text;  // NAME or REGEX, for the agents
  ingest::StepSearch search;
  std::uint64_t max_overhead_ppm = 0;  // 0: no limit
  std::vector<Reduction> reductions;   // down to it
};
support::Result<AgentConfig> agent_config(const recording::SessionOptions& options);

}  // namespace gpuprof::session
