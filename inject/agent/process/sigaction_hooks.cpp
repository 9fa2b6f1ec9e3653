// SPDX-License-Identifier: Apache-2.0
//
// The program wants the signal that samples come by, or a timer of ours would raise: it gets it,
// and none of ours with it. A program that sets every signal to its default would be ended by the
// next.
//
// Context:  boundary; follow and restore: worker
// Owns:     the slots of the program's modules through which it calls sigaction and its kind
// Promises: result and errno are the C library's; any other signal costs a copy of its action and
//           two comparisons; what a handler may call it may call still
// Not here: how the sampler moves to another signal (inject/sample/sampler.cpp); calls by dlsym, by
//           a bare system call, and of modules that come by dlopen: no slot leads them to us
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "inject/agent/core.hpp"
#include "inject/agent/process/libc_replacements.hpp"
#include "inject/got/patches.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/sample/sampler.hpp"
#include "inject/sample/signals/handler_masks.hpp"
#include "inject/sample/signals/sigqueue_limit.hpp"

extern "C" sighandler_t __sysv_signal(int, sighandler_t) noexcept;

namespace gpuprof::agent {
namespace {

bool is_own(int number) {
  return number > 0 && number < 65 && (sample::own_signals() >> (number - 1) & 1) != 0;
}

void before_sigaction(int number) {
  if (!is_own(number)) return;
  // Under a filter of the program's nothing of ours comes, and no call of ours may be made.
  if (g_agent.shut_down.load(std::memory_order_acquire)) return;
  if (number != sample::signal_number()) return sample::discard_own_pending(number);
  const int saved = errno;
  const pid_t owner = g_agent.owner_pid.load(std::memory_order_acquire);
  const bool forked = owner == 0;
  // In a vfork child all our memory is the parent's; no signal of ours reaches it.
  const bool borrowed = !forked && owner != getpid();
  if (!borrowed && (forked || hot::worker_parked())) {
    sample::abandon_signal(forked);
    if (!forked) hot::worker_resume();
  } else if (!borrowed) {
    sample::yield_signal(number);
    if (is_own(number)) sample::discard_own_pending(number);
  }
  errno = saved;
}

// What stood there, as the program knows it.
void hide_own_action(int number, struct sigaction* before) {
  sample::unmask_own_signal(number, before);
  sample::restore_program_action(number, before);
  sample::restore_program_sigio_action(number, before);
}

int call_sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept {
  if (action == nullptr) {
    const int result = sigaction(number, nullptr, before);
    if (result == 0 && before != nullptr) hide_own_action(number, before);
    return result;
  }
  before_sigaction(number);
  const struct sigaction asked = *action;  // may be the same memory
  struct sigaction set = asked;
  sample::mask_own_signal(number, &set);
  const int result = sigaction(number, &set, before);
  if (result != 0) return result;
  if (before != nullptr) hide_own_action(number, before);
  sample::record_masked_handler(number, asked, set);
  return result;
}

// Old ways of saying it, but ways.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

template <sighandler_t (*kReal)(int, sighandler_t) noexcept>
sighandler_t call(int number, sighandler_t handler) noexcept {
  before_sigaction(number);
  const sighandler_t before = kReal(number, handler);
  struct sigaction seen {};
  seen.sa_handler = before;
  if (before == SIG_ERR) return before;
  hide_own_action(number, &seen);
  return seen.sa_handler;
}

int call_sigignore(int number) noexcept {
  before_sigaction(number);
  return sigignore(number);
}

// Of a handler of ours it would change what happens to waits.
int call_siginterrupt(int number, int interrupts) noexcept {
  before_sigaction(number);
  return siginterrupt(number, interrupts);
}

constexpr auto kSigset = call<sigset>;

#pragma GCC diagnostic pop

// Ours may wait on a thread that blocked them a moment ago.
int call_sigpending(sigset_t* set) noexcept {
  constexpr int kMax = 3;  // another may come meanwhile
  int result = sigpending(set);
  for (int i = 0; i < kMax && result == 0; ++i) {
    std::uint64_t waiting;
    memcpy(&waiting, set, sizeof waiting);
    waiting &= sample::own_signals();
    if (waiting == 0 || g_agent.shut_down.load(std::memory_order_acquire)) break;
    for (int number = SIGRTMIN; number <= SIGRTMAX; ++number)
      if ((waiting >> (number - 1) & 1) != 0) sample::discard_own_pending(number);
    result = sigpending(set);
  }
  return result;
}

const got::Replacement kCalls[] = {
    {"sigaction", reinterpret_cast<void*>(call_sigaction)},
    {"__sigaction", reinterpret_cast<void*>(call_sigaction)},
    {"signal", reinterpret_cast<void*>(call<signal>)},
    {"bsd_signal", reinterpret_cast<void*>(call<signal>)},
    {"__sysv_signal", reinterpret_cast<void*>(call<__sysv_signal>)},
    {"sysv_signal", reinterpret_cast<void*>(call<__sysv_signal>)},
    {"sigset", reinterpret_cast<void*>(kSigset)},
    {"sigignore", reinterpret_cast<void*>(call_sigignore)},
    {"siginterrupt", reinterpret_cast<void*>(call_siginterrupt)},
    {"sigpending", reinterpret_cast<void*>(call_sigpending)},
    {},
};
constinit got::Patches g_calls(kCalls);
constinit got::Patches g_waits(kSigwaitReplacements);

}  // namespace

void hook_signal_calls() {
  g_calls.apply_to_initial();
  if (kSigwaitReplacements != nullptr && !got::is_preloaded()) g_waits.apply_to_initial();
}

void unhook_signal_calls() {
  g_calls.restore();
  if (kSigwaitReplacements != nullptr) g_waits.restore();
}

}  // namespace gpuprof::agent
