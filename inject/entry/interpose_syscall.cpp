// SPDX-License-Identifier: Apache-2.0
//
// The program restricts its system calls: we are gone before it does. Or it ends a thread by a bare
// one: what is left of it may be ours alone. Or it makes by a bare one what the kernel allows to
// one thread only.
//
// Context:  boundary
// Promises: every other call goes on to the next `prctl` and `syscall` as it is; `syscall` itself
//           is a jump, so that even what returns twice or on another stack does so as without us
// Not here: how we go (inject/agent/process/seccomp_exit.cpp, main_thread.cpp), what is made alone
//           (interpose_namespaces.cpp)
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "inject/activation/cpu_watch.hpp"
#include "inject/agent/agent.hpp"
#include "inject/modules/pinned_module.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

namespace {

using Prctl = int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long);
constinit std::atomic<Prctl> g_prctl{nullptr};

// A filter without a program asks what the kernel knows, and a strict mode has none.
bool restricts(unsigned long mode, bool has_program) {
  return mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && has_program);
}

// A time-stamp counter that raises a signal and calls that a handler decides about are alike.
bool restricts(int option, unsigned long first, unsigned long second) {
  if (option == PR_SET_SECCOMP) return restricts(first, second != 0);
  return (option == PR_SET_TSC && first == PR_TSC_SIGSEGV) ||
         (option == PR_SET_SYSCALL_USER_DISPATCH && first != 0);
}

void before_prctl(int option, unsigned long first, unsigned long second) {
  if (restricts(option, first, second)) gpuprof::agent::shut_down();
  // A filter may follow by an instruction of the program's own.
  if (option == PR_SET_NO_NEW_PRIVS) gpuprof::wake::stop_cpu_watch_unless_vfork();
}

}  // namespace

extern "C" {

/// What the C library's does (below, in assembly).
__attribute__((visibility("hidden"))) long gpuprof_raw_syscall(long number, ...);

/// Where `syscall` jumps to: the next library's, if there is one.
__attribute__((
    used, visibility("hidden"))) constinit decltype(&gpuprof_raw_syscall) gpuprof_next_syscall =
    gpuprof_raw_syscall;

/// What is to be done before seccomp(2), prctl(2) or exit(2) is called. Keeps errno.
__attribute__((used, visibility("hidden"))) void gpuprof_before_call(long number, long operation,
                                                                     long first,
                                                                     const void* program) {
  if (number == SYS_exit) return gpuprof::agent::on_thread_exit();
  if (number == SYS_prctl)
    return before_prctl(static_cast<int>(operation), static_cast<unsigned long>(first),
                        reinterpret_cast<unsigned long>(program));
  const unsigned long mode = operation == SECCOMP_SET_MODE_STRICT   ? SECCOMP_MODE_STRICT
                             : operation == SECCOMP_SET_MODE_FILTER ? SECCOMP_MODE_FILTER
                                                                    : 0UL;
  if (restricts(mode, program != nullptr)) gpuprof::agent::shut_down();
}

__attribute__((used, visibility("hidden"))) long gpuprof_failed_syscall(long result) {
  errno = static_cast<int>(-result);
  return -1;
}
}

namespace {

__attribute__((constructor)) void resolve_symbols() {
  using gpuprof::modules::next_symbol;
  if (void* next = next_symbol("syscall"); next != nullptr)
    gpuprof_next_syscall = reinterpret_cast<decltype(gpuprof_next_syscall)>(next);
  g_prctl.store(reinterpret_cast<Prctl>(next_symbol("prctl")), std::memory_order_relaxed);
}

}  // namespace

GPUPROF_EXPORT int prctl(int option, ...) noexcept {
  va_list list;
  va_start(list, option);
  const auto first = va_arg(list, unsigned long), second = va_arg(list, unsigned long),
             third = va_arg(list, unsigned long), fourth = va_arg(list, unsigned long);
  va_end(list);
  before_prctl(option, first, second);
  const Prctl next = g_prctl.load(std::memory_order_relaxed);
  if (next != nullptr) return next(option, first, second, third, fourth);
  return static_cast<int>(::syscall(SYS_prctl, option, first, second, third, fourth));
}

