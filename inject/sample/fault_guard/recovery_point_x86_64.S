/* SPDX-License-Identifier: Apache-2.0
 *
 * The two places where registers are handled by hand (recovery_point.hpp).
 */
        .text

        .globl gpuprof_set_recovery_point
        .hidden gpuprof_set_recovery_point
        .type gpuprof_set_recovery_point, @function
        .balign 16
gpuprof_set_recovery_point:
        .cfi_startproc
        movq %rbx, 0(%rdi)
        movq %rbp, 8(%rdi)
        movq %r12, 16(%rdi)
        movq %r13, 24(%rdi)
        movq %r14, 32(%rdi)
        movq %r15, 40(%rdi)
        leaq 8(%rsp), %rdx
        movq %rdx, 48(%rdi)
        movq (%rsp), %rdx
        movq %rdx, 56(%rdi)
        xorl %eax, %eax
        ret
        .cfi_endproc
        .size gpuprof_set_recovery_point, . - gpuprof_set_recovery_point

        .globl gpuprof_call_on_stack
        .hidden gpuprof_call_on_stack
        .type gpuprof_call_on_stack, @function
        .balign 16
gpuprof_call_on_stack:
        .cfi_startproc
        pushq %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq %rdi, %rsp
        movq %rdx, %rdi
        call *%rsi
        movq %rbp, %rsp
        popq %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size gpuprof_call_on_stack, . - gpuprof_call_on_stack

        .section .note.GNU-stack, "", @progbits
