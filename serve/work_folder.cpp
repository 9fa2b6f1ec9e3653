// SPDX-License-Identifier: Apache-2.0
//
// The private folder of one capture.
//
// Context:  serve
#include "serve/work_folder.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "serve/messages/serve_capture.hpp"
#include "support/text/text.hpp"

namespace gpuprof::serve {
namespace {

constexpr char kStart[] = "gpuprof-serve-";

std::string parent() {
  const char* named = ::getenv("TMPDIR");
  const bool good = named != nullptr && named[0] == '/' && access(named, W_OK | X_OK) == 0;
  return good ? named : "/tmp";
}

/// None: somebody uses it, or it is not ours.
base::UniqueFd take(const std::string& path) {
  base::UniqueFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!folder || fstat(folder.get(), &facts) != 0 || facts.st_uid != getuid()) return {};
  if (flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return folder;
}

}  // namespace

WorkFolder::WorkFolder(std::string path, base::UniqueFd lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

support::Result<WorkFolder> WorkFolder::make() {
  std::string path = parent() + "/" + kStart + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return support::error(fmt::format(messages::serve_capture::kNoFolder,
                                      support::in_quotes(parent()), strerror(errno)));
  return WorkFolder(path, take(path));
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

void WorkFolder::remove_stale() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(parent(), ignored)) {
    const std::string path = entry.path();
    if (!entry.path().filename().string().starts_with(kStart)) continue;
    if (const base::UniqueFd lock = take(path); lock) std::filesystem::remove_all(path, ignored);
  }
}

}  // namespace gpuprof::serve
