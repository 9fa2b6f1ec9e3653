// SPDX-License-Identifier: Apache-2.0
//
// Armed: nothing is on, the worker waits at the control socket without a system call of its own.
//
// Context:  worker
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "gpuprof/base/clock.hpp"
#include "inject/agent/core.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/hot/worker/worker_wakeup.hpp"
#include "inject/sample/sampler.hpp"

namespace gpuprof::agent {

namespace {

// To see whether the control socket's file is still there, and whose credentials the program has.
constexpr int kLookMs = 10'000;
// Where the worker has no descriptor for wakeups.
constexpr int kNoWakeupPollMs = 50;
// The program may keep a wakeup signal pending for as long as it likes.
constexpr int kProgramsSignalMs = 10;

bool has_wakeup_fd() {
  // In a table that is the program's, too, its number may be another one's by now.
  if (g_agent.wakeup_fd.fd >= 0 && (g_agent.private_fd_table || g_agent.wakeup_fd.is_intact()))
    return true;
  g_agent.wakeup_fd.fd = -1;
  // The kernel's own set: every signal is blocked on this thread, this one waits to be read.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, hot::kWakeupSignal);
  return g_agent.wakeup_fd.adopt(base::UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)));
}

// As it came, sender and value. By our own id the kernel takes any code from us, and sends it to
// the whole process all the same.
void requeue_signal(const signalfd_siginfo& taken) {
  siginfo_t info{};
  info.si_signo = static_cast<int>(taken.ssi_signo);
  info.si_code = taken.ssi_code;
  info.si_errno = taken.ssi_errno;
  info.si_pid = static_cast<pid_t>(taken.ssi_pid);
  info.si_uid = taken.ssi_uid;
  info.si_value.sival_ptr = reinterpret_cast<void*>(taken.ssi_ptr);
  ::syscall(SYS_rt_sigqueueinfo, static_cast<pid_t>(::syscall(SYS_gettid)), hot::kWakeupSignal,
            &info);
}

// A descriptor of signals takes what was sent to the whole process, too. False: that was the
// program's, which has it again.
bool drain_wakeup_fd() {
  signalfd_siginfo info;
  if (!g_agent.private_fd_table && !g_agent.wakeup_fd.is_intact()) return true;
  if (::read(g_agent.wakeup_fd.fd, &info, sizeof info) != sizeof info) return true;
  if (info.ssi_code == SI_TKILL && info.ssi_pid == static_cast<std::uint32_t>(getpid()))
    return true;
  requeue_signal(info);
  return false;
}

// As under a daemon: a Python that ends within milliseconds opens no control socket.
void wait_startup_grace() {
  const std::uint64_t begun_ns = base::mono_ns();
  for (;;) {
    const std::uint32_t reduction = hot::wakeup_count();
    const std::uint32_t left_ms = startup_grace_left_ms(begun_ns);
    if (left_ms == 0) return;
    wait_for_wakeup(reduction, static_cast<int>(left_ms), false);
  }
}

bool idle_timed_out(std::uint64_t now_ns) {
  const std::uint64_t timeout_ns = g_agent.address.idle_timeout_ms * 1'000'000ULL;
  return timeout_ns != 0 && g_agent.join_ns == 0 && now_ns - g_agent.armed_ns >= timeout_ns;
}

int next_check_ms() {
  if (thread_exit_announced()) return static_cast<int>(kExitCheckMs);
  const auto timeout = static_cast<int>(g_agent.address.idle_timeout_ms);
  return timeout != 0 && g_agent.join_ns == 0 ? std::min(timeout, kLookMs) : kLookMs;
}

}  // namespace

void wait_for_wakeup(std::uint32_t seen, int timeout_ms, bool listens) {
  pollfd all[3];
  nfds_t count = 0;
  const bool hears = has_wakeup_fd();
  if (hears) all[count++] = pollfd{g_agent.wakeup_fd.fd, POLLIN, 0};
  if (!hears) timeout_ms = std::min(timeout_ms, kNoWakeupPollMs);
  if (g_agent.control_socket.is_open())
    all[count++] = pollfd{g_agent.control_socket.fd(), POLLIN, 0};
  if (listens && g_agent.connection.connected())
    all[count++] = pollfd{g_agent.connection.fd(), POLLIN, 0};
  if (!hot::begin_wakeup_wait(seen)) return;
  ::poll(all, count, timeout_ms);
  hot::end_wakeup_wait();
  if (!hears || (all[0].revents & POLLIN) == 0 || drain_wakeup_fd()) return;
  ::poll(all + 1, count - 1, std::min(timeout_ms, kProgramsSignalMs));
}

NextAction wait_armed() {
  if (g_agent.armed_ns == 0) {
    g_agent.armed_ns = base::mono_ns();
    wait_startup_grace();
    hook_signal_calls();
  }
  for (;;) {
    const std::uint32_t reduction = hot::wakeup_count();
    if (g_agent.shut_down.load(std::memory_order_acquire)) return NextAction::kDetach;
    if (hot::worker_park_wanted()) return NextAction::kPark;
    hot::worker_pause_point();
    sample::release_signal();  // taken for a fork
    sync_credentials();
    if (g_agent.control_socket.lost()) g_agent.control_socket.close();
    g_agent.control_socket.open(g_agent.address.nonce);
    if (const NextAction next = serve_control_request(); next != NextAction::kContinue) return next;
    if (g_agent.shut_down.load(std::memory_order_acquire))
      continue;  // sync_credentials saw a filter
    if (idle_timed_out(base::mono_ns())) return NextAction::kDetach;
    wait_for_wakeup(reduction, next_check_ms(), false);
  }
}

}  // namespace gpuprof::agent
