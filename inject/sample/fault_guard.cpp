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

// The innermost Landing, and in its lowest bits what OpenFaults has opened or shut.
constexpr std::uintptr_t kSegvOpen = 1, kBusOpen = 2, kShut = 4, kFlags = 7;
thread_local std::uintptr_t t_reading = 0;

Landing* landing_here() { return reinterpret_cast<Landing*>(t_reading & ~kFlags); }

bool was_opened(int signal) {
  return (t_reading & (signal == SIGSEGV ? kSegvOpen : kBusOpen)) != 0;
}

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
  const auto landing = t_reading & ~kFlags;
  // In our signal handler every other signal is blocked.
  if (is_our_stack(landing) && is_our_stack(stack)) return true;
  constexpr std::uintptr_t kNear = 64u << 10;
  return stack < landing && landing - stack < kNear && is_our_code(leaf_caller(context));
}

void give_back(int signal, const KernelAction& programs, const siginfo_t* info,
               const ucontext_t* context) {
  g_fault_layers.in_force.store(false, std::memory_order_relaxed);
  g_fault_layers.given_back.fetch_add(1, std::memory_order_relaxed);
  kernel_action(signal, &programs, nullptr);
  if (repeats(signal, info)) return;
  send_to_self(signal, info);
  // sigsuspend and its kind let it in, and the mask that returns does not: it is now or later.
  if ((mask_of(context) & signal_bit(signal)) != 0) change_mask(SIG_UNBLOCK, signal_bit(signal));
}

// The program blocks it here: for it, nothing has come.
void put_back(int signal, const siginfo_t* info, ucontext_t* context) {
  std::uint64_t opened = 0;
  if (was_opened(SIGSEGV)) opened |= signal_bit(SIGSEGV);
  if (was_opened(SIGBUS)) opened |= signal_bit(SIGBUS);
  t_reading |= kShut;
  block_in(context, opened);
  send_back(signal, info);
  if (landing_here() != nullptr && caused_by_us(context)) land(*landing_here(), context);
}

}  // namespace

void on_fault(int layer, int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  auto* interrupted = static_cast<ucontext_t*>(context);
  if (caused_here(signal, info) && landing_here() != nullptr && caused_by_us(interrupted))
    land(*landing_here(), interrupted);
  else if (!caused_here(signal, info) && was_opened(signal))
    put_back(signal, info, interrupted);
  else
    give_back(signal, g_fault_layers.of(signal)[layer].programs, info, interrupted);
  errno = saved;
}

bool guarded(void (*body)(void*), void* argument) {
  alignas(kFlags + 1) Landing landing;
  const std::uintptr_t outer = t_reading;
  if ((outer & kShut) != 0) return false;
  if (gpuprof_mark_landing(&landing) != 0) {
    t_reading = outer | (t_reading & kShut);
    return false;
  }
  t_reading = reinterpret_cast<std::uintptr_t>(&landing) | (outer & kFlags);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  body(argument);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_reading = outer | (t_reading & kShut);
  return true;
}

OpenFaults::OpenFaults(std::uint64_t blocked) : before_(t_reading) {
  blocked &= kFaultSignals;
  if (blocked == 0) return;
  if ((pending_signals() & kFaultSignals) != 0) {
    t_reading |= kShut;
    return;
  }
  if ((blocked & signal_bit(SIGSEGV)) != 0) t_reading |= kSegvOpen;
  if ((blocked & signal_bit(SIGBUS)) != 0) t_reading |= kBusOpen;
  opened_ = blocked;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  change_mask(SIG_UNBLOCK, opened_);
}

OpenFaults::~OpenFaults() {
  if (opened_ != 0) change_mask(SIG_BLOCK, opened_);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_reading = before_;
}

bool OpenFaults::readable() const { return (t_reading & kShut) == 0; }

// Behind a SnapshotUse: either it is closed here, or the worker sees the use and waits for it.
bool guard_in_force() { return g_fault_layers.in_force.load(std::memory_order_seq_cst); }

}  // namespace gpuprof::sample
