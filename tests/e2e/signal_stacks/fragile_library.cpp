// SPDX-License-Identifier: Apache-2.0
//
// Code that keeps something else than a stack in the stack pointer, as generated matrix kernels do.
// Built under a name that gpuprof knows for such code, and under one that it does not.

// fragile_spin(char* pointer, uint64_t rounds)
__asm__(R"(
        .text
        .globl fragile_spin
        .type fragile_spin, @function
fragile_spin:
        movq %rsp, %r11
        movq %rdi, %rsp
1:      decq %rsi
        jnz 1b
        movq %r11, %rsp
        ret
        .size fragile_spin, . - fragile_spin
)");
