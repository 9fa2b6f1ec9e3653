// SPDX-License-Identifier: Apache-2.0
//
// Why no process of a command connected to the daemon, as far as it can be known afterwards.
//
// Context:  cli; pure
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string>

#include "support/process/program_probe.hpp"

namespace gpuprof::cli {

/// One sentence for the summary.
///
/// @param lived_ns  From the program's start to its end.
std::string unrecorded_reason(const support::ProgramInfo& facts, const std::string& program,
                              int wait_status, std::uint64_t lived_ns);

}  // namespace gpuprof::cli
