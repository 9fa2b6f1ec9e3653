// SPDX-License-Identifier: Apache-2.0
//
// Why no process of a command met the daemon, as far as it can be known afterwards.
//
// Context:  cli; pure
#include "cli/target/unrecorded_reason.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

// The loader gives up within milliseconds; a slow file system or a busy machine makes it longer.
constexpr std::uint64_t kAtOnceNs = 2'000'000'000;
// A process waits some 20 ms for its library's start before it ends; a busy machine takes longer.
constexpr std::uint64_t kTooShortNs = 200'000'000;
// Beyond this no machine is so busy that the library had not started.
constexpr std::uint64_t kBusyAtMostNs = 60'000'000'000;
constexpr int kLoaderFailed = 127;  // also what a shell says of a command that is not there

std::string ending_text(int wait_status) {
  return WIFSIGNALED(wait_status) ? "of " + support::signal_name(WTERMSIG(wait_status))
                                  : fmt::format("with exit status {}", WEXITSTATUS(wait_status));
}

}  // namespace

std::string unrecorded_reason(const support::ProgramInfo& facts, const std::string& program,
                              int wait_status, std::uint64_t lived_ns) {
  const std::string name = support::in_quotes(program);
  if (!facts.preloadable()) {
    return fmt::format(
        "nothing was recorded: {} cannot load gpuprof's library, and no program that it started "
        "did",
        name);
  }
  const bool killed = WIFSIGNALED(wait_status);
  const bool loader_failed = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kLoaderFailed;
  const std::string lived = support::human_duration(lived_ns);
  const std::string ended = fmt::format(
      "nothing was recorded: {} ended {}, {} after its start, before gpuprof's library "
      "had started{}",
      name, ending_text(wait_status), lived,
      loader_failed ? " (127 stands for a library or a command that is missing)" : "");
  if (lived_ns < kAtOnceNs && (killed || loader_failed)) return ended;
  const char* const reasons =
      "LD_PRELOAD did not reach it, as happens where a program in between empties the environment "
      "(env -i, sudo), or a security module or file capabilities clear it; `gpuprof doctor` looks "
      "at this machine";
  if (lived_ns < kTooShortNs)
    return fmt::format(
        "nothing was recorded: {} ended after {}, which is too short for gpuprof's library to "
        "start on a busy machine; or {}",
        name, lived, reasons);
  if (lived_ns < kBusyAtMostNs)
    return fmt::format(
        "{}: the machine was too busy for it to start, or the program took another root, another "
        "network or a limit of open files within its first moments, so that the library could not "
        "reach the daemon; or {}",
        ended, reasons);
  return fmt::format("nothing was recorded: {} ran for {} without gpuprof's library: {}", name,
                     lived, reasons);
}

}  // namespace gpuprof::cli
