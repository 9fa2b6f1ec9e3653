// SPDX-License-Identifier: Apache-2.0
//
// aarch64 (arch.hpp says what each is). Compiled, never run.
//
// Context:  any
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace gpuprof::sample {

/// Handlers return through the vDSO.
inline constexpr bool kNeedsRestorer = false;

/// What a walk along frame records needs.
struct Registers {
  std::uint64_t pc, sp, fp;
};

inline constexpr int kFrameRegister = 29, kLinkRegister = 30;

inline void registers_of(const ucontext_t* context, Registers* to) {
  const mcontext_t& at = context->uc_mcontext;
  *to = Registers{at.pc, at.sp, at.regs[kFrameRegister]};
}

inline Registers registers_at(std::uint64_t pc, std::uint64_t sp, std::uint64_t fp) {
  return Registers{pc, sp, fp};
}

__attribute__((always_inline)) inline void current_registers(Registers* to) {
  __asm__ volatile(
      "adr %0, .\n\t"
      "mov %1, sp\n\t"
      "mov %2, x29\n\t"
      : "=&r"(to->pc), "=&r"(to->sp), "=&r"(to->fp)
      :
      : "memory");
}

inline std::uint64_t program_counter(const Registers& of) { return of.pc; }
inline std::uint64_t stack_pointer(const Registers& of) { return of.sp; }
inline std::uint64_t frame_pointer(const Registers& of) { return of.fp; }
inline std::uint64_t program_counter(const ucontext_t* context) { return context->uc_mcontext.pc; }
inline std::uint64_t stack_pointer(const ucontext_t* context) { return context->uc_mcontext.sp; }

/// Pointer authentication keeps its signature in the high bits; without it this changes nothing.
inline std::uint64_t strip_pointer_auth(std::uint64_t word) {
  register std::uint64_t link __asm__("x30") = word;
  __asm__("hint #7" : "+r"(link));  // xpaclri, which older processors take for a nop
  return link;
}

inline std::uint64_t leaf_return_address(const ucontext_t* context) {
  return strip_pointer_auth(context->uc_mcontext.regs[kLinkRegister]);
}

/// Order known to gpuprof_set_recovery_point and gpuprof_resume_at_recovery_point.
struct RecoveryPoint {
  std::uint64_t x19_to_x30[12];
  std::uint64_t sp;
  std::uint64_t d8_to_d15[8];
};

/// Loads every register of the recovery point, also the vector registers, which would be harder to
/// find in the signal frame.
extern "C" __attribute__((noreturn, visibility("hidden"))) void gpuprof_resume_at_recovery_point(
    const RecoveryPoint* recovery_point);

inline void resume_at(const RecoveryPoint& recovery_point, ucontext_t* context) {
  context->uc_mcontext.pc = reinterpret_cast<std::uintptr_t>(&gpuprof_resume_at_recovery_point);
  context->uc_mcontext.regs[0] = reinterpret_cast<std::uintptr_t>(&recovery_point);
}

}  // namespace gpuprof::sample
