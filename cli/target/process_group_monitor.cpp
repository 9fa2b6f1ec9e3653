// SPDX-License-Identifier: Apache-2.0
//
// Tells a signal sent to our whole process group from one sent to us alone, and wakes us when the
// program that we stopped with goes on without us.
//
// Context:  cli
#include "cli/target/process_group_monitor.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>
#include <utility>

#include "cli/target/forwarded_signals.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/process/procfs.hpp"
#include "support/process/subprocess.hpp"

namespace gpuprof::cli {
namespace {

// Both members of a group have a signal pending when kill returns; this is for the scheduler.
constexpr std::uint64_t kStartTimeoutNs = 50'000'000;
// As long as the helper waits for a processor it has not said all that it knows.
constexpr std::uint64_t kStarvedTimeoutNs = 10'000'000'000;
// It ends as soon as the socket closes, unless somebody has stopped it.
constexpr std::uint64_t kWatchGoodbyeNs = 200'000'000;
// How often the helper looks at a stopped program, since nobody tells it when that goes on, and we
// at the helper.
constexpr int kLookMs = 50;

/// Leaves the socket as descriptor 3 and nothing else of ours or the program's.
void keep_only(int socket) {
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  dup2(socket, 3);
  syscall(SYS_close_range, 4U, ~0U, 0U);
}

/// A stopped process is told nothing of its child: not that it goes on, not that it was killed.
void continue_parent_if_program_runs(pid_t program) {
  const pid_t us = getppid();
  if (!support::process_stat(program).is_stopped_or_traced() &&
      support::process_stat(us).is_stopped_or_traced())
    kill(us, SIGCONT);
}

/// The newest word of ours: the program we stop with, or 0. False: we are gone.
bool read_stopped_program(pid_t* program) {
  return recv(3, program, sizeof *program, MSG_WAITALL) == sizeof *program;
}

[[noreturn]] void run_monitor(int socket) {
  keep_only(socket);
  if (chdir("/") != 0) _exit(1);
  prctl(PR_SET_NAME, "gpuprof-watch");
  const sigset_t set = forwarded_signals();
  const int signals = signalfd(-1, &set, SFD_CLOEXEC);
  pollfd waiting[] = {{3, POLLIN, 0}, {signals, POLLIN, 0}};
  pid_t program = 0;
  while (true) {
    if (poll(waiting, 2, program == 0 ? -1 : kLookMs) < 0) {
      if (errno != EINTR) _exit(1);
      continue;
    }
    if (waiting[0].revents != 0 && !read_stopped_program(&program)) _exit(0);
    if (program != 0) continue_parent_if_program_runs(program);
    signalfd_siginfo info;
    if (waiting[1].revents == 0 || read(signals, &info, sizeof info) != sizeof info) continue;
    const char number = static_cast<char>(info.ssi_signo);
    if (send(3, &number, 1, MSG_NOSIGNAL) != 1) _exit(0);
  }
}

}  // namespace

ProcessGroupMonitor::ProcessGroupMonitor() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  base::UniqueFd ours(ends[0]), theirs(ends[1]);
  // Ready before it exists: a signal between fork and signalfd stays pending.
  sigset_t before;
  sigset_t set = forwarded_signals();
  for (const int signal : {SIGTTIN, SIGTTOU}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, &before);
  pid_ = fork();
  if (pid_ == 0) run_monitor(theirs.get());
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid_ > 0) socket_ = std::move(ours);
}

ProcessGroupMonitor::~ProcessGroupMonitor() {
  socket_.reset();
  if (pid_ > 0) support::reap_child(pid_, kWatchGoodbyeNs);
}

void ProcessGroupMonitor::read_reports() {
  char numbers[16];
  const ssize_t n = recv(socket_.get(), numbers, sizeof numbers, MSG_DONTWAIT);
  for (ssize_t i = 0; i < n; ++i) {
    if (numbers[i] > 0 && numbers[i] < 65) ++seen_[static_cast<int>(numbers[i])];
  }
  if (n == 0) socket_.reset();
}

void ProcessGroupMonitor::set_stopped_with(pid_t program) {
  if (socket_) send(socket_.get(), &program, sizeof program, MSG_NOSIGNAL);
}

bool ProcessGroupMonitor::take_report(int signal) {
  read_reports();
  if (seen_[signal] == 0) return false;
  --seen_[signal];
  return true;
}

bool ProcessGroupMonitor::was_sent_to_group(int signal) {
  if (signal < 1 || signal > 64) return false;
  const std::uint64_t begin = base::mono_ns();
  while (socket_) {
    if (take_report(signal)) return true;
    const std::uint64_t waited = base::mono_ns() - begin;
    // What it was sent makes it runnable at once: when it sleeps it has said so, or was sent
    // nothing.
    if (waited >= kStartTimeoutNs &&
        (waited >= kStarvedTimeoutNs || !support::any_thread_runnable(pid_)))
      return take_report(signal);
    pollfd waiting{socket_.get(), POLLIN, 0};
    poll(&waiting, 1, kLookMs);
  }
  return false;
}

}  // namespace gpuprof::cli
