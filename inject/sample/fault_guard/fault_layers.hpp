// SPDX-License-Identifier: Apache-2.0
//
// Every time our handler is put in front of another disposition it is another function: a program
// that kept "the previous handler" and calls or restores it gets the one behind which its older
// disposition stands, never a cycle.
//
// Context:  signal | callback (read), worker (write)
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

#include "inject/sample/fault_guard/unblocked_threads.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"

namespace gpuprof::sample {

inline constexpr int kFaultLayers = 4;

struct FaultLayer {
  bool used = false;
  KernelAction program_action{};  // what stood there before this layer
};

struct FaultLayers {
  std::atomic<bool> active{false};
  std::atomic<std::uint32_t> forwarded{0};
  UnblockedThreads open;
  std::atomic<std::uint32_t> kept_segv{0}, kept_bus{0};  // of those sent to the process
  std::uintptr_t code_begin = 0, code_end = 0;           // of the module this code is in
  std::uintptr_t own_stacks_begin = 0,
                 own_stacks_end = 0;  // handlers run there (handler_stack.hpp)
  FaultLayer segv[kFaultLayers];
  FaultLayer bus[kFaultLayers];

  FaultLayer* of(int signal) { return signal == SIGSEGV ? segv : bus; }
};

extern FaultLayers g_fault_layers;

void on_fault(int layer, int signal, siginfo_t* info, void* context);

}  // namespace gpuprof::sample
