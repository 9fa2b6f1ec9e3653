// SPDX-License-Identifier: Apache-2.0
//
// Ends of the process: where no handlers are run the last records are asked for first, and where a
// signal handler calls exit the C library is not to wait for itself. And fork, for the same reason.
//
// Context:  boundary
// Promises: the program's exit status is passed on untouched; bounded
//           (inject/agent/process/exit.cpp)
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "inject/agent/agent.hpp"
#include "inject/agent/process/libc_replacements.hpp"
#include "inject/entry/next_symbol.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Exit = void (*)(int);
using Fork = pid_t (*)();
using Abort = void (*)();
constinit std::atomic<Exit> g_quick_exit{nullptr}, g_exit{nullptr};
constinit std::atomic<Abort> g_abort{nullptr};
constinit std::atomic<Fork> g_fork{nullptr};

__attribute__((constructor)) void resolve_symbols() {
  gpuprof::entry::next_symbol(g_quick_exit, "quick_exit");
  gpuprof::entry::next_symbol(g_abort, "abort");
  gpuprof::entry::next_symbol(g_exit, "exit");
  gpuprof::entry::next_symbol(g_fork, "fork");
}

[[noreturn]] void end_process(int status) {
  gpuprof::agent::before_exit();
  for (;;) ::syscall(SYS_exit_group, status);
}

[[noreturn]] void our_exit(int status) {
  gpuprof::agent::on_exit_call();
  const Exit real = gpuprof::entry::next_symbol(g_exit, "exit");
  if (real != nullptr) real(status);
  end_process(status);
}

pid_t our_fork() {
  const Fork real = gpuprof::entry::next_symbol(g_fork, "fork");
  if (real == nullptr) return errno = ENOSYS, -1;
  const gpuprof::agent::ForkCall call = gpuprof::agent::before_fork_call();
  const pid_t child = real();
  gpuprof::agent::after_fork_call(call, child);
  return child;
}

}  // namespace

// By these names where the library was preloaded, through the callers' slots where it came later.
GPUPROF_EXPORT void exit(int status) { our_exit(status); }

GPUPROF_EXPORT pid_t fork() noexcept { return our_fork(); }

namespace gpuprof::agent {

const got::Replacement kForkExitReplacements[] = {
    {"fork", reinterpret_cast<void*>(our_fork)},
    {"exit", reinterpret_cast<void*>(our_exit)},
    {},
};

}  // namespace gpuprof::agent

GPUPROF_EXPORT void _exit(int status) { end_process(status); }

GPUPROF_EXPORT void _Exit(int status) { end_process(status); }

GPUPROF_EXPORT void quick_exit(int status) {
  gpuprof::agent::before_exit();
  const Exit real = gpuprof::entry::next_symbol(g_quick_exit, "quick_exit");
  if (real != nullptr) real(status);
  for (;;) ::syscall(SYS_exit_group, status);
}

// std::terminate's, and the program's own; the C library's calls of it do not come by here.
GPUPROF_EXPORT void abort() {
  gpuprof::agent::before_abort();
  const Abort real = gpuprof::entry::next_symbol(g_abort, "abort");
  if (real != nullptr) real();
  for (;;) ::syscall(SYS_exit_group, 128 + SIGABRT);
}
