// SPDX-License-Identifier: Apache-2.0
//
// The processes a capture is of.
//
// Context:  serve
// Owns:     nothing
// Promises: only connects to control sockets and reads /proc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpuprof::serve {

/// Whose processes are served. Exactly one of the three is meant.
struct ProcessFilter {
  std::uint32_t program = 0;  // of `gpuprof run`: it and what it has started
  bool all = false;           // every one of this user
  std::vector<std::uint32_t> pids;
  std::vector<std::string> names;  // with pids: as --name said
};

struct TargetProcess {
  std::uint32_t pid;
  std::uint32_t program;  // which of those it has been, by support::exec_fingerprint

  bool operator==(const TargetProcess&) const = default;
};

struct TargetProcesses {
  std::vector<TargetProcess> idle;  // wait to be recorded
  std::vector<std::uint32_t> busy;  // somebody records them
  std::string failure;              // why another one cannot be asked; "" if there is none
  std::uint32_t failure_pid = 0;    // whose
};

TargetProcesses find_target_processes(const ProcessFilter& choice);

/// Whether `environment` (as in /proc/PID/environ) is that of a process which `gpuprof run` started
/// with this program: 1 yes, 0 no, -1 it does not say.
int environment_names_program(const std::string& environment, std::uint32_t program);

}  // namespace gpuprof::serve
