// SPDX-License-Identifier: Apache-2.0
//
// The stacks of the signal handler.
//
// Context:  signal
// Owns:     one mapping
#include "inject/sample/signals/handler_stack.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "inject/sample/fault_guard/fault_layers.hpp"

namespace gpuprof::sample {

namespace {
constinit std::atomic<char*> g_stacks{nullptr};
}

bool map_handler_stacks() {
  if (g_stacks.load(std::memory_order_acquire) != nullptr) return true;
  const long memory =
      ::syscall(SYS_mmap, nullptr, kHandlerStackBytes * kMaxHandlerStacks, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == -1) return false;
  g_fault_layers.own_stacks_begin = static_cast<std::uintptr_t>(memory);
  g_fault_layers.own_stacks_end =
      static_cast<std::uintptr_t>(memory) + kHandlerStackBytes * kMaxHandlerStacks;
  g_stacks.store(reinterpret_cast<char*>(memory), std::memory_order_release);
  return true;
}

void unmap_handler_stacks() {
  char* stacks = g_stacks.exchange(nullptr, std::memory_order_acq_rel);
  if (stacks == nullptr) return;
  g_fault_layers.own_stacks_begin = g_fault_layers.own_stacks_end = 0;
  ::syscall(SYS_munmap, stacks, kHandlerStackBytes * kMaxHandlerStacks);
}

HandlerStack handler_stack_of(std::uint32_t entry) {
  char* stacks = g_stacks.load(std::memory_order_acquire);
  if (stacks == nullptr || entry >= kMaxHandlerStacks) return HandlerStack{nullptr, nullptr};
  char* low = stacks + entry * kHandlerStackBytes;
  return HandlerStack{reinterpret_cast<HandlerMemory*>(low), low + kHandlerStackBytes};
}

}  // namespace gpuprof::sample
