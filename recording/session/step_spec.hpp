// SPDX-License-Identifier: Apache-2.0
//
// The grammar of --step.
//
// Context:  cli | daemon
// Owns:     nothing
// Not here: what each of them does (daemon/session, docs/steps.md)
#pragma once

#include <cstdint>
#include <string>

#include "support/result.hpp"

namespace gpuprof::recording {

/// --step taken apart.
struct StepSpec {
  enum class Source { kNone, kAuto, kUser, kLoop, kOptimizer, kNvtx, kKernel };
  Source source = Source::kNone;
  std::string text;        // NAME of nvtx:, REGEX of kernel:, FILE of loop:FILE:LINE
  std::uint32_t line = 0;  // LINE of loop:FILE:LINE; 0: not given

  /// Steps are looked for among PyTorch's operators.
  bool among_operators() const {
    return source == Source::kAuto || source == Source::kUser || source == Source::kLoop ||
           source == Source::kOptimizer;
  }
};

/// What --step takes, for people.
inline constexpr char kStepSyntax[] =
    "auto, user, loop, loop:FILE:LINE, optimizer, nvtx:NAME, kernel:REGEX or none";

/// Errors: anything the grammar does not have, an empty name, an expression that does not compile.
support::Result<StepSpec> parse_step(const std::string& text);

}  // namespace gpuprof::recording
