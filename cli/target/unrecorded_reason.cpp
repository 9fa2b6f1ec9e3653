// SPDX-License-Identifier: Apache-2.0
//
// Why no process of a command connected to the daemon, as far as it can be known afterwards.
//
// Context:  cli; pure
#include "cli/target/unrecorded_reason.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include "cli/messages/target_program.hpp"
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

bool loader_failed(int wait_status) {
  return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kLoaderFailed;
}

std::string ending_text(const std::string& name, int wait_status, const std::string& lived) {
  if (WIFSIGNALED(wait_status))
    return fmt::format(messages::target_program::kKilled, name,
                       support::signal_name(WTERMSIG(wait_status)), lived);
  if (loader_failed(wait_status))
    return fmt::format(messages::target_program::kExited127, name, lived);
  return fmt::format(messages::target_program::kExited, name, WEXITSTATUS(wait_status), lived);
}

}  // namespace

std::string unrecorded_reason(const support::ProgramInfo& facts, const std::string& program,
                              int wait_status, std::uint64_t lived_ns) {
  const std::string name = support::in_quotes(program);
  if (!facts.preloadable()) {
    return fmt::format(messages::target_program::kNotPreloadable, name);
  }
  const std::string lived = support::human_duration(lived_ns);
  const std::string ended = ending_text(name, wait_status, lived);
  const bool killed = WIFSIGNALED(wait_status);
  if (lived_ns < kAtOnceNs && (killed || loader_failed(wait_status))) return ended;
  const char* const reasons = messages::target_program::kNoPreload;
  if (lived_ns < kTooShortNs)
    return fmt::format(messages::target_program::kTooShort, name, lived, reasons);
  if (lived_ns < kBusyAtMostNs)
    return fmt::format(messages::target_program::kTooBusy, ended, reasons);
  return fmt::format(messages::target_program::kRanWithout, name, lived, reasons);
}

}  // namespace gpuprof::cli
