// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/control_errors.hpp"

#include <errno.h>
#include <fmt/format.h>

#include <cstring>

#include "daemon/messages/control.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::control {

bool is_not_listening(int failure) { return failure == ECONNREFUSED || failure == ENOENT; }

bool was_reset(int failure) { return failure == EPIPE || failure == ECONNRESET; }

std::string not_listening_reason(int failure) {
  const char* error = std::strerror(failure);
  if (is_not_listening(failure) || was_reset(failure))
    return fmt::format(messages::control::kErrorOfStarved, error);
  return fmt::format(messages::control::kError, error);
}

std::string no_reply_reason(std::uint32_t pid) {
  if (support::process_stat(static_cast<pid_t>(pid)).is_stopped())
    return fmt::format(messages::control::kStopped, pid);
  return messages::control::kStarved;
}

std::string process_gone_reason(std::uint32_t pid, std::uint32_t program) {
  if (support::has_ended(static_cast<pid_t>(pid))) return messages::control::kEnded;
  if (!support::has_execed(static_cast<pid_t>(pid), program)) return "";
  return messages::control::kStartedAnotherProgram;
}

}  // namespace gpuprof::control
