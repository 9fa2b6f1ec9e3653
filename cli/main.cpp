// SPDX-License-Identifier: Apache-2.0
//
// gpuprof: reads the command line, runs the command, prints what went wrong.
//
// Context:  cli
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "cli/messages/command_main.hpp"
#include "cli/options/command_table.hpp"
#include "cli/options/help_text.hpp"
#include "cli/options/parse.hpp"
#include "cli/output/stdout_writer.hpp"
#include "support/io/log.hpp"
#include "support/text/text.hpp"

namespace {

gpuprof::support::Result<int> run_command_line(const std::vector<std::string>& words) {
  if (words.empty()) {
    const std::string text = gpuprof::cli::getting_started_text();
    [[maybe_unused]] const ssize_t n = write(2, text.data(), text.size());
    return 125;
  }
  GPUPROF_TRY(invocation, gpuprof::cli::parse(words));
  if (invocation.command == nullptr) {
    GPUPROF_CHECK(gpuprof::cli::write_stdout(gpuprof::cli::version_text(), "the version"));
    return 0;
  }
  if (invocation.options.verbose) gpuprof::support::log_to_stderr("gpuprof");
  return invocation.command->execute(invocation.options);
}

void print_failure(const std::string& message) {
  const std::string line =
      "gpuprof: " + gpuprof::support::escape_control_characters(message) + "\n";
  // stderr may be closed or full: there is nobody left to tell.
  [[maybe_unused]] const ssize_t n = write(2, line.data(), line.size());
}

/// A standard descriptor that we were started without must not become a socket of ours: what is
/// written to stderr would go there. The program still finds it closed.
void fill_standard_descriptors() {
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd) return;
  }
}

/// The limit, if it is lower than `least`.
std::optional<rlim_t> limit_below(__rlimit_resource resource, rlim_t least) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur >= least) return {};
  return limit.rlim_cur;
}

/// Later, what is missing would be met in the midst of our work, after the program did its own: a
/// stack that ends there would end us by a signal.
bool has_required_limits() {
  constexpr rlim_t kStackBytes = 256 << 10, kFiles = 16;
  if (const auto bytes = limit_below(RLIMIT_STACK, kStackBytes)) {
    print_failure(
        fmt::format(gpuprof::messages::command_main::kStackLimit, *bytes >> 10, kStackBytes >> 10));
    return false;
  }
  if (const auto files = limit_below(RLIMIT_NOFILE, kFiles)) {
    print_failure(fmt::format(gpuprof::messages::command_main::kFileLimit, *files, kFiles));
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  if (!has_required_limits()) return 125;
  gpuprof::support::disable_log();
  try {
    const auto result = run_command_line({argv + (argc > 0 ? 1 : 0), argv + argc});
    if (result) return result.value();
    print_failure(result.error().message);
    return result.error().exit_status;
  } catch (const std::exception& failure) {
    print_failure(fmt::format(gpuprof::messages::command_main::kInternalError, failure.what()));
    return 125;
  }
}
