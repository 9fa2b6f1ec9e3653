// SPDX-License-Identifier: Apache-2.0
//
// x86-64 (arch.hpp says what each is).
//
// Context:  any
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace gpuprof::sample {

inline constexpr bool kNeedsRestorer = true;

struct Registers {
  greg_t general[NGREG];
};

inline void registers_of(const ucontext_t* context, Registers* to) {
  for (int i = 0; i < NGREG; ++i) to->general[i] = context->uc_mcontext.gregs[i];
}

inline Registers registers_at(std::uint64_t pc, std::uint64_t sp, std::uint64_t fp) {
  Registers at{};
  at.general[REG_RIP] = static_cast<greg_t>(pc);
  at.general[REG_RSP] = static_cast<greg_t>(sp);
  at.general[REG_RBP] = static_cast<greg_t>(fp);
  return at;
}

__attribute__((always_inline)) inline void current_registers(Registers* to) {
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

inline std::uint64_t program_counter(const Registers& of) {
  return static_cast<std::uint64_t>(of.general[REG_RIP]);
}
inline std::uint64_t stack_pointer(const Registers& of) {
  return static_cast<std::uint64_t>(of.general[REG_RSP]);
}
inline std::uint64_t frame_pointer(const Registers& of) {
  return static_cast<std::uint64_t>(of.general[REG_RBP]);
}
inline std::uint64_t program_counter(const ucontext_t* context) {
  return static_cast<std::uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
}
inline std::uint64_t stack_pointer(const ucontext_t* context) {
  return static_cast<std::uint64_t>(context->uc_mcontext.gregs[REG_RSP]);
}

/// Reads the top of the stack.
inline std::uint64_t leaf_return_address(const ucontext_t* context) {
  return *reinterpret_cast<const std::uint64_t*>(stack_pointer(context));
}

inline std::uint64_t strip_pointer_auth(std::uint64_t word) { return word; }

/// Order known to gpuprof_set_recovery_point.
struct RecoveryPoint {
  std::uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
};

inline void resume_at(const RecoveryPoint& recovery_point, ucontext_t* context) {
  greg_t* general = context->uc_mcontext.gregs;
  general[REG_RBX] = static_cast<greg_t>(recovery_point.rbx);
  general[REG_RBP] = static_cast<greg_t>(recovery_point.rbp);
  general[REG_R12] = static_cast<greg_t>(recovery_point.r12);
  general[REG_R13] = static_cast<greg_t>(recovery_point.r13);
  general[REG_R14] = static_cast<greg_t>(recovery_point.r14);
  general[REG_R15] = static_cast<greg_t>(recovery_point.r15);
  general[REG_RSP] = static_cast<greg_t>(recovery_point.rsp);
  general[REG_RIP] = static_cast<greg_t>(recovery_point.rip);
  general[REG_RAX] = 1;
  constexpr greg_t kDirectionFlag = 0x400;
  general[REG_EFL] &= ~kDirectionFlag;  // the fault may have been inside a backward copy
}

}  // namespace gpuprof::sample
