// SPDX-License-Identifier: Apache-2.0
//
// Where to go on after a fault: callee-saved registers, kept by the guarded call.
//
// Context:  signal | callback
// Owns:     nothing
// Not here: when to land (fault_guard.cpp)
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace gpuprof::sample {

/// Order known to gpuprof_mark_landing.
struct Landing {
  std::uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
};

/// Returns 0, and a second time 1 after land(). glibc's setjmp would mangle the pointers, and its
/// longjmp would leave the fault handler with the fault's signal mask.
extern "C" __attribute__((returns_twice, visibility("hidden"))) int gpuprof_mark_landing(
    Landing* landing);

/// Makes the return from the fault handler that got `context` a return to `landing`.
inline void land(const Landing& landing, ucontext_t* context) {
  greg_t* general = context->uc_mcontext.gregs;
  general[REG_RBX] = static_cast<greg_t>(landing.rbx);
  general[REG_RBP] = static_cast<greg_t>(landing.rbp);
  general[REG_R12] = static_cast<greg_t>(landing.r12);
  general[REG_R13] = static_cast<greg_t>(landing.r13);
  general[REG_R14] = static_cast<greg_t>(landing.r14);
  general[REG_R15] = static_cast<greg_t>(landing.r15);
  general[REG_RSP] = static_cast<greg_t>(landing.rsp);
  general[REG_RIP] = static_cast<greg_t>(landing.rip);
  general[REG_RAX] = 1;
  constexpr greg_t kDirectionFlag = 0x400;
  general[REG_EFL] &= ~kDirectionFlag;  // the fault may have been inside a backward copy
}

/// Runs fn(argument) with the stack pointer at `top` (16-byte aligned) instead of here.
extern "C" __attribute__((visibility("hidden"))) void gpuprof_call_on_stack(void* top,
                                                                            void (*fn)(void*),
                                                                            void* argument);

}  // namespace gpuprof::sample
