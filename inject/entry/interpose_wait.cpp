// SPDX-License-Identifier: Apache-2.0
//
// Calls that take a waiting signal without a handler: the sampler's own is not among them.
//
// Context:  boundary
// Promises: result, errno, time-out and cancellation are the C library's; a program that asks for
//           the sampler's signal by number, not for all, is given what it asks for
//
// Why: signals of the sampler may wait on a thread that blocked them a moment ago, and a thread
// that then waits for every signal would take one for the program's.
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <atomic>

#include "inject/entry/next_function.hpp"
#include "inject/sample/sampler.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Another realtime signal shows whether the program asks for all of them.
int neighbour(int ours) { return ours > SIGRTMIN ? ours - 1 : ours + 1; }

// The set without the sampler's signal, in `own`, where it was only asked for with the rest.
const sigset_t* without_ours(const sigset_t* asked, sigset_t* own) {
  const int ours = gpuprof::sample::signal_number();
  if (ours == 0 || asked == nullptr) return asked;
  if (sigismember(asked, ours) != 1 || sigismember(asked, neighbour(ours)) != 1) return asked;
  *own = *asked;
  sigdelset(own, ours);
  return own;
}

using Wait = int (*)(const sigset_t*, int*);
using WaitInfo = int (*)(const sigset_t*, siginfo_t*);
using TimedWait = int (*)(const sigset_t*, siginfo_t*, const timespec*);
using SignalFd = int (*)(int, const sigset_t*, int);
constinit std::atomic<Wait> g_wait{nullptr};
constinit std::atomic<WaitInfo> g_wait_info{nullptr};
constinit std::atomic<TimedWait> g_timed_wait{nullptr};
constinit std::atomic<SignalFd> g_signalfd{nullptr};

int missing() {
  errno = ENOSYS;
  return -1;
}

}  // namespace

GPUPROF_EXPORT int sigwait(const sigset_t* set, int* number) {
  sigset_t own;
  const Wait real = gpuprof::entry::next_function(g_wait, "sigwait");
  return real == nullptr ? ENOSYS : real(without_ours(set, &own), number);
}

GPUPROF_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  sigset_t own;
  const WaitInfo real = gpuprof::entry::next_function(g_wait_info, "sigwaitinfo");
  return real == nullptr ? missing() : real(without_ours(set, &own), info);
}

GPUPROF_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* wait) {
  sigset_t own;
  const TimedWait real = gpuprof::entry::next_function(g_timed_wait, "sigtimedwait");
  return real == nullptr ? missing() : real(without_ours(set, &own), info, wait);
}

GPUPROF_EXPORT int signalfd(int fd, const sigset_t* set, int flags) noexcept {
  sigset_t own;
  const SignalFd real = gpuprof::entry::next_function(g_signalfd, "signalfd");
  return real == nullptr ? missing() : real(fd, without_ours(set, &own), flags);
}
