// SPDX-License-Identifier: Apache-2.0
//
// What happens at a fault.
//
// Context:  signal | callback
// Owns:     8 bytes of thread-local storage
#include "inject/sample/fault_guard.hpp"

#include <errno.h>

#include <atomic>

#include "inject/sample/alt_stacks.hpp"
#include "inject/sample/fault_layers.hpp"
#include "inject/sample/kernel_signal.hpp"
#include "inject/sample/landing.hpp"

namespace gpuprof::sample {

constinit FaultLayers g_fault_layers;

namespace {

thread_local Landing* t_landing = nullptr;

constexpr int kActionOptional = 5;  // BUS_MCEERR_AO: told of, not caused by, this thread

bool caused_here(int signal, const siginfo_t* info) {
  return info->si_code > 0 && !(signal == SIGBUS && info->si_code == kActionOptional);
}

// SI_KERNEL also stands for a signal frame that did not fit the stack: nothing would repeat.
bool repeats(int signal, const siginfo_t* info) {
  return caused_here(signal, info) && info->si_code != SI_KERNEL;
}

bool is_our_code(std::uintptr_t address) {
  return address - g_fault_layers.code_begin < g_fault_layers.code_end - g_fault_layers.code_begin;
}

bool is_our_stack(std::uintptr_t address) {
  return on_our_alt_stack(reinterpret_cast<const void*>(address)) ||
         address - g_fault_layers.own_stacks_begin <
             g_fault_layers.own_stacks_end - g_fault_layers.own_stacks_begin;
}

// A handler of the program's may run inside a guarded call of ours (callback context leaves
// signals open); its faults are its own. memcpy and friends are leaves: who called them is
// known (on x86-64, by the top of the stack).
bool caused_by_us(const ucontext_t* context) {
  if (is_our_code(program_counter(context))) return true;
  const std::uintptr_t stack = stack_pointer(context);
  const auto landing = reinterpret_cast<std::uintptr_t>(t_landing);
  // In our signal handler every other signal is blocked.
  if (is_our_stack(landing) && is_our_stack(stack)) return true;
  constexpr std::uintptr_t kNear = 64u << 10;
  return stack < landing && landing - stack < kNear && is_our_code(leaf_caller(context));
}

void give_back(int signal, const KernelAction& programs, const siginfo_t* info) {
  g_fault_layers.in_force.store(false, std::memory_order_relaxed);
  g_fault_layers.given_back.fetch_add(1, std::memory_order_relaxed);
  kernel_action(signal, &programs, nullptr);
  if (!repeats(signal, info)) send_to_self(signal, info);
}

}  // namespace

void on_fault(int layer, int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  auto* interrupted = static_cast<ucontext_t*>(context);
  if (t_landing != nullptr && caused_here(signal, info) && caused_by_us(interrupted)) {
    land(*t_landing, interrupted);
  } else {
    const FaultLayer& ours = g_fault_layers.of(signal)[layer];
    // Ignored and sent by someone: nothing to do. A fault is never ignored by the kernel.
    const bool ignored =
        ours.programs.handler == reinterpret_cast<decltype(KernelAction::handler)>(1);
    if (!ignored || caused_here(signal, info)) give_back(signal, ours.programs, info);
  }
  errno = saved;
}

bool guarded(void (*body)(void*), void* argument) {
  Landing landing;
  Landing* const outer = t_landing;
  if (gpuprof_mark_landing(&landing) != 0) {
    t_landing = outer;
    return false;
  }
  t_landing = &landing;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  body(argument);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_landing = outer;
  return true;
}

// Behind a SnapshotUse: either it is closed here, or the worker sees the use and waits for it.
bool guard_in_force() { return g_fault_layers.in_force.load(std::memory_order_seq_cst); }

}  // namespace gpuprof::sample
