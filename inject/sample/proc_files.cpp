// SPDX-License-Identifier: Apache-2.0
//
// Reads and parses without stdio.
//
// Context:  worker
// Owns:     nothing
#include "inject/sample/proc_files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::sample {

namespace {

constexpr rlim_t kHighestUsed = 4096;  // a higher number makes every fork copy a longer table
constexpr rlim_t kLeftToAgent = 24;

rlim_t usable_top() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  return std::min(limit.rlim_cur, kHighestUsed);
}

// One line of maps: begin-end perms offset dev inode path.
bool line_holds(const char* line, std::uintptr_t address) {
  std::uint64_t begin = 0, end = 0;
  const char* at = parse_hex(line, &begin);
  if (*at != '-') return false;
  parse_hex(at + 1, &end);
  return address >= begin && address < end;
}

struct Wanted {
  std::uintptr_t address;
  char* path;
  std::size_t room;
};

bool take_path_if_held(const char* line, void* argument) {
  const auto& wanted = *static_cast<const Wanted*>(argument);
  if (!line_holds(line, wanted.address)) return true;
  if (const char* slash = strchr(line, '/'); slash != nullptr)
    snprintf(wanted.path, wanted.room, "%s", slash);
  return false;
}

}  // namespace

ssize_t read_small_file(const char* path, char* to, std::size_t room) {
  const base::UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return -1;
  const ssize_t got = ::read(fd.get(), to, room - 1);
  to[got > 0 ? got : 0] = '\0';
  return got;
}

void task_path(char* to, std::size_t room, pid_t tid, const char* name) {
  snprintf(to, room, "/proc/self/task/%d/%s", tid, name);
}

void for_each_mapping(bool (*visitor)(const char*, void*), void* argument) {
  const base::UniqueFd fd(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  if (!fd) return;
  char text[8192];
  std::size_t kept = 0;
  for (;;) {
    const ssize_t got = ::read(fd.get(), text + kept, sizeof text - 1 - kept);
    if (got <= 0) return;
    const std::size_t bytes = kept + static_cast<std::size_t>(got);
    text[bytes] = '\0';
    char* line = text;
    for (char* end; (end = strchr(line, '\n')) != nullptr; line = end + 1) {
      *end = '\0';
      if (!visitor(line, argument)) return;
    }
    kept = bytes - static_cast<std::size_t>(line - text);
    if (kept >= sizeof text - 1) kept = 0;  // a line longer than any path: skip it
    memmove(text, line, kept);
  }
}

void mapped_file_of(std::uintptr_t address, char* path, std::size_t room) {
  path[0] = '\0';
  Wanted wanted{address, path, room};
  for_each_mapping(take_path_if_held, &wanted);
}

int move_fd_high(int fd) {
  if (fd < 0) return -1;
  const rlim_t top = usable_top();
  const int from = static_cast<int>(top / 2);
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, from);
  const int saved = errno;
  ::close(fd);
  errno = saved;
  return moved;
}

std::uint32_t descriptor_budget() {
  const rlim_t top = usable_top();
  const rlim_t half = top - top / 2;
  return half > kLeftToAgent + 8 ? static_cast<std::uint32_t>(half - kLeftToAgent - 8) : 0;
}

const char* parse_hex(const char* at, std::uint64_t* value) {
  if (at[0] == '0' && at[1] == 'x') at += 2;
  *value = 0;
  for (;; ++at) {
    const char c = *at;
    std::uint64_t digit;
    if (c >= '0' && c <= '9')
      digit = static_cast<std::uint64_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      digit = static_cast<std::uint64_t>(c - 'a') + 10;
    else
      return at;
    *value = *value << 4 | digit;
  }
}

const char* parse_decimal(const char* at, std::uint64_t* value) {
  *value = 0;
  for (; *at >= '0' && *at <= '9'; ++at)
    *value = *value * 10 + static_cast<std::uint64_t>(*at - '0');
  return at;
}

}  // namespace gpuprof::sample
