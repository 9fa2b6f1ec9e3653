// SPDX-License-Identifier: Apache-2.0
//
// The processes a capture is of.
//
// Context:  serve
// Owns:     nothing
// Promises: only knocks at doors and reads /proc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpuprof::serve {

/// Whose processes are served. Exactly one of the three is meant.
struct Choice {
  std::uint32_t program = 0;  // of `gpuprof run`: it and what it has started
  bool all = false;           // every one of this user
  std::vector<std::uint32_t> pids;
  std::vector<std::string> names;  // with pids: as --name said
};

struct Member {
  std::uint32_t pid;
  std::uint32_t program;  // which of those it has been, by support::program_mark

  bool operator==(const Member&) const = default;
};

struct Members {
  std::vector<Member> free;         // wait to be recorded
  std::vector<std::uint32_t> busy;  // somebody records them
  std::string problem;              // why another one cannot be asked; "" if there is none
  std::uint32_t problem_pid = 0;    // whose
};

Members find_members(const Choice& choice);

/// Whether `environment` (as in /proc/PID/environ) is that of a process which `gpuprof run` started
/// with this program: 1 yes, 0 no, -1 it does not say.
int says_program(const std::string& environment, std::uint32_t program);

}  // namespace gpuprof::serve