#if defined(__x86_64__)
static_assert(SYS_seccomp == 317 && SYS_prctl == 157 && SYS_exit == 60 && SYS_unshare == 272 &&
              SYS_setns == 308);
__asm__(R"(
  .text
  .globl syscall
  .type syscall, @function
  .p2align 4
syscall:
  .cfi_startproc
  endbr64
  cmpq $317, %rdi
  je 2f
  cmpq $157, %rdi
  je 2f
  cmpq $60, %rdi
  je 2f
  cmpq $272, %rdi
  je gpuprof_single_threaded_syscall
  cmpq $308, %rdi
  je gpuprof_single_threaded_syscall
  jmpq *gpuprof_next_syscall(%rip)
2:
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  pushq %rcx
  .cfi_adjust_cfa_offset 8
  pushq %r8
  .cfi_adjust_cfa_offset 8
  pushq %r9
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call gpuprof_before_call
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %r9
  .cfi_adjust_cfa_offset -8
  popq %r8
  .cfi_adjust_cfa_offset -8
  popq %rcx
  .cfi_adjust_cfa_offset -8
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmpq *gpuprof_next_syscall(%rip)
  .cfi_endproc
  .size syscall, .-syscall

  .type gpuprof_raw_syscall, @function
gpuprof_raw_syscall:
  .cfi_startproc
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq %r8, %r10
  movq %r9, %r8
  movq 8(%rsp), %r9
  syscall
  cmpq $-4095, %rax
  jae 3f
  ret
3:
  movq %rax, %rdi
  jmp gpuprof_failed_syscall
  .cfi_endproc
  .size gpuprof_raw_syscall, .-gpuprof_raw_syscall

)");
#elif defined(__aarch64__)
static_assert(SYS_seccomp == 277 && SYS_prctl == 167 && SYS_exit == 93 && SYS_unshare == 97 &&
              SYS_setns == 268);
__asm__(R"(
  .text
  .globl syscall
  .type syscall, %function
  .p2align 4
syscall:
  .cfi_startproc
  hint #34
  cmp x0, #277
  b.eq 2f
  cmp x0, #167
  b.eq 2f
  cmp x0, #93
  b.eq 2f
  cmp x0, #97
  b.eq 4f
  cmp x0, #268
  b.eq 4f
  adrp x16, gpuprof_next_syscall
  ldr x16, [x16, #:lo12:gpuprof_next_syscall]
  br x16
2:
  stp x29, x30, [sp, #-80]!
  .cfi_adjust_cfa_offset 80
  .cfi_rel_offset x29, 0
  .cfi_rel_offset x30, 8
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  str x6, [sp, #64]
  bl gpuprof_before_call
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldr x6, [sp, #64]
  ldp x29, x30, [sp], #80
  .cfi_restore x29
  .cfi_restore x30
  .cfi_adjust_cfa_offset -80
  adrp x16, gpuprof_next_syscall
  ldr x16, [x16, #:lo12:gpuprof_next_syscall]
  br x16
4:
  b gpuprof_single_threaded_syscall
  .cfi_endproc
  .size syscall, .-syscall

  .type gpuprof_raw_syscall, %function
gpuprof_raw_syscall:
  .cfi_startproc
  uxtw x8, w0
  mov x0, x1
  mov x1, x2
  mov x2, x3
  mov x3, x4
  mov x4, x5
  mov x5, x6
  svc #0
  cmn x0, #4095
  b.cs 3f
  ret
3:
  b gpuprof_failed_syscall
  .cfi_endproc
  .size gpuprof_raw_syscall, .-gpuprof_raw_syscall

)");
#endif
