// SPDX-License-Identifier: Apache-2.0
//
// Adds our signal to masks of handlers and takes it out again.
//
// Context:  boundary | worker
// Owns:     see stack_shield.hpp
#include "inject/sample/stack_shield.hpp"

#include <string.h>

#include <atomic>
#include <cstdint>

#include "inject/sample/kernel_signal.hpp"
#include "inject/sample/sampler.hpp"

namespace gpuprof::sample {

namespace {

constexpr int kSignals = 65;

struct Shield {
  // Our signal's and its neighbour's, so that a mask with both does not look like the program's
  // own wish for ours.
  std::atomic<std::uint64_t> bits{0};
  std::atomic<std::uint64_t> added[kSignals]{};
};
constinit Shield g_shield;

bool is_valid(int signal) { return signal > 0 && signal < kSignals; }

std::uint64_t mask_of(const struct sigaction& action) {
  std::uint64_t mask;
  memcpy(&mask, &action.sa_mask, sizeof mask);
  return mask;
}

void set_mask(struct sigaction* action, std::uint64_t mask) {
  memcpy(&action->sa_mask, &mask, sizeof mask);
}

bool is_function(const struct sigaction& action) {
  return reinterpret_cast<std::uintptr_t>(action.sa_handler) > 1;
}

// Puts another mask into an action, unless the program is quicker.
bool change_mask(int signal, const KernelAction& now, std::uint64_t mask) {
  KernelAction changed = now, replaced{};
  changed.mask = mask;
  if (!kernel_action(signal, &changed, &replaced)) return false;
  if (replaced == now) return true;
  kernel_action(signal, &replaced, nullptr);
  return false;
}

}  // namespace

void shield(int signal, struct sigaction* action) {
  if (!is_valid(signal) || (action->sa_flags & SA_ONSTACK) == 0 || !is_function(*action)) return;
  set_mask(action, mask_of(*action) | g_shield.bits.load(std::memory_order_acquire));
}

void unveil(int signal, struct sigaction* action) {
  if (!is_valid(signal)) return;
  const std::uint64_t added = g_shield.added[signal].load(std::memory_order_acquire);
  if (added != 0) set_mask(action, mask_of(*action) & ~added);
}

bool shield_changes(int signal, const struct sigaction& asked, const struct sigaction& shielded) {
  return is_valid(signal) && g_shield.added[signal].load(std::memory_order_acquire) !=
                                 (mask_of(shielded) & ~mask_of(asked));
}

void note_shielded(int signal, const struct sigaction& asked, const struct sigaction& shielded) {
  if (!is_valid(signal)) return;
  g_shield.added[signal].store(mask_of(shielded) & ~mask_of(asked), std::memory_order_release);
}

void shield_handlers(int ours) {
  if (ours == 0) return;
  const std::uint64_t bits = signal_bit(ours) | signal_bit(neighbour_signal(ours));
  g_shield.bits.store(bits, std::memory_order_release);
  for (int signal = 1; signal < kSignals; ++signal) {
    KernelAction now{};
    if (!kernel_action(signal, nullptr, &now) || !now.is_function()) continue;
    const std::uint64_t missing = bits & ~now.mask;
    if ((now.flags & SA_ONSTACK) == 0 || missing == 0) continue;
    if (change_mask(signal, now, now.mask | missing))
      g_shield.added[signal].fetch_or(missing, std::memory_order_acq_rel);
  }
}

void unshield_handlers() {
  g_shield.bits.store(0, std::memory_order_release);
  for (int signal = 1; signal < kSignals; ++signal) {
    const std::uint64_t added = g_shield.added[signal].exchange(0, std::memory_order_acq_rel);
    KernelAction now{};
    if (added == 0 || !kernel_action(signal, nullptr, &now) || !now.is_function()) continue;
    if ((now.mask & added) != 0) change_mask(signal, now, now.mask & ~added);
  }
}

}  // namespace gpuprof::sample
