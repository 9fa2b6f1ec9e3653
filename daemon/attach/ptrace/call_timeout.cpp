// SPDX-License-Identifier: Apache-2.0
//
// A timer whose signal does nothing but interrupt.
//
// Context:  daemon | cli
#include "daemon/attach/ptrace/call_timeout.hpp"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuprof::attach {
namespace {

// A signal that comes before the call would end no call: another follows.
constexpr long kAgainNs = 1'000'000;
constexpr std::uint64_t kSecondNs = 1'000'000'000;

int alarm_signal() { return SIGRTMIN + 3; }

bool install() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  return sigaction(alarm_signal(), &action, nullptr) == 0;
}

itimerspec first_and_again(std::uint64_t until_ns) {
  return {{0, kAgainNs},
          {static_cast<time_t>(until_ns / kSecondNs), static_cast<long>(until_ns % kSecondNs)}};
}

}  // namespace

CallTimeout::CallTimeout() {
  static const bool installed = install();
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, alarm_signal());
  sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = alarm_signal();
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  made_ = installed && pthread_sigmask(SIG_UNBLOCK, &ours, nullptr) == 0 &&
          timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
}

CallTimeout::~CallTimeout() {
  if (made_) timer_delete(timer_);
}

bool CallTimeout::set(std::uint64_t until_ns) {
  // 0 would switch it off.
  const itimerspec when = first_and_again(until_ns == 0 ? 1 : until_ns);
  return made_ && timer_settime(timer_, TIMER_ABSTIME, &when, nullptr) == 0;
}

void CallTimeout::off() {
  const itimerspec never{};
  if (made_) timer_settime(timer_, 0, &never, nullptr);
}

}  // namespace gpuprof::attach
