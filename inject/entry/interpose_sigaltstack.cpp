// SPDX-License-Identifier: Apache-2.0
//
// A thread gets a small alternate stack: where the program's handlers run on such ones, there is no
// room for the frame of another signal, and ours stays away.
//
// Context:  boundary
// Promises: result and errno are the kernel's; what may be called in a handler may be called still
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/activation/cpu_watch.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

GPUPROF_EXPORT int sigaltstack(const stack_t* stack, stack_t* before) noexcept {
  const long result = ::syscall(SYS_sigaltstack, stack, before);
  if (result == 0 && stack != nullptr && gpuprof::wake::watching())
    gpuprof::wake::on_alt_stack(*stack);
  return static_cast<int>(result);
}
