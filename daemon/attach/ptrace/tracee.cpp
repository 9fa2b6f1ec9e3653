// SPDX-License-Identifier: Apache-2.0
//
// One thread of another process, traced: seized, interrupted, let run, let go.
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
constexpr std::uint64_t kLookAgainNs = 50'000'000;

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

Stop Tracee::classify(int status) {
  if (WIFEXITED(status) || WIFSIGNALED(status)) {
    tid_ = 0;
    return Stop::kGone;
  }
  if (!WIFSTOPPED(status)) return Stop::kFailure;
  stands_ = true;
  signal_ = WSTOPSIG(status);
  undelivered_ = 0;
  if (status >> 16 == PTRACE_EVENT_STOP) return Stop::kTrap;
  if (signal_ == (SIGTRAP | 0x80)) return Stop::kCall;
  undelivered_ = signal_;
  return Stop::kSignal;
}

Stop Tracee::wait(std::uint64_t until_ns) {
  const Stop now = look(WNOHANG);
  if (now != Stop::kNone) return now;
  // Asleep: a tracer that looks again and again takes the processor from the thread it waits for.
  Stop how = Stop::kNone;
  for (std::uint64_t now_ns = base::mono_ns(); how == Stop::kNone && now_ns < until_ns;
       now_ns = base::mono_ns()) {
    const bool rings = alarm_.set(std::min(until_ns, now_ns + kLookAgainNs));
    how = look(rings ? 0 : WNOHANG);
    if (how == Stop::kNone && !rings) nanosleep(&kPause, nullptr);
  }
  alarm_.off();
  return how;
}

/// kNone: nothing yet.
Stop Tracee::look(int flags) {
  int status = 0;
  const pid_t got = waitpid(tid_, &status, __WALL | flags);
  if (got == tid_) return classify(status);
  if (got == 0 || errno == EINTR) return Stop::kNone;
  return errno == ECHILD ? Stop::kGone : Stop::kFailure;
}

Stop Tracee::stop(std::uint64_t until_ns) {
  if (!interrupt()) return errno == ESRCH ? Stop::kGone : Stop::kFailure;
  return wait_for_trap(until_ns);
}

Stop Tracee::wait_for_trap(std::uint64_t until_ns) {
  for (;;) {
    const Stop how = wait(until_ns);
    if (how == Stop::kSignal || how == Stop::kCall) {
      if (!resume(false, how == Stop::kSignal ? signal_ : 0)) return Stop::kGone;
      continue;
    }
    return how;
  }
}

}  // namespace gpuprof::attach
