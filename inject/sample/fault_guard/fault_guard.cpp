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

// The innermost FaultScope, and in the lowest bit that faults of this thread reach nobody.
constexpr std::uintptr_t kForeignScope = 1;
thread_local std::uintptr_t t_protection = 0;

const FaultScope* protection_at(std::uintptr_t word) {
  return reinterpret_cast<const FaultScope*>(word & ~kForeignScope);
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
  return is_on_own_alt_stack(reinterpret_cast<const void*>(address)) ||
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
const FaultScope* active_scope(const ucontext_t* context) {
  constexpr std::uintptr_t kNear = 1u << 20;
  const auto innermost = t_protection & ~kForeignScope;
  const std::uintptr_t stack = stack_pointer(context);
  const bool lives = kLocalsAreElsewhere || (innermost > stack && innermost - stack < kNear) ||
                     (is_our_stack(innermost) && is_our_stack(stack)) ||
                     on_alternate_stack(context, stack);
  return lives ? protection_at(innermost) : nullptr;
}

RecoveryPoint* recovery_point_at(const FaultScope* protection) {
  while (protection != nullptr && protection->recovery_point == nullptr)
    protection = protection_at(protection->outer);
  return protection != nullptr ? protection->recovery_point : nullptr;
}

UnblockFaultSignals* open_at(const FaultScope* protection) {
  while (protection != nullptr && protection->open == nullptr)
    protection = protection_at(protection->outer);
  return protection != nullptr ? protection->open : nullptr;
}

// A handler of the program's may run inside a guarded call of ours (callback context leaves
// signals open); its faults are its own. memcpy and friends are leaves: who called them is
// known (on x86-64, by the top of the stack).
bool caused_by_us(const RecoveryPoint* recovery_point, const ucontext_t* context) {
  if (is_our_code(program_counter(context))) return true;
  const std::uintptr_t stack = stack_pointer(context);
  const auto at = reinterpret_cast<std::uintptr_t>(recovery_point);
  // In the sampling signal handler every other signal is blocked.
  if (is_our_stack(at) && is_our_stack(stack)) return true;
  constexpr std::uintptr_t kNear = 64u << 10;
  return stack < at && at - stack < kNear && is_our_code(leaf_return_address(context));
}

void forward_to_program(int signal, const KernelAction& programs, const siginfo_t* info,
                        const ucontext_t* context) {
  g_fault_layers.active.store(false, std::memory_order_relaxed);
  g_fault_layers.forwarded.fetch_add(1, std::memory_order_relaxed);
  kernel_sigaction(signal, &programs, nullptr);
  if (repeats(signal, info)) return;
  send_to_self(signal, info);
  // sigsuspend and its kind let it in, and the mask that returns does not: it is now or later.
  if ((mask_of(context) & signal_bit(signal)) != 0) change_mask(SIG_UNBLOCK, signal_bit(signal));
}

}  // namespace

void on_fault(int layer, int signal, siginfo_t* info, void* context) {
  clear_alignment_check();
  const int saved = errno;
  auto* interrupted = static_cast<ucontext_t*>(context);
  const FaultScope* protection = active_scope(interrupted);
  const bool sent = !caused_here(signal, info);
  RecoveryPoint* const recovery_point = sent ? nullptr : recovery_point_at(protection);
  UnblockFaultSignals* const open = sent ? open_at(protection) : nullptr;
  if (recovery_point != nullptr && caused_by_us(recovery_point, interrupted))
    resume_at(*recovery_point, interrupted);
  else if (open == nullptr || !open->defer(signal, info))
    forward_to_program(signal, g_fault_layers.of(signal)[layer].program_action, info, interrupted);
  errno = saved;
}

bool call_guarded(void (*body)(void*), void* argument) {
  RecoveryPoint recovery_point;
  const std::uintptr_t outer = t_protection;
  const FaultScope protection{&recovery_point, nullptr, outer};
  if (gpuprof_set_recovery_point(&recovery_point) != 0) {
    t_protection = outer;
    return false;
  }
  t_protection = reinterpret_cast<std::uintptr_t>(&protection) | (outer & kForeignScope);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  body(argument);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_protection = outer;
  return true;
}

UnblockFaultSignals::UnblockFaultSignals(std::uint64_t blocked)
    : protection_{nullptr, this, t_protection} {
  blocked &= kFaultSignals;
  if (blocked == 0) return;
  waiting_ = (pending_signals() & kFaultSignals) != 0;
  // The guard may come a moment later, when nobody would open them any more.
  if (waiting_ || !is_guard_active()) {
    t_protection |= kForeignScope;
    return;
  }
  segv_.here = segv_.process = bus_.here = bus_.process = false;
  opened_ = blocked;
  t_protection = reinterpret_cast<std::uintptr_t>(&protection_);
  place_ = g_fault_layers.open.claim(hot::current_tid());
  change_mask(SIG_UNBLOCK, opened_);
}

UnblockFaultSignals::~UnblockFaultSignals() {
  if (opened_ != 0) change_mask(SIG_BLOCK, opened_);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_protection = protection_.outer;
  if (opened_ == 0) return;
  if (place_ != nullptr) place_->store(0, std::memory_order_release);
  if (!waiting_) return;
  resend_deferred(SIGSEGV, segv_);
  resend_deferred(SIGBUS, bus_);
}

bool UnblockFaultSignals::has_deferred() const {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return waiting_;
}

bool UnblockFaultSignals::defer(int signal, const siginfo_t* info) {
  if ((opened_ & signal_bit(signal)) == 0) return false;
  Deferred& kept = signal == SIGSEGV ? segv_ : bus_;
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

void UnblockFaultSignals::resend_deferred(int signal, const Deferred& kept) const {
  if (kept.here) send_to_self(signal, &kept.to_thread);
  if (kept.process) send_to_process(signal, &kept.to_process);
}

// Behind a SnapshotReader: either it is closed here, or the worker sees the use and waits for it.
bool is_guard_active() {
  return g_fault_layers.active.load(std::memory_order_seq_cst) &&
         (t_protection & kForeignScope) == 0;
}

}  // namespace gpuprof::sample
