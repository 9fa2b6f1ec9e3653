// SPDX-License-Identifier: Apache-2.0
//
// Where a guarded call continues after a fault: its callee-saved registers (as by setjmp).
//
// Context:  signal | callback
// Not here: when to go there (fault_guard.cpp), RecoveryPoint and resume_at(): unwind/arch_*.hpp
//
// recovery_point_x86_64.S, recovery_point_aarch64.S.
#pragma once

#include "inject/sample/unwind/arch.hpp"

namespace gpuprof::sample {

/// Returns 0, and a second time 1 after resume_at(recovery_point, context), which makes the return
/// from the fault handler that got `context` a return from here. glibc's setjmp would mangle the
/// pointers, and its longjmp would leave the fault handler with the fault's signal mask.
extern "C" __attribute__((returns_twice, visibility("hidden"))) int gpuprof_set_recovery_point(
    RecoveryPoint* recovery_point);

/// Runs fn(argument) with the stack pointer at `top` (16-byte aligned) instead of here.
extern "C" __attribute__((visibility("hidden"))) void gpuprof_call_on_stack(void* top,
                                                                            void (*fn)(void*),
                                                                            void* argument);

}  // namespace gpuprof::sample
