// SPDX-License-Identifier: Apache-2.0
//
// The program under us: started as if we were not there, followed until it ends.
//
// Context:  cli
#include "cli/target/program.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <vector>

#include "cli/target/forwarded_signals.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/messages/process.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::cli {
namespace {

// A user who wants us to end, too, after the program's own end.
constexpr int kInterrupts[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
constexpr int kPutBack[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGCHLD};

// By then a program that hands over to another one by exec has done so.
constexpr std::uint64_t kMomentNs = 200'000'000;
// What poll takes is an int of milliseconds.
constexpr std::uint64_t kMaxNs = 86'400'000'000'000;

/// Read through signalfd.
sigset_t intercepted_signals() {
  sigset_t set = forwarded_signals();
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGCONT);
  return set;
}

bool is_interrupt(int signal) {
  return std::find(std::begin(kInterrupts), std::end(kInterrupts), signal) != std::end(kInterrupts);
}

/// As it was sent: what somebody queued has a value that goes with it.
void forward_signal(pid_t program, const signalfd_siginfo& info) {
  const int signal = static_cast<int>(info.ssi_signo);
  if (info.ssi_code != SI_QUEUE) {
    kill(program, signal);
    return;
  }
  sigval value{};
  value.sival_ptr = reinterpret_cast<void*>(info.ssi_ptr);  // NOLINT: an integer's bits are in it
  sigqueue(program, signal, value);
}

void pause_ms(long milliseconds) {
  timespec rest{0, milliseconds * 1'000'000};
  nanosleep(&rest, nullptr);
}

bool is_stopped(pid_t pid) { return support::process_stat(pid).state == 'T'; }

}  // namespace

Program::Program() {
  sigprocmask(SIG_SETMASK, nullptr, &original_mask_);
  for (const int signal : kPutBack) sigaction(signal, nullptr, &original_[signal]);
  // An inherited "ignore" would make the kernel throw exit statuses away.
  ::signal(SIGCHLD, SIG_DFL);
}

support::Result<pid_t> Program::start(support::LaunchOptions launch,
                                      const std::function<void(pid_t)>& announce) {
  watch_ = std::make_unique<ProcessGroupMonitor>();
  int gate[2];
  if (pipe2(gate, O_CLOEXEC) != 0) {
    return support::error(fmt::format(messages::process::kCannotCreatePipe, strerror(errno)));
  }
  base::UniqueFd gate_read(gate[0]), gate_write(gate[1]);
  const sigset_t set = intercepted_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  save_timers();
  launch.pre_exec = [this, &gate_read, &gate_write,
                     inner = std::move(launch.pre_exec)](support::LaunchOptions& child) {
    gate_write.reset();
    char byte = 0;
    while (read(gate_read.get(), &byte, 1) < 0 && errno == EINTR) {
    }
    if (inner) inner(child);
    restore_timers();
    sigaction(SIGCHLD, &original_[SIGCHLD], nullptr);
    sigprocmask(SIG_SETMASK, &original_mask_, nullptr);
  };
  launch.post_fork = [this, &gate_write, &announce](pid_t pid) {
    open_signalfd();
    if (announce) announce(pid);
    gate_write.reset();
  };
  auto started = support::launch_process(std::move(launch));
  if (!started) {
    restore_signals();
    return started.error();
  }
  pid_ = started.value();
  return pid_;
}

void Program::save_timers() {
  for (const int which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    const itimerval none{};
    setitimer(which, &none, &timers_[which]);
  }
}

void Program::restore_timers() const {
  for (const int which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF})
    setitimer(which, &timers_[which], nullptr);
}

