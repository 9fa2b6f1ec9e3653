// SPDX-License-Identifier: Apache-2.0
//
// The environment of the program and of the daemon.
//
// Context:  cli
// Owns:     nothing
// Promises: nothing the user has set is lost, except the traces of an outer gpuprof
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/target/installation.hpp"

namespace gpuprof::cli {

struct ProgramEnvironment {
  std::vector<std::string> variables;
  std::vector<std::string> notes;  // sentences for the summary
};

/// The sentence about a variable for the driver or for NVTX that names somebody else's library,
/// which it keeps; "" if it does not.
std::string foreign_injection_note(const std::vector<std::string>& words, const std::string& name);

/// @param original  The environment gpuprof itself was started with.
/// @param preload   The word for LD_PRELOAD; empty: the program is not to be preloaded.
/// @param address   Value for GPUPROF_SOCKET, still without the pid.
ProgramEnvironment program_environment(const std::vector<std::string>& original,
                                       const Installation& installation, const std::string& preload,
                                       const std::string& address);

/// Adds the pid to GPUPROF_SOCKET; called in the child.
void append_target_pid(std::vector<std::string>& words, std::uint32_t pid);

/// The original without anything that would profile the daemon.
std::vector<std::string> daemon_environment(const std::vector<std::string>& original);

}  // namespace gpuprof::cli
