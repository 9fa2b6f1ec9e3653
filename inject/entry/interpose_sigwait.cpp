// SPDX-License-Identifier: Apache-2.0
//
// Calls that take a waiting signal without a handler: the sampler's own is not among them, and one
// that it keeps for a moment cuts none short.
//
// Context:  boundary
// Promises: result, errno, time-out and cancellation are the C library's; a program that waits for
//           that signal itself is given its own
//
// Why: signals of the sampler may wait on a thread that blocked them a moment ago, and a thread
// that then waits for every signal would take one for the program's. And a thread that waits for a
// fault signal may be woken by one that a thread which reads memory has let through
// (UnblockFaultSignals).
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "gpuprof/base/readable.hpp"
#include "inject/agent/agent.hpp"
#include "inject/agent/process/libc_replacements.hpp"
#include "inject/entry/next_symbol.hpp"
#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/sampler.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using gpuprof::sample::neighbour_signal;

// What the kernel reads of it.
bool is_readable(const sigset_t* set) {
  if (gpuprof::agent::is_shut_down()) return true;  // a call of ours may end the program
  const auto at = reinterpret_cast<std::uint64_t>(set);
  const int saved = errno;
  const bool readable = gpuprof::base::word_readable(at) && gpuprof::base::word_readable(at + 7);
  errno = saved;
  return readable;
}

std::uint64_t bits_of(const sigset_t& set) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, &set, sizeof bits);
  return bits;
}

// The program means the sampling signal where its set has it and not its neighbour, too.
bool names_our_signal(const sigset_t* asked, int ours) {
  return ours != 0 && sigismember(asked, ours) == 1 &&
         sigismember(asked, neighbour_signal(ours)) != 1;
}

// Whether the call may be given a signal of ours.
bool may_receive_ours(const sigset_t* asked) {
  if (asked == nullptr || gpuprof::sample::own_signals() == 0 || !is_readable(asked)) return false;
  const int ours = gpuprof::sample::signal_number();
  if (names_our_signal(asked, ours)) gpuprof::sample::yield_signal_keep_handler(ours);
  return (bits_of(*asked) & gpuprof::sample::own_signals()) != 0;
}

// Those that we may keep for a moment (UnblockFaultSignals), of what a call waits for.
std::uint64_t faults_in(const sigset_t* asked) {
  if (asked == nullptr || !gpuprof::sample::is_guard_active() || !is_readable(asked)) return 0;
  return bits_of(*asked) & gpuprof::sample::kFaultSignals;
}

// Who was woken by one that we keep has not been woken: it is sent again at once.
class DeferredFaultCheck {
 public:
  explicit DeferredFaultCheck(std::uint64_t faults) : faults_(faults) {}
  /// Whether the call that ended with `got` was, since the last such question. Keeps errno.
  bool woke(int got) {
    if (faults_ == 0 || got >= 0 || errno != EINTR) return false;
    const bool kept = gpuprof::sample::deferred_since(faults_, seen_);
    seen_ = gpuprof::sample::deferred_fault_count(faults_);
    errno = EINTR;
    return kept;
  }

 private:
  const std::uint64_t faults_;
  std::uint32_t seen_ = gpuprof::sample::deferred_fault_count(faults_);
};

using Wait = int (*)(const sigset_t*, int*);
using WaitInfo = int (*)(const sigset_t*, siginfo_t*);
using TimedWait = int (*)(const sigset_t*, siginfo_t*, const timespec*);
using SignalFd = int (*)(int, const sigset_t*, int);
constinit std::atomic<Wait> g_wait{nullptr};
constinit std::atomic<WaitInfo> g_wait_info{nullptr};
constinit std::atomic<TimedWait> g_timed_wait{nullptr};
constinit std::atomic<SignalFd> g_signalfd{nullptr};

__attribute__((constructor)) void resolve_symbols() {
  gpuprof::entry::next_symbol(g_wait, "sigwait");
  gpuprof::entry::next_symbol(g_wait_info, "sigwaitinfo");
  gpuprof::entry::next_symbol(g_timed_wait, "sigtimedwait");
  gpuprof::entry::next_symbol(g_signalfd, "signalfd");
}

int missing() {
  errno = ENOSYS;
  return -1;
}

// As sigwaitinfo, without ours.
int wait_for_info(WaitInfo real, const sigset_t* set, siginfo_t* info) {
  DeferredFaultCheck kept(faults_in(set));
  for (;;) {
    siginfo_t own;
    siginfo_t* const taken = info != nullptr ? info : &own;
    const int got = real(set, taken);
    if (got > 0 && gpuprof::sample::consume_own_signal(got, *taken)) continue;
    if (!kept.woke(got)) return got;
  }
}

