// SPDX-License-Identifier: Apache-2.0
//
// One thread of another process, traced: seized, interrupted, let run, detached.
//
// Context:  daemon | cli
#include "daemon/attach/ptrace/tracee.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>

#include "gpuprof/base/clock.hpp"

namespace gpuprof::attach {
namespace {

constexpr timespec kPause{0, 50'000};  // where there is no timer
// Nobody is told that a thread is gone because another one of its process made an exec.
constexpr std::uint64_t kRepollNs = 50'000'000;

}  // namespace

Tracee::~Tracee() {
  if (stands_) detach();
}

int Tracee::seize(pid_t tid) {
  if (ptrace(PTRACE_SEIZE, tid, nullptr, PTRACE_O_TRACESYSGOOD) != 0) return errno;
  tid_ = tid;
  stands_ = false;
  return 0;
}

bool Tracee::interrupt() { return ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr) == 0; }

bool Tracee::resume(bool to_system_call, int signal) {
  const auto request = to_system_call ? PTRACE_SYSCALL : PTRACE_CONT;
  if (ptrace(request, tid_, nullptr, reinterpret_cast<void*>(static_cast<long>(signal))) != 0)
    return false;
  stands_ = false;
  return true;
}

bool Tracee::detach() {
  stands_ = false;
  return ptrace(PTRACE_DETACH, tid_, nullptr,
                reinterpret_cast<void*>(static_cast<long>(undelivered_))) == 0;
}

StopReason Tracee::classify(int status) {
  if (WIFEXITED(status) || WIFSIGNALED(status)) {
    tid_ = 0;
    return StopReason::kGone;
  }
  if (!WIFSTOPPED(status)) return StopReason::kFailure;
  stands_ = true;
  signal_ = WSTOPSIG(status);
  undelivered_ = 0;
  if (status >> 16 == PTRACE_EVENT_STOP) return StopReason::kTrap;
  if (signal_ == (SIGTRAP | 0x80)) return StopReason::kCall;
  undelivered_ = signal_;
  return StopReason::kSignal;
}

StopReason Tracee::wait(std::uint64_t until_ns) {
  const StopReason now = poll_status(WNOHANG);
  if (now != StopReason::kNone) return now;
  // Asleep: a tracer that looks again and again takes the processor from the thread it waits for.
  StopReason how = StopReason::kNone;
  for (std::uint64_t now_ns = base::mono_ns(); how == StopReason::kNone && now_ns < until_ns;
       now_ns = base::mono_ns()) {
    const bool rings = alarm_.set(std::min(until_ns, now_ns + kRepollNs));
    how = poll_status(rings ? 0 : WNOHANG);
    if (how == StopReason::kNone && !rings) nanosleep(&kPause, nullptr);
  }
  alarm_.off();
  return how;
}

/// kNone: nothing yet.
StopReason Tracee::poll_status(int flags) {
  int status = 0;
  const pid_t got = waitpid(tid_, &status, __WALL | flags);
  if (got == tid_) return classify(status);
  if (got == 0 || errno == EINTR) return StopReason::kNone;
  return errno == ECHILD ? StopReason::kGone : StopReason::kFailure;
}

StopReason Tracee::stop(std::uint64_t until_ns) {
  if (!interrupt()) return errno == ESRCH ? StopReason::kGone : StopReason::kFailure;
  return wait_for_trap(until_ns);
}

StopReason Tracee::wait_for_trap(std::uint64_t until_ns) {
  for (;;) {
    const StopReason how = wait(until_ns);
    if (how == StopReason::kSignal || how == StopReason::kCall) {
      if (!resume(false, how == StopReason::kSignal ? signal_ : 0)) return StopReason::kGone;
      continue;
    }
    return how;
  }
}

}  // namespace gpuprof::attach
