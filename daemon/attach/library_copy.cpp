// SPDX-License-Identifier: Apache-2.0
//
// Puts the library where a process can open it, whatever it sees of the file system.
//
// Context:  daemon | cli
#include "daemon/attach/library_copy.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/attach/process/checks.hpp"
#include "daemon/messages/attach.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/io/files.hpp"

namespace gpuprof::attach {
namespace {

constexpr const char* kFolders[] = {"tmp", "dev/shm", "var/tmp", "run", "."};

bool write_all(int fd, const std::vector<std::uint8_t>& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = write(fd, bytes.data() + done, bytes.size() - done);
    if (put <= 0) return false;
    done += static_cast<std::size_t>(put);
  }
  return true;
}

/// A folder of another root; links lead where they lead the process.
base::UniqueFd open_folder(int root, const char* folder) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  return base::UniqueFd(static_cast<int>(syscall(SYS_openat2, root, folder, &how, sizeof how)));
}

bool executable(int folder) {
  struct statvfs about {};
  return fstatvfs(folder, &about) == 0 && (about.f_flag & (ST_NOEXEC | ST_RDONLY)) == 0;
}

}  // namespace

LibraryCopy::~LibraryCopy() {
  if (name_.empty()) return;
  unlinkat(folder_.get(), fmt::format("{}/{}", name_, kLibraryName).c_str(), 0);
  unlinkat(folder_.get(), name_.c_str(), AT_REMOVEDIR);
}

bool LibraryCopy::can_be_in_memory() const {
  const std::string inner = read_status(pid_).inner_pid;
  // A /proc of another pid namespace knows nobody by that number, or somebody else.
  return !inner.empty() &&
         support::is_folder(fmt::format("/proc/{}/root/proc/{}/fd", pid_, inner)) &&
         parse_status(
             support::read_small_file(fmt::format("/proc/{}/root/proc/{}/status", pid_, inner)))
                 .name == read_status(pid_).name;
}

support::Result<std::string> LibraryCopy::in_memory(std::int64_t file) {
  const base::UniqueFd fd(
      open(fmt::format("/proc/{}/fd/{}", pid_, file).c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || !write_all(fd.get(), library_.bytes))
    return support::error(fmt::format(messages::attach::kCannotCopyLibrary, pid_, strerror(errno)));
  // The dot makes a name that nobody else uses: the loader knows objects by it, and descriptors are
  // used again.
  return fmt::format("/proc/self/./fd/{}", file);
}

bool LibraryCopy::make_in(int root, const char* folder) {
  folder_ = open_folder(root, folder);
  if (!folder_ || !executable(folder_.get())) return false;
  std::string name = fmt::format(".gpuprof-{}-{}", pid_, base::mono_ns());
  if (mkdirat(folder_.get(), name.c_str(), 0755) != 0) return false;
  name_ = std::move(name);
  const base::UniqueFd fd(openat(folder_.get(), fmt::format("{}/{}", name_, kLibraryName).c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0755));
  // Whatever our umask is, the process has to read them.
  return fd && fchmodat(folder_.get(), name_.c_str(), 0755, 0) == 0 &&
         fchmod(fd.get(), 0755) == 0 && write_all(fd.get(), library_.bytes);
}

support::Result<std::string> LibraryCopy::in_a_file() {
  const base::UniqueFd root(
      open(fmt::format("/proc/{}/root", pid_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const char* folder : kFolders)
    if (root && make_in(root.get(), folder))
      return fmt::format("/{}/{}/{}", folder, name_, kLibraryName);
  return support::error(fmt::format(messages::attach::kNoPlaceForLibrary, pid_));
}

}  // namespace gpuprof::attach
