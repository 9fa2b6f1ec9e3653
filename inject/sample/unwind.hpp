// SPDX-License-Identifier: Apache-2.0
//
// Native stack walks, by whichever unwinder CMake has chosen.
//
// Context:  signal | callback (the walks), worker (unwind_prepare, unwind_forget)
// Owns:     the cache of frame recipes, mapped once
// Promises: module tables come from the caller's snapshot, never from the loader; the walks must
//           run inside guarded() (fault_guard.hpp): a module may be unmapped under them
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace gpuprof::sample {

/// General registers a walk starts from.
struct Registers {
  greg_t general[NGREG];
};

/// Part of another thread's stack, copied.
struct StackCopy {
  std::uintptr_t begin = 0;  // address it was copied from
  std::size_t bytes = 0;     // 0: walk the memory itself
  const unsigned char* data = nullptr;
};

struct Walk {
  std::uint32_t count = 0;  // frames written, the program counter first
  std::uint32_t flags = 0;  // wire::kStackNative…
};

/// Makes the unwinder ready so that its first walk allocates nothing but pool memory. Worker,
/// once. False: this build has no unwinder, or no memory.
bool unwind_prepare();

/// Modules changed: what was learned about addresses is forgotten. Any context.
void unwind_forget();

/// Walks from `start`. @param interrupted the program counter is about to run (a signal), not a
/// return address.
Walk unwind(const Registers& start, bool interrupted, const StackCopy& copy, std::uint64_t* frames,
            std::uint32_t room);

/// Registers of the caller, enough to walk from it.
__attribute__((always_inline)) inline void own_registers(Registers* to) {
  for (greg_t& value : to->general) value = 0;
  __asm__ volatile(
      "leaq 0(%%rip), %%rax\n\t"
      "movq %%rax, %0\n\t"
      "movq %%rsp, %1\n\t"
      "movq %%rbp, %2\n\t"
      "movq %%rbx, %3\n\t"
      "movq %%r12, %4\n\t"
      "movq %%r13, %5\n\t"
      "movq %%r14, %6\n\t"
      "movq %%r15, %7\n\t"
      : "=m"(to->general[REG_RIP]), "=m"(to->general[REG_RSP]), "=m"(to->general[REG_RBP]),
        "=m"(to->general[REG_RBX]), "=m"(to->general[REG_R12]), "=m"(to->general[REG_R13]),
        "=m"(to->general[REG_R14]), "=m"(to->general[REG_R15])
      :
      : "rax", "memory");
}

}  // namespace gpuprof::sample
