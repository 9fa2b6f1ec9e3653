// SPDX-License-Identifier: Apache-2.0
//
// The program under us: started as if we were not there, followed until it ends.
//
// Context:  cli
// Owns:     this process's signal mask and dispositions from start() on; the program's pid until it
// is waited
//           for
// Promises: the program gets the mask, dispositions, timers, descriptors, group and limits that we
//           were started with; signals of the terminal reach it once; what is sent to us alone
//           reaches it too, and none of it ends us; it stops and goes on with us
// Not here: what the daemon is told (run.cpp)
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <vector>

#include "cli/target/process_group_monitor.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "support/process/subprocess.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

/// Another descriptor to listen to while the program runs; fd -1: none. `helpers`: children of ours
/// that are not the program's.
struct FollowHooks {
  int fd = -1;
  std::vector<pid_t> helpers;
  /// Called with the program's pid when it has run for a moment, and again whenever it has run
  /// twice as long.
  std::function<void(pid_t)> on_still_running;
  std::function<void()> on_readable;
};

class Program {
 public:
  Program();

  /// Starts it; `announce(pid)` runs before its exec.
  ///
  /// Errors: 126 and 127 as exec says; nothing has run then.
  support::Result<pid_t> start(support::LaunchOptions launch,
                               const std::function<void(pid_t)>& announce);

  /// Follows it to its end and returns its wait status; serves `also` meanwhile.
  int wait_until_exit(const FollowHooks& also);

  /// After wait_until_exit(), with become_subreaper(): waits until no descendant is left, or until
  /// the second interrupt.
  void wait_for_descendants(const FollowHooks& also);

  /// Descendants that lose their parent become ours to wait for; before start().
  static void become_subreaper();

  /// After the end: number of interrupts (INT, QUIT, TERM, HUP) that have come since the last call.
  int take_interrupt_count();

  /// Puts mask and dispositions back.
  void restore_signals();

 private:
  static constexpr int kSignals = 65;

  void follow_with(const FollowHooks& also);
  void open_signalfd();
  /// An alarm set before our exec is the program's: `alarm 60; exec gpuprof run ...`.
  void save_timers();
  void restore_timers() const;
  /// Whether it has stopped or ended.
  void check_program();
  void handle(const signalfd_siginfo& info);
  void stop_self(int signal);
  /// One round of waiting; -1: without a limit.
  void wait_once(const FollowHooks& also, int most_ms = -1);
  /// True if no child is left but the process group monitor and `helpers`.
  bool only_helpers_left(const std::vector<pid_t>& helpers) const;

  sigset_t original_mask_{};
  struct sigaction original_[kSignals] = {};
  itimerval timers_[3] = {};
  base::UniqueFd signals_;
  std::unique_ptr<ProcessGroupMonitor> watch_;
  pid_t pid_ = 0;
  int wait_status_ = 0;
  bool ended_ = false;
  int interrupts_ = 0;
};

/// Ends as the program did: with its status, or of its signal (without a core of our own).
[[noreturn]] void exit_like(int wait_status);

/// The exit status a shell shows: 128 + signal for a death by signal.
int shell_status(int wait_status);

}  // namespace gpuprof::cli
