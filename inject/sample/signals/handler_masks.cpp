// SPDX-License-Identifier: Apache-2.0
//
// Adds the sampling signal to masks of handlers and takes it out again.
//
// Context:  boundary | worker
#include "inject/sample/signals/handler_masks.hpp"

#include <string.h>

#include <atomic>
#include <cstdint>

#include "inject/sample/signals/kernel_sigaction.hpp"

namespace gpuprof::sample {

namespace {

constexpr int kSignals = 65;

struct HandlerMasks {
  std::atomic<std::uint64_t> bits{0};  // the sampling signal's
  std::atomic<std::uint64_t> added[kSignals]{};
};
constinit HandlerMasks g_handler_masks;

bool is_valid(int signal) { return signal > 0 && signal < kSignals; }

std::uint64_t mask_of(const struct sigaction& action) {
  std::uint64_t mask;
  memcpy(&mask, &action.sa_mask, sizeof mask);
  return mask;
}

void set_mask(struct sigaction* action, std::uint64_t mask) {
  memcpy(&action->sa_mask, &mask, sizeof mask);
}

// SIG_DFL and SIG_IGN are 0 and 1.
bool runs_on_its_stack(const struct sigaction& action) {
  return (action.sa_flags & SA_ONSTACK) != 0 &&
         reinterpret_cast<std::uintptr_t>(action.sa_handler) > 1;
}

// Puts another mask into an action, unless the program is quicker.
bool change_mask(int signal, const KernelAction& now, std::uint64_t mask) {
  KernelAction changed = now, replaced{};
  changed.mask = mask;
  if (!kernel_sigaction(signal, &changed, &replaced)) return false;
  if (replaced == now) return true;
  kernel_sigaction(signal, &replaced, nullptr);
  return false;
}

}  // namespace

void mask_own_signal(int signal, struct sigaction* action) {
  if (!is_valid(signal) || !runs_on_its_stack(*action)) return;
  set_mask(action, mask_of(*action) | g_handler_masks.bits.load(std::memory_order_acquire));
}

void unmask_own_signal(int signal, struct sigaction* action) {
  if (!is_valid(signal) || !runs_on_its_stack(*action)) return;
  set_mask(action,
           mask_of(*action) & ~g_handler_masks.added[signal].load(std::memory_order_acquire));
}

void record_masked_handler(int signal, const struct sigaction& asked,
                           const struct sigaction& shielded) {
  if (!is_valid(signal) || !runs_on_its_stack(asked)) return;
  g_handler_masks.added[signal].store(mask_of(shielded) & ~mask_of(asked),
                                      std::memory_order_release);
}

void mask_all_handlers(int ours) {
  if (ours == 0) return;
  const std::uint64_t bits = signal_bit(ours);
  g_handler_masks.bits.store(bits, std::memory_order_release);
  for (int signal = 1; signal < kSignals; ++signal) {
    std::atomic<std::uint64_t>& added = g_handler_masks.added[signal];
    // Between the standard ones and SIGRTMIN are the C library's, whose handlers need little.
    if (signal > SIGSYS && signal < SIGRTMIN) continue;
    KernelAction now{};
    if (!kernel_sigaction(signal, nullptr, &now)) continue;
    if (!now.is_function() || (now.flags & SA_ONSTACK) == 0) {
      added.store(0, std::memory_order_release);
      continue;
    }
    // Without what was added for a signal that is not ours any more.
    const std::uint64_t programs = now.mask & ~added.load(std::memory_order_acquire);
    const std::uint64_t wanted = programs | bits;
    if (wanted == now.mask || !change_mask(signal, now, wanted)) continue;
    added.store(wanted & ~programs, std::memory_order_release);
  }
}

bool any_handler_masked() {
  for (const std::atomic<std::uint64_t>& added : g_handler_masks.added)
    if (added.load(std::memory_order_relaxed) != 0) return true;
  return false;
}

void reset_handler_masks_after_fork() { g_handler_masks.bits.store(0, std::memory_order_release); }

void unmask_all_handlers() {
  g_handler_masks.bits.store(0, std::memory_order_release);
  for (int signal = 1; signal < kSignals; ++signal) {
    const std::uint64_t added =
        g_handler_masks.added[signal].exchange(0, std::memory_order_acq_rel);
    KernelAction now{};
    if (added == 0 || !kernel_sigaction(signal, nullptr, &now) || !now.is_function()) continue;
    if ((now.mask & added) != 0) change_mask(signal, now, now.mask & ~added);
  }
}

}  // namespace gpuprof::sample
