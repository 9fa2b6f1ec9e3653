// SPDX-License-Identifier: Apache-2.0
//
// Takes the kernel's SIGIO for a signal of ours that it could not queue.
//
// Context:  signal (the handler), worker (the rest)
// Promises: errno kept; no system call but for a signal that was sent
#include "inject/sample/signals/sigqueue_limit.hpp"

#include <errno.h>
#include <string.h>

#include <atomic>

#include "inject/hot/state.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/sample/signals/handler.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"

namespace gpuprof::sample {

namespace {

constinit std::atomic<bool> g_reached{false}, g_once{false};
constinit KernelAction g_before{};

// The kernel's own has no sender. So has that of a file the program made asynchronous; with the
// default action, which stood here, that would have ended it, so no program does so.
void on_queue_end(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  if (info->si_code == SI_KERNEL) {
    g_once.store(true, std::memory_order_release);
    if (!g_reached.exchange(true, std::memory_order_acq_rel) && hot::is_owner_process())
      hot::wake_worker();
  } else {
    const KernelAction standard{nullptr, 0, nullptr, 0};
    kernel_sigaction(signal, &standard, nullptr);
    send_to_self(signal, info);
    change_mask(SIG_UNBLOCK, signal_bit(signal));  // the mask to be restored may block it
  }
  errno = saved;
}

}  // namespace

bool watch_sigqueue_limit() {
  KernelAction now{};
  if (!kernel_sigaction(SIGIO, nullptr, &now)) return true;
  if (now.handler != nullptr) return !now.is_function() || now.handler == on_queue_end;
  g_before = now;
  struct sigaction replaced;
  set_own_handler(SIGIO, on_queue_end, &replaced);
  if (replaced.sa_handler != SIG_DFL) sigaction(SIGIO, &replaced, nullptr);  // it was quicker
  return true;
}

void unwatch_sigqueue_limit() {
  KernelAction now{};
  if (!kernel_sigaction(SIGIO, nullptr, &now) || now.handler != on_queue_end) return;
  // A thread that blocks it may still have one.
  if (g_once.exchange(false, std::memory_order_acq_rel)) {
    const KernelAction ignore{reinterpret_cast<decltype(KernelAction::handler)>(1), 0, nullptr, 0};
    kernel_sigaction(SIGIO, &ignore, nullptr);
  }
  kernel_sigaction(SIGIO, &g_before, nullptr);
}

bool take_sigqueue_limit() { return g_reached.exchange(false, std::memory_order_acq_rel); }

void restore_program_sigio_action(int signal, struct sigaction* action) {
  if (signal != SIGIO || action->sa_sigaction != on_queue_end) return;
  memset(action, 0, sizeof *action);
  action->sa_flags = static_cast<int>(g_before.flags);
  memcpy(&action->sa_mask, &g_before.mask, sizeof g_before.mask);
}

}  // namespace gpuprof::sample
