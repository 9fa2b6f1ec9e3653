// SPDX-License-Identifier: Apache-2.0
//
// Where a process's steps are searched: the step source and the loop that it names.
//
// Context:  daemon
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gpuprof/wire/records.hpp"

namespace gpuprof::ingest {

/// Line of the instruction at `instr_offset`; 0: unknown. As symbols::python_line.
using LineLookup = int (*)(std::string_view table, std::uint16_t py_minor, std::int32_t first_line,
                           std::int32_t instr_offset);

struct StepSearch {
  wire::StepSource source = wire::StepSource::kNone;
  std::string file;        // loop:FILE:LINE
  std::uint32_t line = 0;  // 0: any loop
  LineLookup line_of = nullptr;

  /// Marks can come at all.
  bool has_step_source() const { return source != wire::StepSource::kNone; }
  /// Steps are found among PyTorch's operators.
  bool among_operators() const {
    return wants_loops() || wants_optimizers() || source == wire::StepSource::kUser;
  }
  bool wants_loops() const {
    return source == wire::StepSource::kAuto || source == wire::StepSource::kLoop;
  }
  bool wants_named_loop() const { return source == wire::StepSource::kLoop && line != 0; }
  bool wants_optimizers() const {
    return source == wire::StepSource::kAuto || source == wire::StepSource::kOptimizer;
  }
};

}  // namespace gpuprof::ingest
