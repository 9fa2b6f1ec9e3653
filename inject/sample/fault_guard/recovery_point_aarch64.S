/* SPDX-License-Identifier: Apache-2.0
 *
 * The places where registers are handled by hand (recovery_point.hpp, arch_aarch64.hpp). Compiled,
 * never run.
 */
        .text

        .globl gpuprof_set_recovery_point
        .hidden gpuprof_set_recovery_point
        .type gpuprof_set_recovery_point, %function
        .balign 16
gpuprof_set_recovery_point:
        .cfi_startproc
        stp x19, x20, [x0, #0]
        stp x21, x22, [x0, #16]
        stp x23, x24, [x0, #32]
        stp x25, x26, [x0, #48]
        stp x27, x28, [x0, #64]
        stp x29, x30, [x0, #80]
        mov x2, sp
        str x2, [x0, #96]
        stp d8, d9, [x0, #104]
        stp d10, d11, [x0, #120]
        stp d12, d13, [x0, #136]
        stp d14, d15, [x0, #152]
        mov w0, #0
        ret
        .cfi_endproc
        .size gpuprof_set_recovery_point, . - gpuprof_set_recovery_point

        .globl gpuprof_resume_at_recovery_point
        .hidden gpuprof_resume_at_recovery_point
        .type gpuprof_resume_at_recovery_point, %function
        .balign 16
gpuprof_resume_at_recovery_point:
        .cfi_startproc
        ldp x19, x20, [x0, #0]
        ldp x21, x22, [x0, #16]
        ldp x23, x24, [x0, #32]
        ldp x25, x26, [x0, #48]
        ldp x27, x28, [x0, #64]
        ldp x29, x30, [x0, #80]
        ldp d8, d9, [x0, #104]
        ldp d10, d11, [x0, #120]
        ldp d12, d13, [x0, #136]
        ldp d14, d15, [x0, #152]
        ldr x2, [x0, #96]
        mov sp, x2
        mov w0, #1
        ret
        .cfi_endproc
        .size gpuprof_resume_at_recovery_point, . - gpuprof_resume_at_recovery_point

        .globl gpuprof_call_on_stack
        .hidden gpuprof_call_on_stack
        .type gpuprof_call_on_stack, %function
        .balign 16
gpuprof_call_on_stack:
        .cfi_startproc
        stp x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov x29, sp
        .cfi_def_cfa_register x29
        mov sp, x0
        mov x0, x2
        blr x1
        mov sp, x29
        .cfi_def_cfa_register sp
        ldp x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size gpuprof_call_on_stack, . - gpuprof_call_on_stack

        .section .note.GNU-stack, "", %progbits
