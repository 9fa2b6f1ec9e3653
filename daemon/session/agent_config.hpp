// SPDX-License-Identifier: Apache-2.0
//
// What each agent of a session is told, from the session's options.
//
// Context:  daemon
// Owns:     nothing
#pragma once

#include <string>

#include "daemon/api/session_options.hpp"
#include "gpuprof/wire/control.hpp"
#include "gpuprof/wire/records.hpp"
#include "support/result.hpp"

namespace gpuprof::session {

/// --step taken apart.
struct StepSpec {
  wire::StepSource source = wire::StepSource::kNone;
  std::string text;  // NAME or REGEX

  /// Whether marks can come at all.
  bool can_mark() const {
    return source == wire::StepSource::kNvtx || source == wire::StepSource::kKernel;
  }
};

/// `auto` finds no steps in this version: it is carried on as "none".
/// Errors: a source this version does not have; an empty name.
support::Result<StepSpec> parse_step(const std::string& text);

struct AgentConfig {
  wire::Config config{};
  StepSpec step;
};
support::Result<AgentConfig> agent_config(const api::SessionOptions& options);

}  // namespace gpuprof::session
