// SPDX-License-Identifier: Apache-2.0
//
// Makes and removes the session's folder.
//
// Context:  daemon
#include "daemon/session/spool_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "daemon/messages/session.hpp"

namespace gpuprof::session {

namespace fs = std::filesystem;

support::Result<SpoolFolder> SpoolFolder::create(const recording::SessionOptions& options,
                                                 const std::string& nonce) {
  SpoolFolder folder;
  folder.output_ = options.output;
  fs::path beside = options.output;
  if (options.output_is_pattern) {
    // Only the part that is the same for every file; "%%" would be rewritten there.
    std::string fixed = options.output.substr(0, options.output.find('%'));
    const std::size_t slash = fixed.rfind('/');
    beside = slash == std::string::npos ? fs::path(".") : fs::path(fixed.substr(0, slash + 1));
  }
  if (options.output.empty() || options.output[0] != '/')
    return support::error(fmt::format(messages::session::kOutputIsRelative, options.output));
  std::error_code problem;
  fs::create_directories(beside, problem);
  if (problem)
    return support::error(fmt::format(messages::session::kCannotCreateOutputFolder, beside.string(),
                                      problem.message()));
  folder.path_ = (beside / (".gpuprof-spool-" + std::to_string(::getpid()) + "-" + nonce)).string();
  if (::mkdir(folder.path_.c_str(), 0700) != 0)
    return support::error(
        fmt::format(messages::session::kCannotCreateFolder, folder.path_, std::strerror(errno)));
  return folder;
}

bool SpoolFolder::remove() const {
  std::error_code problem;
  fs::remove_all(path_, problem);
  return !problem;
}

}  // namespace gpuprof::session
