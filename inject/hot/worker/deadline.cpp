// SPDX-License-Identifier: Apache-2.0
//
// Asks the kernel for the thread's state, by system calls that are no cancellation points.
//
// Context:  boundary
// Owns:     nothing
#include "inject/hot/worker/deadline.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "gpuprof/base/clock.hpp"

namespace gpuprof::hot {

namespace {
constexpr std::uint64_t kMs = 1'000'000;
}

bool is_runnable_or_blocked(std::uint32_t tid) {
  char path[48], text[64] = {};
  snprintf(path, sizeof path, "/proc/self/task/%u/stat", tid);
  const long fd = ::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const long bytes = ::syscall(SYS_read, fd, text, sizeof text - 1);
  ::syscall(SYS_close, fd);
  // "TID (NAME) STATE …", and a name has 15 characters at most.
  const char* end = bytes > 0 ? strrchr(text, ')') : nullptr;
  return end != nullptr && end[1] == ' ' && (end[2] == 'R' || end[2] == 'D');
}

Deadline::Deadline(std::uint32_t deadline_ms, std::uint32_t starved_ms)
    : left_ns_(deadline_ms * kMs), starved_left_ns_(starved_ms * kMs), asked_ns_(base::mono_ns()) {}

bool Deadline::counted(bool starved) {
  const std::uint64_t now = base::mono_ns();
  const std::uint64_t passed = now - std::min(now, asked_ns_);
  asked_ns_ = now;
  std::uint64_t& left = starved ? starved_left_ns_ : left_ns_;
  left -= std::min(left, passed);
  return left_ns_ == 0;
}

}  // namespace gpuprof::hot
