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

bool map_own_stacks() {
  if (g_stacks.load(std::memory_order_acquire) != nullptr) return true;
  const long memory =
      ::syscall(SYS_mmap, nullptr, kOwnStackBytes * kMaxOwnStacks, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == -1) return false;
  g_fault_layers.own_stacks_begin = static_cast<std::uintptr_t>(memory);
  g_fault_layers.own_stacks_end =
      static_cast<std::uintptr_t>(memory) + kOwnStackBytes * kMaxOwnStacks;
  g_stacks.store(reinterpret_cast<char*>(memory), std::memory_order_release);
  return true;
}

void unmap_own_stacks() {
  char* stacks = g_stacks.exchange(nullptr, std::memory_order_acq_rel);
  if (stacks == nullptr) return;
  g_fault_layers.own_stacks_begin = g_fault_layers.own_stacks_end = 0;
  ::syscall(SYS_munmap, stacks, kOwnStackBytes * kMaxOwnStacks);
}

OwnStack own_stack_of(std::uint32_t entry) {
  char* stacks = g_stacks.load(std::memory_order_acquire);
  if (stacks == nullptr || entry >= kMaxOwnStacks) return OwnStack{nullptr, nullptr};
  char* low = stacks + entry * kOwnStackBytes;
  return OwnStack{reinterpret_cast<HandlerMemory*>(low), low + kOwnStackBytes};
}

}  // namespace gpuprof::sample
