// SPDX-License-Identifier: Apache-2.0
//
// Tells what a session came to: the summary on stderr, and as JSON where it was asked for.
//
// Context:  cli
#include "cli/session_report.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>

#include "cli/summary_text.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/utf8.hpp"

namespace gpuprof::cli {
namespace {

void write_all(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n <= 0) return;
    done += static_cast<std::size_t>(n);
  }
}

}  // namespace

support::Result<void> check_summary_file(const std::string& path) {
  if (path.empty()) return {};
  const auto refused = [&path](const std::string& why) {
    return support::error(fmt::format("--summary-json: cannot write {}: {}; name another file",
                                      support::in_quotes(path), why));
  };
  const std::string folder = support::parent_folder(path);
  if (support::is_folder(path)) return refused("it is a folder");
  if (support::file_exists(path)) {
    if (access(path.c_str(), W_OK) != 0) return refused(strerror(errno));
  } else if (!support::is_folder(folder)) {
    return refused("there is no folder " + support::in_quotes(folder));
  } else if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return refused(strerror(errno));
  }
  return {};
}

bool report(const Options& options, const api::Summary& summary) {
  write_all(STDERR_FILENO, options.quiet ? failures_text(summary) : summary_text(summary));
  if (options.summary_json.empty()) return true;
  std::FILE* file = std::fopen(options.summary_json.c_str(), "we");
  // Paths and command lines are bytes; between daemon and command they stay what they are.
  const std::string json = support::as_utf8(to_json(summary)) + "\n";
  bool good = file != nullptr && std::fwrite(json.data(), 1, json.size(), file) == json.size();
  int failure = good ? 0 : errno;
  if (file != nullptr && std::fclose(file) != 0 && good) {
    good = false;
    failure = errno;
  }
  if (!good) {
    write_all(STDERR_FILENO,
              fmt::format("gpuprof: cannot write the summary to {}: {}\n",
                          support::in_quotes(options.summary_json), strerror(failure)));
  }
  return good;
}

}  // namespace gpuprof::cli
