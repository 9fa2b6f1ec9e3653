// SPDX-License-Identifier: Apache-2.0
//
// Ends of the process that run no handlers: the last records are asked for first.
//
// Context:  boundary
// Promises: the program's exit status is passed on untouched; bounded (inject/agent/exit.cpp)
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/agent/agent.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

[[noreturn]] void end_process(int status) {
  gpuprof::agent::before_exit();
  for (;;) ::syscall(SYS_exit_group, status);
}

}  // namespace

GPUPROF_EXPORT void _exit(int status) { end_process(status); }

GPUPROF_EXPORT void _Exit(int status) { end_process(status); }

GPUPROF_EXPORT void quick_exit(int status) {
  using QuickExit = void (*)(int);
  gpuprof::agent::before_exit();
  auto real = reinterpret_cast<QuickExit>(dlsym(RTLD_NEXT, "quick_exit"));
  if (real != nullptr) real(status);
  for (;;) ::syscall(SYS_exit_group, status);
}
