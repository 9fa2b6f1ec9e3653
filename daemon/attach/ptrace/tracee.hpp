// SPDX-License-Identifier: Apache-2.0
//
// One thread of another process, traced: seized, interrupted, let run, detached.
//
// Context:  daemon | cli; all calls by one thread, whose end releases what it still traces
// Owns:     the ptrace attachment
// Promises: no wait without a deadline; the process is never ended with us
// Not here: registers and frames (arch.hpp)
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "daemon/attach/ptrace/call_timeout.hpp"

namespace gpuprof::attach {

/// Why a traced thread is stopped, or that it is not.
enum class StopReason {
  kNone,     // it still runs: the time is over
  kGone,     // it ended
  kTrap,     // as asked by interrupt(), or together with its stopped process
  kCall,     // at the begin or end of a system call
  kSignal,   // a signal is about to be delivered: Tracee::signal()
  kFailure,  // ptrace or waitpid failed: errno
};

class Tracee {
 public:
  Tracee() = default;
  Tracee(const Tracee&) = delete;
  Tracee& operator=(const Tracee&) = delete;
  /// Detaches if it stands still.
  ~Tracee();

  /// 0, or the errno of ptrace.
  int seize(pid_t tid);
  bool interrupt();
  /// Lets it run, to the next begin or end of a system call if asked; `signal` is delivered.
  bool resume(bool to_system_call, int signal = 0);
  /// Waits until CLOCK_MONOTONIC reads `until_ns`.
  StopReason wait(std::uint64_t until_ns);
  /// Interrupts and waits; signals that come first are delivered.
  StopReason stop(std::uint64_t until_ns);
  /// Goes on waiting so where that was over too soon.
  StopReason wait_for_trap(std::uint64_t until_ns);
  /// A signal that was about to be delivered is.
  bool detach();

  pid_t tid() const { return tid_; }
  int signal() const { return signal_; }
  bool is_stopped() const { return stands_; }

 private:
  StopReason poll_status(int flags);
  StopReason classify(int status);
  CallTimeout alarm_;
  pid_t tid_ = 0;
  int signal_ = 0, undelivered_ = 0;
  bool stands_ = false;
};

}  // namespace gpuprof::attach
