// SPDX-License-Identifier: Apache-2.0
//
// The end of the program's main thread: a process of which only our threads are left ends as it
// would have without us.
//
// Context:  worker; on_thread_exit: boundary
// Owns:     nothing
// Promises: the process's end is the main thread's: its status, or its signal
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpuprof/base/clock.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "inject/agent/agent.hpp"
#include "inject/agent/core.hpp"
#include "inject/hot/state.hpp"

namespace gpuprof::agent {

namespace {

// From the announcement on; then it lives on, or the call was no end.
constexpr std::uint64_t kEndsWithinNs = 100'000'000;

// As wait(2) has it. The last of the numbers in /proc/self/stat; those behind a name that may hold
// anything.
int main_thread_status() {
  char text[1024];
  const base::UniqueFd fd(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  const ssize_t bytes = fd ? ::read(fd.get(), text, sizeof text - 1) : 0;
  if (bytes <= 0) return 0;
  text[bytes] = '\0';
  const char* last = strrchr(text, ' ');
  return last == nullptr ? 0 : static_cast<int>(strtol(last, nullptr, 10));
}

void exit_by_signal(int signal) {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  const std::uint64_t none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
  ::syscall(SYS_tgkill, getpid(), static_cast<int>(::syscall(SYS_gettid)), signal);
}

}  // namespace

// The kernel ends a process with its last thread, and that must not be one of ours. glibc has ended
// it before this unless its count of threads could not be found, or the program's threads are not
// its own (worker/glibc_threads.hpp), or the thread ended by the bare system call.
void exit_if_only_own_threads(const char* status) {
  const char* state = strstr(status, "\nState:\t");
  const char* threads = strstr(status, "\nThreads:\t");
  if (state == nullptr || threads == nullptr || state[8] != 'Z') return;
  const long ours =
      1 + (hot::g_state.flush_thread_tid.load(std::memory_order_relaxed) != 0 ? 1 : 0);
  const long all = strtol(threads + 10, nullptr, 10);
  if (all > ours + 1) return;  // the main thread counts until the process ends
  const int end = main_thread_status();
  before_exit();
  if ((end & 0x7f) != 0) exit_by_signal(end & 0x7f);
  for (;;) ::syscall(SYS_exit_group, (end >> 8) & 0xff);
}

// Ours end in the same way.
void on_thread_exit() {
  if (g_agent.shut_down.load(std::memory_order_relaxed)) return;
  const int saved = errno;
  const pid_t process = getpid();
  if (g_agent.owner_pid.load(std::memory_order_acquire) == process &&
      ::syscall(SYS_gettid) == process) {
    g_agent.thread_exit_ns.store(base::mono_ns(), std::memory_order_relaxed);
    hot::wake_worker();
  }
  errno = saved;
}

bool thread_exit_announced() {
  const std::uint64_t since_ns = g_agent.thread_exit_ns.load(std::memory_order_relaxed);
  return since_ns != 0 && base::mono_ns() - since_ns < kEndsWithinNs;
}

}  // namespace gpuprof::agent
