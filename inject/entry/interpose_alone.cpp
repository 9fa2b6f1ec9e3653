// SPDX-License-Identifier: Apache-2.0
//
// Calls the kernel allows only to a process of one thread: ours is gone while they are made.
//
// Context:  boundary
// Promises: result and errno are the kernel's
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/agent/agent.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

int alone(long number, long first, long second) {
  gpuprof::agent::alone_begin();
  const long result = ::syscall(number, first, second);
  gpuprof::agent::alone_end();
  return static_cast<int>(result);
}

}  // namespace

GPUPROF_EXPORT int unshare(int flags) noexcept { return alone(SYS_unshare, flags, 0); }

GPUPROF_EXPORT int setns(int fd, int kind) noexcept { return alone(SYS_setns, fd, kind); }
