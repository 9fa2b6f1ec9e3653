// SPDX-License-Identifier: Apache-2.0
//
// What happens at a fault.
//
// Context:  signal | callback
// Owns:     8 bytes of thread-local storage, and what a thread has there on its stack
#include "inject/sample/fault_guard/fault_guard.hpp"

#include <errno.h>

#include <atomic>

#include "inject/hot/thread_block.hpp"
#include "inject/sample/fault_guard/fault_layers.hpp"
#include "inject/sample/fault_guard/recovery_point.hpp"
#include "inject/sample/signals/alt_stacks.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"

namespace gpuprof::sample {

constinit FaultLayers g_fault_layers;

namespace {

// The innermost Protection, and in the lowest bit that faults of this thread reach nobody.
constexpr std::uintptr_t kShut = 1;
thread_local std::uintptr_t t_protection = 0;

const Protection* protection_at(std::uintptr_t word) {
  return reinterpret_cast<const Protection*>(word & ~kShut);
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

#ifdef __SANITIZE_ADDRESS__
constexpr bool kLocalsAreElsewhere = true;  // it may keep them in memory of its own
#else
constexpr bool kLocalsAreElsewhere = false;
#endif

// A handler of the program's that leaves by longjmp leaves ours behind. One that runs on top of a
// read, ours for another signal too, may have a stack of its own.
const Protection* living_protection(const ucontext_t* context) {
  constexpr std::uintptr_t kNear = 1u << 20;
  const auto innermost = t_protection & ~kShut;
  const std::uintptr_t stack = stack_pointer(context);
  const bool lives = kLocalsAreElsewhere || (innermost > stack && innermost - stack < kNear) ||
                     (is_our_stack(innermost) && is_our_stack(stack)) ||
                     on_alternate_stack(context, stack);
  return lives ? protection_at(innermost) : nullptr;
}

Landing* landing_at(const Protection* protection) {
  while (protection != nullptr && protection->landing == nullptr)
    protection = protection_at(protection->outer);
  return protection != nullptr ? protection->landing : nullptr;
}

OpenFaults* open_at(const Protection* protection) {
  while (protection != nullptr && protection->open == nullptr)
    protection = protection_at(protection->outer);
  return protection != nullptr ? protection->open : nullptr;
}

// A handler of the program's may run inside a guarded call of ours (callback context leaves
// signals open); its faults are its own. memcpy and friends are leaves: who called them is
// known (on x86-64, by the top of the stack).
bool caused_by_us(const Landing* landing, const ucontext_t* context) {
  if (is_our_code(program_counter(context))) return true;
  const std::uintptr_t stack = stack_pointer(context);
  const auto at = reinterpret_cast<std::uintptr_t>(landing);
  // In our signal handler every other signal is blocked.
  if (is_our_stack(at) && is_our_stack(stack)) return true;
  constexpr std::uintptr_t kNear = 64u << 10;
  return stack < at && at - stack < kNear && is_our_code(leaf_caller(context));
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

}  // namespace

void on_fault(int layer, int signal, siginfo_t* info, void* context) {
  allow_unaligned();
  const int saved = errno;
  auto* interrupted = static_cast<ucontext_t*>(context);
  const Protection* protection = living_protection(interrupted);
  const bool sent = !caused_here(signal, info);
  Landing* const landing = sent ? nullptr : landing_at(protection);
  OpenFaults* const open = sent ? open_at(protection) : nullptr;
  if (landing != nullptr && caused_by_us(landing, interrupted))
    land(*landing, interrupted);
  else if (open == nullptr || !open->keep(signal, info))
    give_back(signal, g_fault_layers.of(signal)[layer].programs, info, interrupted);
  errno = saved;
}

bool guarded(void (*body)(void*), void* argument) {
  Landing landing;
  const std::uintptr_t outer = t_protection;
  const Protection protection{&landing, nullptr, outer};
  if (gpuprof_mark_landing(&landing) != 0) {
    t_protection = outer;
    return false;
  }
  t_protection = reinterpret_cast<std::uintptr_t>(&protection) | (outer & kShut);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  body(argument);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_protection = outer;
  return true;
}

OpenFaults::OpenFaults(std::uint64_t blocked) : protection_{nullptr, this, t_protection} {
  blocked &= kFaultSignals;
  if (blocked == 0) return;
  waiting_ = (pending_signals() & kFaultSignals) != 0;
  // The guard may come a moment later, when nobody would open them any more.
  if (waiting_ || !guard_in_force()) {
    t_protection |= kShut;
    return;
  }
  segv_.here = segv_.process = bus_.here = bus_.process = false;
  opened_ = blocked;
  t_protection = reinterpret_cast<std::uintptr_t>(&protection_);
  place_ = g_fault_layers.open.take(hot::this_tid());
  change_mask(SIG_UNBLOCK, opened_);
}

OpenFaults::~OpenFaults() {
  if (opened_ != 0) change_mask(SIG_BLOCK, opened_);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_protection = protection_.outer;
  if (opened_ == 0) return;
  if (place_ != nullptr) place_->store(0, std::memory_order_release);
  if (!waiting_) return;
  send_kept(SIGSEGV, segv_);
  send_kept(SIGBUS, bus_);
}

bool OpenFaults::some_wait() const {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return waiting_;
}

bool OpenFaults::keep(int signal, const siginfo_t* info) {
  if ((opened_ & signal_bit(signal)) == 0) return false;
  Kept& kept = signal == SIGSEGV ? segv_ : bus_;
  waiting_ = true;
  const bool to_thread = is_for_thread(info);
  if (!to_thread)
    (signal == SIGSEGV ? g_fault_layers.kept_segv : g_fault_layers.kept_bus)
        .fetch_add(1, std::memory_order_release);
  bool& there = to_thread ? kept.here : kept.process;
  if (there) return true;  // the kernel as well keeps the first of them
  (to_thread ? kept.to_thread : kept.to_process) = *info;
  there = true;
  return true;
}

void OpenFaults::send_kept(int signal, const Kept& kept) const {
  if (kept.here) send_to_self(signal, &kept.to_thread);
  if (kept.process) send_to_process(signal, &kept.to_process);
}

// Behind a SnapshotUse: either it is closed here, or the worker sees the use and waits for it.
bool guard_in_force() {
  return g_fault_layers.in_force.load(std::memory_order_seq_cst) && (t_protection & kShut) == 0;
}

}  // namespace gpuprof::sample