constexpr long kSecondNs = 1'000'000'000;

timespec after(const timespec& now, const timespec& wait) {
  constexpr time_t kForEver = 1'000'000'000;  // 31 years; more would not fit
  timespec end{now.tv_sec + std::min(wait.tv_sec, kForEver), now.tv_nsec + wait.tv_nsec};
  if (end.tv_nsec >= kSecondNs) end = {end.tv_sec + 1, end.tv_nsec - kSecondNs};
  return end;
}

timespec until(const timespec& end) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  timespec left{end.tv_sec - now.tv_sec, end.tv_nsec - now.tv_nsec};
  if (left.tv_nsec < 0) left = {left.tv_sec - 1, left.tv_nsec + kSecondNs};
  return left.tv_sec < 0 ? timespec{0, 0} : left;
}

int our_sigwait(const sigset_t* set, int* number) {
  const Wait real = gpuprof::entry::next_symbol(g_wait, "sigwait");
  if (real == nullptr) return ENOSYS;
  if (!may_receive_ours(set)) return real(set, number);
  const WaitInfo with_info = gpuprof::entry::next_symbol(g_wait_info, "sigwaitinfo");
  if (with_info == nullptr) return real(set, number);
  int got;
  // As the C library's: no call of it ends by EINTR.
  do got = wait_for_info(with_info, set, nullptr);
  while (got < 0 && errno == EINTR);
  if (got < 0) return errno;
  *number = got;
  return 0;
}

int our_sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  const WaitInfo real = gpuprof::entry::next_symbol(g_wait_info, "sigwaitinfo");
  if (real == nullptr) return missing();
  const bool as_it_is = !may_receive_ours(set) && faults_in(set) == 0;
  return as_it_is ? real(set, info) : wait_for_info(real, set, info);
}

int our_sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* wait) {
  const TimedWait real = gpuprof::entry::next_symbol(g_timed_wait, "sigtimedwait");
  if (real == nullptr) return missing();
  const std::uint64_t faults = faults_in(set);
  if (!may_receive_ours(set) && faults == 0) return real(set, info, wait);
  DeferredFaultCheck kept(faults);
  timespec end{}, left{};
  if (wait != nullptr) clock_gettime(CLOCK_MONOTONIC, &end);
  for (bool end_known = false;; end_known = true) {
    siginfo_t own;
    siginfo_t* const taken = info != nullptr ? info : &own;
    const int got = real(set, taken, wait);
    if (got > 0 ? !gpuprof::sample::consume_own_signal(got, *taken) : !kept.woke(got)) return got;
    if (wait == nullptr) continue;
    // Not before the kernel could read it.
    if (!end_known) end = after(end, *wait);
    left = until(end), wait = &left;
  }
}

// What it will read cannot be taken back: ours is left out of a set of all, and the program's own
// of that number with it, until samples come by another one.
int our_signalfd(int fd, const sigset_t* set, int flags) noexcept {
  const SignalFd real = gpuprof::entry::next_symbol(g_signalfd, "signalfd");
  if (real == nullptr) return missing();
  if (!may_receive_ours(set)) return real(fd, set, flags);
  sigset_t own = *set;
  const int ours = gpuprof::sample::signal_number();
  if (ours != 0 && !names_our_signal(set, ours)) sigdelset(&own, ours);
  for (int left = SIGRTMIN; left <= SIGRTMAX && !gpuprof::agent::is_shut_down(); ++left)
    if (left != ours && sigismember(&own, left) == 1 &&
        (gpuprof::sample::own_signals() >> (left - 1) & 1) != 0)
      gpuprof::sample::discard_own_pending(left);
  return real(fd, &own, flags);
}

}  // namespace

// By these names where the library was preloaded, through the callers' slots where it came later.
GPUPROF_EXPORT int sigwait(const sigset_t* set, int* number) { return our_sigwait(set, number); }

GPUPROF_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  return our_sigwaitinfo(set, info);
}

GPUPROF_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* wait) {
  return our_sigtimedwait(set, info, wait);
}

GPUPROF_EXPORT int signalfd(int fd, const sigset_t* set, int flags) noexcept {
  return our_signalfd(fd, set, flags);
}

namespace gpuprof::agent {

const got::Replacement kSigwaitReplacements[] = {
    {"sigwait", reinterpret_cast<void*>(our_sigwait)},
    {"sigwaitinfo", reinterpret_cast<void*>(our_sigwaitinfo)},
    {"sigtimedwait", reinterpret_cast<void*>(our_sigtimedwait)},
    {"signalfd", reinterpret_cast<void*>(our_signalfd)},
    {},
};

}  // namespace gpuprof::agent
