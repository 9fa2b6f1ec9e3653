// SPDX-License-Identifier: Apache-2.0
//
// A perf event that signals the calling thread, and a handler that does nothing: what sampling a
// running thread costs before a single frame has been looked at.
//
// Context:  boundary; the handler: signal
// Owns:     one descriptor
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace {

int g_fd = -1;
std::atomic<unsigned long> g_signals{0};

void on_signal(int, siginfo_t*, void*) { g_signals.fetch_add(1, std::memory_order_relaxed); }

bool direct_to_caller(int fd, int signal) {
  f_owner_ex owner{F_OWNER_TID, static_cast<pid_t>(::syscall(SYS_gettid))};
  return fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 && fcntl(fd, F_SETSIG, signal) == 0 &&
         fcntl(fd, F_SETOWN_EX, &owner) == 0;
}

}  // namespace

extern "C" {

/// Begins: `rate_hz` signals a second of the calling thread's CPU time in user mode, as --sampler
/// perf.
/// @return 0, or -1 where perf events are not allowed.
int trigger_start(int rate_hz) {
  const int signal = SIGRTMIN + 5;
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(signal, &action, nullptr);
  perf_event_attr attr;
  std::memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = 1'000'000'000ULL / static_cast<unsigned>(rate_hz);
  attr.disabled = attr.exclude_kernel = attr.exclude_hv = 1;
  g_fd = static_cast<int>(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (g_fd < 0) return -1;
  constexpr int kForEver = 1 << 30;
  return direct_to_caller(g_fd, signal) ? ioctl(g_fd, PERF_EVENT_IOC_REFRESH, kForEver) : -1;
}

void trigger_stop() {
  if (g_fd >= 0) close(g_fd);
  g_fd = -1;
}

/// Signals handled since the library was loaded.
unsigned long trigger_signals() { return g_signals.load(); }

}  // extern "C"
