// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/control_errors.hpp"

#include <errno.h>

#include <cstring>

#include "support/process/procfs.hpp"

namespace gpuprof::api {

bool is_closed(int failure) { return failure == ECONNREFUSED || failure == ENOENT; }

bool is_unheard(int failure) { return failure == EPIPE || failure == ECONNRESET; }

std::string why_closed(int failure) {
  std::string why = "(" + std::string(std::strerror(failure)) + ")";
  if (is_closed(failure) || is_unheard(failure))
    why +=
        ": the library's thread there does not get to run, as in a Python 3.12 or later that "
        "forks all the time; try again";
  return why;
}

std::string why_silent(std::uint32_t pid) {
  if (support::process_stat(static_cast<pid_t>(pid)).halted())
    return "it is stopped; let it go on: kill -CONT " + std::to_string(pid);
  return "the library's thread there does not get to run, as on a busy machine or under a "
         "debugger; try again";
}

std::string why_gone(std::uint32_t pid, std::uint32_t program) {
  if (support::has_ended(static_cast<pid_t>(pid))) return "it has ended meanwhile";
  if (!support::started_another_program(static_cast<pid_t>(pid), program)) return "";
  return "it has started another program (exec) meanwhile, and a library does not outlive that; "
         "attach again";
}

}  // namespace gpuprof::api
