// SPDX-License-Identifier: Apache-2.0
//
// Prints a session's summary on stderr, and writes it as JSON where it was asked for.
//
// Context:  cli
#include "cli/output/summary_output.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "cli/messages/summary.hpp"
#include "cli/output/summary_text.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "recording/messages/spool.hpp"
#include "support/io/files.hpp"
#include "support/text/text.hpp"
#include "support/text/utf8.hpp"

namespace gpuprof::cli {
namespace {

/// Whoever started us may read nothing before we end.
constexpr int kReaderTimeoutMs = 5'000;

/// @return 0, or why not all of it was written: ETIMEDOUT where a pipe is full and nobody reads.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    pollfd room{fd, POLLOUT, 0};
    if (poll(&room, 1, kReaderTimeoutMs) == 0) return ETIMEDOUT;
    // What a pipe with room takes without waiting, whoever else has it open for writing.
    const ssize_t n = ::write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

int write_file(const std::string& path, const std::string& text) {
  // A pipe without a reader is an error, and is not waited for.
  base::UniqueFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666));
  if (!file) return errno;
  const int failure = write_all(file.get(), text);
  return failure == 0 && ::close(file.release()) != 0 ? errno : failure;
}

}  // namespace

support::Result<void> check_summary_file(const std::string& path, const std::string& made_folder) {
  if (path.empty()) return {};
  const auto refused = [&path](const std::string& why) {
    return support::error(
        fmt::format(messages::summary::kCannotWriteJson, support::in_quotes(path), why));
  };
  const std::string folder = support::parent_folder(path);
  if (support::is_folder(path)) return refused(messages::summary::kIsFolder);
  if (support::file_exists(path)) {
    if (access(path.c_str(), W_OK) != 0) return refused(strerror(errno));
  } else if (!support::is_folder(folder) &&
             support::absolute_path(folder, support::current_folder()) == made_folder) {
    return {};
  } else if (!support::is_folder(folder)) {
    return refused(fmt::format(messages::spool::kNoFolder, support::in_quotes(folder)));
  } else if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return refused(strerror(errno));
  }
  return {};
}

bool write_summary(const Options& options, const recording::Summary& reported) {
  recording::Summary summary = reported;
  // It may have gone with the folder it was in.
  if (!support::is_folder(summary.spool_folder)) summary.spool_folder.clear();
  write_all(STDERR_FILENO, options.quiet ? failures_text(summary) : summary_text(summary));
  if (options.summary_json.empty()) return true;
  // Paths and command lines are bytes; between daemon and command they stay what they are.
  const std::string json = support::to_utf8(to_json(summary)) + "\n";
  const int failure = write_file(options.summary_json, json);
  if (failure == 0) return true;
  write_all(STDERR_FILENO,
            fmt::format(messages::summary::kWriteFailed, support::in_quotes(options.summary_json),
                        failure == ENXIO ? messages::summary::kNoReader : strerror(failure)));
  return false;
}

}  // namespace gpuprof::cli
