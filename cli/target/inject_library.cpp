// SPDX-License-Identifier: Apache-2.0
//
// Injects the library into a process that has none active, until its control socket responds.
//
// Context:  cli
#include "cli/target/inject_library.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <random>

#include "cli/messages/target_injection.hpp"
#include "daemon/messages/attach.hpp"
#include "gpuprof/base/clock.hpp"
#include "gpuprof/wire/messages.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::cli {
namespace {

using support::error;

// Answers of gpuprof_attach (inject/agent/agent.hpp).
enum AttachReply : int {
  kAwake = 0,
  kAlreadyAwake = 1,
  kNotUnderstood = 2,
  kNoThread = 3,
  kNoClock = 4
};

/// The library's worker opens the control socket within a millisecond; a busy machine may need
/// longer.
constexpr std::uint64_t kControlSocketTimeout_ns = 3'000'000'000;
/// Where it said that it runs, but is on its way out: so long until it is asked again.
constexpr std::uint64_t kRetryInterval_ns = 200'000'000;
/// It detaches by itself if nobody has come by then.
constexpr int kDetachTimeout_ms = 10'000;

std::string argument(bool stay) {
  std::random_device device;
  const std::uint64_t nonce = (std::uint64_t{device()} << 32) | device();
  return fmt::format("{};nonce={:x}{}", wire::kArmedAddress, nonce,
                     stay ? "" : fmt::format(";patience={}", kDetachTimeout_ms));
}

/// Empty path: there was none within so long.
support::Result<control::ControlSocket> wait_for_control_socket(std::uint32_t pid,
                                                                std::uint32_t program,
                                                                std::uint64_t longest_ns) {
  const std::uint64_t deadline_ns = base::mono_ns() + longest_ns;
  for (;;) {
    control::ControlSocket control_socket = control::control_socket_of(pid);
    control_socket.program = program;
    if (!control_socket.path.empty()) return control_socket;
    if (const std::string why = process_gone_reason(pid, program); !why.empty()) return error(why);
    if (base::mono_ns() >= deadline_ns) return control_socket;
    usleep(1000);
  }
}

support::Error no_control_socket_error(std::uint32_t pid) {
  return error(
      fmt::format(messages::target_injection::kNoControlSocket, pid, kDetachTimeout_ms / 1000));
}

}  // namespace

std::string start_failure_reason(std::uint32_t pid, int answer) {
  switch (answer) {
    case kAwake:
    case kAlreadyAwake:
      return "";
    case kNotUnderstood:
      return fmt::format(messages::target_injection::kOtherVersion, pid);
    case kNoThread:
      return fmt::format(messages::target_injection::kNoThread, pid);
    case kNoClock:
      return fmt::format(messages::target_injection::kNoClock, pid);
    default:
      return fmt::format(messages::target_injection::kUnknownStatus, pid, answer);
  }
}

std::string process_gone_reason(std::uint32_t pid, std::uint32_t program) {
  if (support::has_ended(static_cast<pid_t>(pid)))
    return fmt::format(messages::target_injection::kEnded, pid);
  if (!support::has_execed(static_cast<pid_t>(pid), program)) return "";
  return fmt::format(messages::attach::kStartedAnotherProgram, pid);
}

support::Result<control::ControlSocket> inject_library(
    std::uint32_t pid, const std::string& library, const Options& options,
    const std::function<void(const client::AttachResult&)>& attached) {
  client::AttachRequest request;
  request.pid = static_cast<pid_t>(pid);
  request.library = library;
  request.argument = argument(options.stay);
  request.ignore_seccomp = options.ignore_seccomp;
  const std::uint64_t deadline_ns = base::mono_ns() + kControlSocketTimeout_ns;
  for (;;) {
    GPUPROF_TRY(done, client::attach(request));
    if (const std::string why = start_failure_reason(pid, done.answer); !why.empty())
      return error(why);
    attached(done);
    const bool may_leave = done.answer == kAlreadyAwake;
    GPUPROF_TRY(control_socket,
                wait_for_control_socket(pid, done.program,
                                        may_leave ? kRetryInterval_ns : kControlSocketTimeout_ns));
    if (!control_socket.path.empty()) return control_socket;
    if (!may_leave || base::mono_ns() >= deadline_ns) return no_control_socket_error(pid);
  }
}

}  // namespace gpuprof::cli
