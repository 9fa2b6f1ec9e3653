// SPDX-License-Identifier: Apache-2.0
//
// Arms and disarms the fault guard.
//
// Context:  worker
// Owns:     which layer is in front of what
#include <signal.h>
#include <string.h>

#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/fault_guard/fault_layers.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/unwind/arch.hpp"

namespace gpuprof::sample {

namespace {

// After so many faults that were the program's own, faults are part of how it works.
constexpr std::uint32_t kMaxGivenBack = 8;

template <int kLayer>
void handler(int signal, siginfo_t* info, void* context) {
  on_fault(kLayer, signal, info, context);
}
constexpr decltype(KernelAction::handler) kHandlers[kFaultLayers] = {handler<0>, handler<1>,
                                                                     handler<2>, handler<3>};

int layer_of(const KernelAction& action) {
  for (int i = 0; i < kFaultLayers; ++i)
    if (action.handler == kHandlers[i]) return i;
  return -1;
}

// A layer whose program's disposition is this one already, else a fresh one.
int choose_layer(int signal, const KernelAction& programs) {
  FaultLayer* layers = g_fault_layers.of(signal);
  for (int i = 0; i < kFaultLayers; ++i)
    if (layers[i].used && layers[i].program_action == programs) return i;
  for (int i = 0; i < kFaultLayers; ++i)
    if (!layers[i].used) return i;
  return -1;
}

// glibc's own return trampoline, which unwinders and debuggers know.
using Restorer = void (*)();
Restorer restorer() {
  static constinit Restorer found = nullptr;
  if (found != nullptr) return found;
  struct sigaction ours, before;
  memset(&ours, 0, sizeof ours);
  ours.sa_handler = SIG_DFL;
  // SIGKILL cannot be set and SIGCHLD must not be touched: ask through a signal nobody handles.
  const int probe = SIGRTMAX;
  KernelAction kept{};
  kernel_sigaction(probe, nullptr, &kept);
  if (kept.restorer != nullptr) return found = kept.restorer;
  if (kept.is_function()) return nullptr;
  sigaction(probe, &ours, &before);
  KernelAction set{};
  kernel_sigaction(probe, nullptr, &set);
  kernel_sigaction(probe, &kept, nullptr);
  return found = set.restorer;
}

// In the form the processor needs it; a function pointer that is null where none is needed.
bool find_restorer(std::uint64_t* flag, Restorer* function) {
  constexpr std::uint64_t kRestorerFlag = 0x04000000;
  if constexpr (!kNeedsRestorer) return true;
  *flag = kRestorerFlag;
  *function = restorer();
  return *function != nullptr;
}

void disarm(int signal) {
  KernelAction now{};
  kernel_sigaction(signal, nullptr, &now);
  const int layer = layer_of(now);
  if (layer >= 0)
    kernel_sigaction(signal, &g_fault_layers.of(signal)[layer].program_action, nullptr);
}

bool is_ignored(int signal) {
  KernelAction now{};
  kernel_sigaction(signal, nullptr, &now);
  return now.is_ignored();
}

bool arm(int signal) {
  KernelAction now{};
  kernel_sigaction(signal, nullptr, &now);
  if (layer_of(now) >= 0) return true;
  const int layer = choose_layer(signal, now);
  std::uint64_t restorer_flag = 0;
  Restorer restore = nullptr;
  if (layer < 0 || !find_restorer(&restorer_flag, &restore)) return false;
  FaultLayer& mine = g_fault_layers.of(signal)[layer];
  mine.used = true;
  mine.program_action = now;
  // SA_ONSTACK exactly where the program has it: it made its alternate stack large enough for a
  // handler, and a stack overflow of its own must reach it there. Elsewhere a small alternate
  // stack would turn a fault of ours into a death. SA_RESTART: it may be sent in a call.
  const std::uint64_t alike = now.flags & (SA_ONSTACK | SA_RESTART);
  const KernelAction action{kHandlers[layer], SA_SIGINFO | restorer_flag | alike, restore,
                            ~kFaultSignals};
  KernelAction replaced{};
  kernel_sigaction(signal, &action, &replaced);
  if (replaced == now) return true;
  // The program was quicker.
  mine.program_action = replaced;
  if (!replaced.is_ignored()) return true;
  disarm(signal);
  return false;
}

void find_own_code() {
  if (g_fault_layers.code_end != 0) return;
  const SnapshotModule* module =
      find_module(current_snapshot(), reinterpret_cast<std::uintptr_t>(&on_fault));
  if (module == nullptr) return;
  g_fault_layers.code_begin = module->begin;
  g_fault_layers.code_end = module->end;
}

}  // namespace

GuardState arm_guard() {
  find_own_code();
  const bool too_often = g_fault_layers.forwarded.load(std::memory_order_relaxed) >= kMaxGivenBack;
  const bool ignored = is_ignored(SIGSEGV) || is_ignored(SIGBUS);
  const bool armed = !too_often && !ignored && arm(SIGSEGV) && arm(SIGBUS);
  // Behind it lies what start() has set; pairs with is_guard_active.
  g_fault_layers.active.store(armed, std::memory_order_release);
  if (armed) return GuardState::kArmed;
  return ignored ? GuardState::kIgnored : GuardState::kAbandoned;
}

void deactivate_guard() { g_fault_layers.active.store(false, std::memory_order_seq_cst); }

void disarm_guard() {
  deactivate_guard();
  disarm(SIGSEGV);
  disarm(SIGBUS);
  g_fault_layers.open.clear();  // in a forked child they never end
}

}  // namespace gpuprof::sample
