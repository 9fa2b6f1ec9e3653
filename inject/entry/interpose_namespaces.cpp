// SPDX-License-Identifier: Apache-2.0
//
// Calls the kernel allows only to a process of one thread: ours is gone while they are made, by
// their names or as a bare `syscall` (interpose_syscall.cpp).
//
// Context:  boundary
// Promises: result and errno are the kernel's
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/agent/agent.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Of these a thread changes its own alone. Ours stays where it is: a new one would begin in the new
// network, out of the daemon's reach, and beside a new namespace of process ids there can be none.
bool any_thread_may(long kinds) {
  constexpr long kOfOneThread =
      CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_SYSVSEM;
  return kinds != 0 && (kinds & ~kOfOneThread) == 0;
}

}  // namespace

extern "C" {

/// What `syscall` goes on to (interpose_syscall.cpp): not our own again.
__attribute__((visibility("hidden"))) extern long (*gpuprof_next_syscall)(long number, ...);

/// Where `syscall` jumps to for these two.
__attribute__((used, visibility("hidden"))) long gpuprof_single_threaded_syscall(long number,
                                                                                 long first,
                                                                                 long second) {
  if (any_thread_may(number == SYS_unshare ? first : second))
    return gpuprof_next_syscall(number, first, second);
  gpuprof::agent::begin_single_threaded();
  const long result = gpuprof_next_syscall(number, first, second);
  gpuprof::agent::end_single_threaded();
  return result;
}
}

GPUPROF_EXPORT int unshare(int flags) noexcept {
  return static_cast<int>(gpuprof_single_threaded_syscall(SYS_unshare, flags, 0));
}

GPUPROF_EXPORT int setns(int fd, int kind) noexcept {
  return static_cast<int>(gpuprof_single_threaded_syscall(SYS_setns, fd, kind));
}
