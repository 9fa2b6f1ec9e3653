// SPDX-License-Identifier: Apache-2.0
//
// Chooses the sampling signal and keeps its handler in place.
//
// Context:  worker; boundary while the worker is parked
// Owns:     the disposition
#include <signal.h>
#include <string.h>

#include "inject/sample/program_kind.hpp"
#include "inject/sample/sampler.hpp"
#include "inject/sample/signals/alt_stacks.hpp"
#include "inject/sample/signals/handler.hpp"
#include "inject/sample/signals/handler_state.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"
#include "inject/sample/threads/thread_status.hpp"

namespace gpuprof::sample {

namespace {

constexpr int kSignals = 65;
// What stood there before us, by signal, to be put back bit for bit.
constinit KernelAction g_before[kSignals]{};

bool is_ours(const KernelAction& action) { return action.handler == on_sample_signal; }

bool is_on_stack(int signal) {
  KernelAction now{};
  return kernel_sigaction(signal, nullptr, &now) && (now.flags & SA_ONSTACK) != 0;
}

bool was_left(int signal) {
  return (g_handler.retired.load(std::memory_order_acquire) & signal_bit(signal)) != 0;
}

bool stands_at(int signal) {
  KernelAction now{};
  return kernel_sigaction(signal, nullptr, &now) && is_ours(now);
}

// What is pending is forgotten before the default action could meet it.
void put_back(int signal, bool forget_pending) {
  const KernelAction ignore{reinterpret_cast<decltype(KernelAction::handler)>(1), 0, nullptr, 0};
  const KernelAction& before = g_before[signal];
  KernelAction found{};
  if (!stands_at(signal)) return;
  if (!kernel_sigaction(signal, forget_pending ? &ignore : &before, &found)) return;
  if (!is_ours(found))
    kernel_sigaction(signal, &found, nullptr);  // the program was quicker
  else if (forget_pending)
    kernel_sigaction(signal, &before, nullptr);
}

// The last few are what people pick by hand. Go handles all but the first.
int first_candidate() { return is_go(current_snapshot()) ? SIGRTMIN : SIGRTMAX - 3; }
int last_candidate() { return is_go(current_snapshot()) ? SIGRTMIN : SIGRTMIN + 5; }

void set_handler(int signal) { set_own_handler(signal, on_sample_signal); }

}  // namespace

void set_own_handler(int signal, void (*handler)(int, siginfo_t*, void*),
                     struct sigaction* replaced) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | (alt_stacks_enabled() ? SA_ONSTACK : 0);
  sigfillset(&action.sa_mask);
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP})
    sigdelset(&action.sa_mask, fault);
  sigaction(signal, &action, replaced);
}

int sampling_signal() { return g_handler.signal.load(std::memory_order_acquire); }

void* signal_cookie(pid_t tid) {
  return reinterpret_cast<void*>(cookie_base() | static_cast<std::uint32_t>(tid));
}

bool handler_was_replaced() {
  const int signal = sampling_signal();
  KernelAction now{};
  return signal != 0 && kernel_sigaction(signal, nullptr, &now) && !is_ours(now);
}

int install_handler(int except) {
  if (sampling_signal() != 0 && !handler_was_replaced()) {
    if (alt_stacks_enabled() && !is_on_stack(sampling_signal())) set_handler(sampling_signal());
    return sampling_signal();
  }
  for (int signal = first_candidate(); signal >= last_candidate(); --signal) {
    KernelAction now{};
    if (signal == except || was_left(signal) || !kernel_sigaction(signal, nullptr, &now)) continue;
    if (now.handler != nullptr && !is_ours(now)) continue;
    // Ours still: of a process that was forked, or what the program restored.
    g_before[signal] = is_ours(now) ? KernelAction{} : now;
    set_handler(signal);
    g_handler.signal.store(signal, std::memory_order_release);
    return signal;
  }
  g_handler.signal.store(0, std::memory_order_release);
  return 0;
}

void enable_handler(const HandlerSettings& settings) {
  g_handler.settings = settings;
  g_handler.run.fetch_add(1, std::memory_order_relaxed);
  g_handler.enabled.store(true, std::memory_order_seq_cst);
}

void disable_handler() { g_handler.enabled.store(false, std::memory_order_seq_cst); }

void suspend_handler(bool held) { g_handler.suspended.store(held, std::memory_order_seq_cst); }

bool discard_pending_signals() {
  const int signal = sampling_signal();
  if (signal == 0 || handler_was_replaced()) return true;
  if (is_pending_for_process(signal)) return false;
  // To ignore a signal is also to forget those that wait, on every thread. The handler is back
  // before any trigger of ours could end the process by its default action.
  struct sigaction ignore;
  memset(&ignore, 0, sizeof ignore);
  ignore.sa_handler = SIG_IGN;
  sigaction(signal, &ignore, nullptr);
  set_handler(signal);
  return true;
}

void remove_handler(bool forget_pending) {
  const int signal = g_handler.signal.exchange(0, std::memory_order_acq_rel);
  if (signal != 0) put_back(signal, forget_pending);
}

void retire_handler() {
  const int signal = g_handler.signal.exchange(0, std::memory_order_acq_rel);
  if (signal != 0) g_handler.retired.fetch_or(signal_bit(signal), std::memory_order_acq_rel);
}

void remove_retired_handlers() {
  for (int signal = 1; signal < kSignals; ++signal) {
    if (!was_left(signal)) continue;
    // The program's or ours, nobody can tell: they keep a handler that can.
    if (is_pending_for_a_thread(signal)) continue;
    put_back(signal, false);
    g_handler.retired.fetch_and(~signal_bit(signal), std::memory_order_acq_rel);
  }
}

void restore_program_action(int signal, struct sigaction* action) {
  if (action->sa_sigaction != on_sample_signal || signal <= 0 || signal >= kSignals) return;
  const KernelAction& before = g_before[signal];
  memset(action, 0, sizeof *action);
  action->sa_sigaction = before.handler;
  action->sa_flags = static_cast<int>(before.flags);
  memcpy(&action->sa_mask, &before.mask, sizeof before.mask);
}

}  // namespace gpuprof::sample
