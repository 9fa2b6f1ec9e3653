// SPDX-License-Identifier: Apache-2.0
//
// Waiting on the monotonic line.
//
// Context:  any
// Owns:     nothing
// Promises: never returns before the deadline
// Not here: virtual device time (timeline.cpp)
#include "core/clock.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpusim {
namespace {

constexpr std::uint64_t kYieldWindowNs = 50000;

struct TidCache {
  std::uint32_t tid;
  pid_t pid;
};
thread_local TidCache t_tid;

}  // namespace

void wait_until(std::uint64_t deadline_ns) {
  if (deadline_ns > now_ns() + kYieldWindowNs) {
    const std::uint64_t wake = deadline_ns - kYieldWindowNs;
    timespec t{static_cast<time_t>(wake / 1000000000u), static_cast<long>(wake % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) {
    }
  }
  while (now_ns() < deadline_ns) sched_yield();
}

void spin_until(std::uint64_t deadline_ns) {
  while (now_ns() < deadline_ns) {
  }
}

std::uint32_t current_tid() {
  // A forked child keeps the parent's TLS, so the cache is keyed by process.
  const pid_t pid = getpid();
  if (t_tid.tid == 0 || t_tid.pid != pid)
    t_tid = {static_cast<std::uint32_t>(syscall(SYS_gettid)), pid};
  return t_tid.tid;
}

}  // namespace gpusim