void Program::open_signalfd() {
  const sigset_t set = intercepted_signals();
  signals_ = base::UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int Program::wait_until_exit(const FollowHooks& also) {
  try {
    follow_with(also);
  } catch (const std::bad_alloc&) {
    // It is followed to its end whatever becomes of our work beside it.
    follow_with({});
  }
  return wait_status_;
}

void Program::follow_with(const FollowHooks& also) {
  const std::uint64_t start = base::mono_ns();
  std::uint64_t look = start + kMomentNs;
  while (!ended_) {
    const std::uint64_t now = base::mono_ns();
    if (also.on_still_running && now >= look) {
      also.on_still_running(pid_);
      look = now + (now - start);
    }
    wait_once(also, also.on_still_running
                        ? static_cast<int>(std::min(look - now, kMaxNs) / 1'000'000 + 1)
                        : -1);
  }
}

void Program::wait_for_descendants(const FollowHooks& also) {
  while (true) {
    int status = 0;
    const pid_t gone = waitpid(-1, &status, WNOHANG);
    if (gone < 0 && errno == ECHILD) return;
    // Descendants that ignore Ctrl-C must not hold the user.
    if (interrupts_ >= 2) return;
    if (gone > 0) continue;
    if (only_helpers_left(also.helpers)) return;
    wait_once(also);
  }
}

bool Program::only_helpers_left(const std::vector<pid_t>& helpers) const {
  // waitpid tells "some child" from "none", but not "some other than these".
  const std::vector<pid_t> children = support::children_of(getpid());
  return std::all_of(children.begin(), children.end(), [&](pid_t child) {
    const bool helper = std::find(helpers.begin(), helpers.end(), child) != helpers.end();
    return helper || (watch_ && child == watch_->pid());
  });
}

void Program::become_subreaper() { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

void Program::wait_once(const FollowHooks& also, int most_ms) {
  pollfd waiting[] = {{signals_.get(), POLLIN, 0}, {also.fd, POLLIN, 0}};
  if (poll(waiting, 2, most_ms) < 0) return;
  if (waiting[1].revents != 0) also.on_readable();
  signalfd_siginfo info;
  // The lowest number is read first: a stream of others must not hide that the program has ended.
  while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    handle(info);
    check_program();
  }
}

void Program::check_program() {
  int status = 0;
  while (!ended_ && waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_) {
    if (WIFSTOPPED(status)) {
      stop_self(WSTOPSIG(status));
      continue;
    }
    wait_status_ = status;
    ended_ = true;
  }
}

void Program::handle(const signalfd_siginfo& info) {
  const int signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGCHLD) return;
  if (signal == SIGCONT) {
    // Sent to us alone while the program is still stopped.
    pause_ms(10);
    if (!ended_ && is_stopped(pid_)) kill(pid_, SIGCONT);
    return;
  }
  if (ended_) {
    if (is_interrupt(signal)) ++interrupts_;
    return;
  }
  if (is_own_fault(info)) return;
  const bool hangup = is_session_leader_hangup(info);
  if (!hangup && (watch_->was_sent_to_group(signal) || is_kernel_group_signal(info))) return;
  forward_signal(pid_, info);
  // The kernel sends it along with the hang-up, so that a stopped leader hears of that.
  if (hangup) kill(pid_, SIGCONT);
}

void Program::stop_self(int signal) {
  // As the program was stopped, so that a shell with job control says the same of both.
  const bool from_terminal = signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
  const int ours = from_terminal ? signal : SIGSTOP;
  struct sigaction plain {};
  struct sigaction before {};
  plain.sa_handler = SIG_DFL;
  sigset_t set;
  sigset_t mask;
  sigemptyset(&set);
  sigaddset(&set, ours);
  sigaction(ours, &plain, &before);
  watch_->set_stopped_with(pid_);
  raise(ours);
  sigprocmask(SIG_UNBLOCK, &set, &mask);  // a blocked one stops us here
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  sigaction(ours, &before, nullptr);
  watch_->set_stopped_with(0);
  // Somebody has let us go on: the whole group, us alone, or the watch because the program does.
  pause_ms(10);
  if (is_stopped(pid_)) kill(pid_, SIGCONT);
}

int Program::take_interrupt_count() {
  signalfd_siginfo info;
  while (signals_ &&
         read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    handle(info);
  }
  const int count = interrupts_;
  interrupts_ = 0;
  return count;
}

void Program::restore_signals() {
  signals_.reset();
  watch_.reset();
  // What came for the program while it was ours to pass on is over. What is no interrupt of ours
  // stays ignored: it must not take the place of the program's status.
  const sigset_t set = forwarded_signals();
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (int signal = 1; signal < kSignals; ++signal) {
    if (sigismember(&set, signal) == 1) sigaction(signal, &ignore, nullptr);
  }
  sigprocmask(SIG_SETMASK, &original_mask_, nullptr);
  for (const int signal : kPutBack) sigaction(signal, &original_[signal], nullptr);
}

int shell_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

void exit_like(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    ::signal(signal, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    kill(getpid(), signal);
  }
  _exit(shell_status(wait_status));
}

}  // namespace gpuprof::cli
