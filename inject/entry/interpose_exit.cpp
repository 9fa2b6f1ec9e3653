// SPDX-License-Identifier: Apache-2.0
//
// Ends of the process that run no handlers: the last records are asked for first.
//
// Context:  boundary
// Promises: the program's exit status is passed on untouched; bounded (inject/agent/exit.cpp)
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "inject/agent/agent.hpp"
#include "inject/entry/next_function.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using QuickExit = void (*)(int);
using Abort = void (*)();
constinit std::atomic<QuickExit> g_quick_exit{nullptr};
constinit std::atomic<Abort> g_abort{nullptr};

__attribute__((constructor)) void find_them_early() {
  gpuprof::entry::next_function(g_quick_exit, "quick_exit");
  gpuprof::entry::next_function(g_abort, "abort");
}

[[noreturn]] void end_process(int status) {
  gpuprof::agent::before_exit();
  for (;;) ::syscall(SYS_exit_group, status);
}

}  // namespace

GPUPROF_EXPORT void _exit(int status) { end_process(status); }

GPUPROF_EXPORT void _Exit(int status) { end_process(status); }

GPUPROF_EXPORT void quick_exit(int status) {
  gpuprof::agent::before_exit();
  const QuickExit real = gpuprof::entry::next_function(g_quick_exit, "quick_exit");
  if (real != nullptr) real(status);
  for (;;) ::syscall(SYS_exit_group, status);
}

// std::terminate's, and the program's own; the C library's calls of it do not come by here.
GPUPROF_EXPORT void abort() {
  gpuprof::agent::before_abort();
  const Abort real = gpuprof::entry::next_function(g_abort, "abort");
  if (real != nullptr) real();
  for (;;) ::syscall(SYS_exit_group, 128 + SIGABRT);
}
