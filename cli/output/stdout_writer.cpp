// SPDX-License-Identifier: Apache-2.0
//
// write_stdout(), and what its reader's end means.
//
// Context:  cli
#include "cli/output/stdout_writer.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "cli/messages/session_output.hpp"
#include "support/process/write_error_signals.hpp"

namespace gpuprof::cli {

support::Result<void> write_stdout(std::string_view text, const std::string& what,
                                   int exit_status) {
  while (!text.empty()) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    const int failure = errno;
    if (failure == EINTR) continue;
    if (failure == EPIPE) {
      support::restore_write_error_signals();
      raise(SIGPIPE);
    }
    return support::error(fmt::format(messages::session_output::kCannotWriteStdout, what,
                                      strerror(failure), support::write_error_hint(failure)),
                          exit_status);
  }
  return {};
}

}  // namespace gpuprof::cli
