// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/control_errors.hpp"

#include <errno.h>

#include <cstring>

#include "support/process/procfs.hpp"

namespace gpuprof::control {

bool is_not_listening(int failure) { return failure == ECONNREFUSED || failure == ENOENT; }

bool was_reset(int failure) { return failure == EPIPE || failure == ECONNRESET; }

std::string not_listening_reason(int failure) {
  std::string why = "(" + std::string(std::strerror(failure)) + ")";
  if (is_not_listening(failure) || was_reset(failure))
    why +=
        ": the library's thread there does not get to run, as in a Python 3.12 or later that "
        "forks all the time; try again";
  return why;
}

std::string no_reply_reason(std::uint32_t pid) {
  if (support::process_stat(static_cast<pid_t>(pid)).is_stopped())
    return "it is stopped; let it go on: kill -CONT " + std::to_string(pid);
  return "the library's thread there does not get to run, as on a busy machine or under a "
         "debugger; try again";
}

std::string process_gone_reason(std::uint32_t pid, std::uint32_t program) {
  if (support::has_ended(static_cast<pid_t>(pid))) return "it has ended meanwhile";
  if (!support::has_execed(static_cast<pid_t>(pid), program)) return "";
  return "it has started another program (exec) meanwhile, and a library does not outlive that; "
         "attach again";
}

}  // namespace gpuprof::control
