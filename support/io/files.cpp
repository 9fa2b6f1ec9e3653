// SPDX-License-Identifier: Apache-2.0
//
// Paths: where we are installed, whether a folder can be written.
//
// Context:  daemon | cli
#include "support/io/files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpuprof/base/unique_fd.hpp"
#include "support/messages/io.hpp"
#include "support/text/text.hpp"

namespace gpuprof::support {
std::string executable_path() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : "";
}

Result<std::vector<std::string>> create_folders(const std::string& path) {
  std::vector<std::string> made;
  for (std::size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at + 1);
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), 0777) == 0) {
      made.push_back(part);
      continue;
    }
    const int failure = errno;
    if (is_folder(part)) continue;
    const char* why = failure == EEXIST ? messages::io::kFileHasThatName : strerror(failure);
    remove_if_empty(made);
    return error(fmt::format(messages::io::kCannotCreateOutputFolder, in_quotes(part), why));
  }
  return made;
}

void remove_if_empty(const std::vector<std::string>& made) {
  for (auto folder = made.rbegin(); folder != made.rend(); ++folder) rmdir(folder->c_str());
}

Result<void> check_writable(const std::string& folder) {
  const std::string probe = fmt::format("{}/.gpuprof-probe-{}", folder, getpid());
  const base::UniqueFd fd(open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) {
    return error(
        fmt::format(messages::io::kCannotWriteOutputFolder, in_quotes(folder), strerror(errno)));
  }
  unlink(probe.c_str());
  return {};
}

std::string absolute_path(const std::string& path, const std::string& base) {
  const std::string whole = !path.empty() && path[0] == '/' ? path : base + "/" + path;
  std::string out;
  for (const std::string& part : split(whole, '/')) {
    if (!part.empty() && part != ".") out += "/" + part;
  }
  return out.empty() ? "/" : out;
}

std::string read_small_file(const std::string& path) {
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return "";
  std::string text;
  char chunk[4096];
  ssize_t n = 0;
  while ((n = ::read(fd.get(), chunk, sizeof chunk)) > 0 && text.size() < (4U << 20)) {
    text.append(chunk, static_cast<std::size_t>(n));
  }
  return text;
}

std::string inaccessible_parent(const std::string& path) {
  std::string closed;
  std::string folder = path;
  do {
    folder = parent_folder(folder);
    struct stat about;
    if (stat(folder.c_str(), &about) == 0 && (about.st_mode & S_IXOTH) == 0) closed = folder;
  } while (folder.size() > 1);
  return closed;
}

Result<void> check_replaceable(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return {};
    return error(fmt::format(messages::io::kDanglingLink, in_quotes(path)));
  }
  if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) return {};
  const char* const what = S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode) ? messages::io::kDevice
                           : S_ISFIFO(info.st_mode)                       ? messages::io::kPipe
                           : S_ISSOCK(info.st_mode)                       ? messages::io::kSocket
                                                    : messages::io::kNotRegularFile;
  return error(fmt::format(messages::io::kNotReplaceable, in_quotes(path), what));
}

bool file_exists(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0;
}

bool is_folder(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

bool is_socket(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && S_ISSOCK(about.st_mode);
}

std::string parent_folder(const std::string& path) {
  const std::size_t at = path.rfind('/');
  if (at == std::string::npos) return ".";
  return at == 0 ? "/" : path.substr(0, at);
}

std::string base_name(const std::string& path) {
  const std::size_t at = path.rfind('/');
  return at == std::string::npos ? path : path.substr(at + 1);
}

std::string current_folder() {
  char path[PATH_MAX];
  return getcwd(path, sizeof path) != nullptr ? path : "";
}

}  // namespace gpuprof::support
