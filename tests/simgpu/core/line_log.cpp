// SPDX-License-Identifier: Apache-2.0
//
// The mapped window behind LineLog.
//
// Context:  any
// Owns:     one file descriptor and one mapped window until the process ends
// Promises: a forked child never writes into its parent's file
// Not here: formatting
#include "core/line_log.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace gpusim {
namespace {

constexpr std::uint64_t kWindowBytes = 4u << 20;
constexpr std::uint64_t kPage = 4096;

void expand(const char* pattern, char* path, std::size_t capacity) {
  const char* mark = std::strstr(pattern, "%p");
  if (mark == nullptr)
    std::snprintf(path, capacity, "%s", pattern);
  else
    std::snprintf(path, capacity, "%.*s%d%s", static_cast<int>(mark - pattern), pattern, getpid(),
                  mark + 2);
}

/// Opens high, so that the program's own descriptor numbers stay as they were.
int open_high(const char* path, int flags) {
  const int low = open(path, flags | O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (low < 0) return low;
  const int high = fcntl(low, F_DUPFD_CLOEXEC, 700);
  if (high < 0) return low;
  close(low);
  return high;
}

}  // namespace

LineLog::LineLog(const char* pattern) : owner_pid_(getpid()) {
  char path[4096];
  expand(pattern, path, sizeof path);
  fd_ = open_high(path, O_EXCL);
  if (fd_ < 0) {
    const std::size_t n = std::strlen(path);
    std::snprintf(path + n, sizeof path - n, ".%d", getpid());
    fd_ = open_high(path, O_TRUNC);
  }
  if (fd_ < 0) std::fprintf(stderr, "gpusim: simulated GPU: cannot write '%s'\n", path);
}

bool LineLog::grow(std::size_t length) {
  if (window_ != nullptr && used_ + length <= window_offset_ + kWindowBytes) return true;
  if (window_ != nullptr) munmap(window_, kWindowBytes);
  window_ = nullptr;
  window_offset_ = used_ / kPage * kPage;
  if (ftruncate(fd_, static_cast<off_t>(window_offset_ + kWindowBytes)) != 0) return false;
  void* p = mmap(nullptr, kWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
                 static_cast<off_t>(window_offset_));
  if (p == MAP_FAILED) return false;
  window_ = static_cast<char*>(p);
  return true;
}

void LineLog::append(const char* text, std::size_t length) {
  if (fd_ < 0 || getpid() != owner_pid_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  length = std::min<std::size_t>(length, kWindowBytes - kPage);
  if (!grow(length)) return;
  std::memcpy(window_ + (used_ - window_offset_), text, length);
  used_ += length;
}

void LineLog::trim() {
  if (fd_ < 0 || getpid() != owner_pid_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (window_ != nullptr) munmap(window_, kWindowBytes);
  window_ = nullptr;
  if (ftruncate(fd_, static_cast<off_t>(used_)) != 0) return;
}

}  // namespace gpusim
