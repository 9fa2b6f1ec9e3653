// SPDX-License-Identifier: Apache-2.0
//
// Armed: nothing is on, the worker waits at the door without a system call of its own.
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

// To see whether the door's file is still there, and whose credentials the program has.
constexpr int kLookMs = 10'000;
// Where there is no bell.
constexpr int kDeafMs = 50;
// The program may keep a signal of the bell's waiting for as long as it likes.
constexpr int kProgramsSignalMs = 10;

bool has_bell() {
  // In a table that is the program's, too, its number may be another one's by now.
  if (g_core.bell.fd >= 0 && (g_core.own_files || g_core.bell.ours())) return true;
  g_core.bell.fd = -1;
  // The kernel's own set: every signal is blocked on this thread, this one waits to be read.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, hot::kBellSignal);
  return g_core.bell.adopt(base::UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)));
}

// As it came, sender and value. By our own id the kernel takes any code from us, and sends it to
// the whole process all the same.
void give_back(const signalfd_siginfo& taken) {
  siginfo_t info{};
  info.si_signo = static_cast<int>(taken.ssi_signo);
  info.si_code = taken.ssi_code;
  info.si_errno = taken.ssi_errno;
  info.si_pid = static_cast<pid_t>(taken.ssi_pid);
  info.si_uid = taken.ssi_uid;
  info.si_value.sival_ptr = reinterpret_cast<void*>(taken.ssi_ptr);
  ::syscall(SYS_rt_sigqueueinfo, static_cast<pid_t>(::syscall(SYS_gettid)), hot::kBellSignal,
            &info);
}

// A descriptor of signals takes what was sent to the whole process, too. False: that was the
// program's, which has it again.
bool hush_bell() {
  signalfd_siginfo info;
  if (!g_core.own_files && !g_core.bell.ours()) return true;
  if (::read(g_core.bell.fd, &info, sizeof info) != sizeof info) return true;
  if (info.ssi_code == SI_TKILL && info.ssi_pid == static_cast<std::uint32_t>(getpid()))
    return true;
  give_back(info);
  return false;
}

// As under a daemon: a Python that ends within milliseconds opens no door.
void wait_for_a_longer_life() {
  const std::uint64_t begun_ns = base::mono_ns();
  for (;;) {
    const std::uint32_t rung = hot::bell_seen();
    const std::uint32_t left_ms = short_life_left_ms(begun_ns);
    if (left_ms == 0) return;
    wait_for_ring(rung, static_cast<int>(left_ms), false);
  }
}

bool out_of_patience(std::uint64_t now_ns) {
  const std::uint64_t patience_ns = g_core.address.patience_ms * 1'000'000ULL;
  return patience_ns != 0 && g_core.join_ns == 0 && now_ns - g_core.armed_ns >= patience_ns;
}

int look_again_ms() {
  if (a_thread_ends()) return static_cast<int>(kEndLookMs);
  const auto patience = static_cast<int>(g_core.address.patience_ms);
  return patience != 0 && g_core.join_ns == 0 ? std::min(patience, kLookMs) : kLookMs;
}

}  // namespace

void wait_for_ring(std::uint32_t seen, int timeout_ms, bool listens) {
  pollfd all[3];
  nfds_t count = 0;
  const bool hears = has_bell();
  if (hears) all[count++] = pollfd{g_core.bell.fd, POLLIN, 0};
  if (!hears) timeout_ms = std::min(timeout_ms, kDeafMs);
  if (g_core.door.is_open()) all[count++] = pollfd{g_core.door.fd(), POLLIN, 0};
  if (listens && g_core.connection.connected())
    all[count++] = pollfd{g_core.connection.fd(), POLLIN, 0};
  if (!hot::bell_begin(seen)) return;
  ::poll(all, count, timeout_ms);
  hot::bell_end();
  if (!hears || (all[0].revents & POLLIN) == 0 || hush_bell()) return;
  ::poll(all + 1, count - 1, std::min(timeout_ms, kProgramsSignalMs));
}

Next wait_at_door() {
  if (g_core.armed_ns == 0) {
    g_core.armed_ns = base::mono_ns();
    wait_for_a_longer_life();
    follow_signal_calls();
  }
  for (;;) {
    const std::uint32_t rung = hot::bell_seen();
    if (g_core.left.load(std::memory_order_acquire)) return Next::kDetached;
    if (hot::worker_park_wanted()) return Next::kPark;
    hot::worker_pause_point();
    sample::give_up_signal();  // taken for a fork
    follow_credentials();
    if (g_core.door.lost()) g_core.door.close();
    g_core.door.open(g_core.address.nonce);
    if (const Next next = answer_door(); next != Next::kGoOn) return next;
    if (g_core.left.load(std::memory_order_acquire)) continue;  // follow_credentials saw a filter
    if (out_of_patience(base::mono_ns())) return Next::kDetached;
    wait_for_ring(rung, look_again_ms(), false);
  }
}

}  // namespace gpuprof::agent
