// SPDX-License-Identifier: Apache-2.0
//
// Reads the instructions in front of a program counter.
//
// Context:  signal
// Owns:     nothing
#pragma once

#include <string.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace gpuprof::wake {

#if defined(__x86_64__)

/// The number that is loaded right before the `syscall` in front of `pc`; -1: there is none such.
/// @param pc  Inside the C library, not in its first bytes.
inline long call_in_front_of(std::uintptr_t pc) {
  const auto* code = reinterpret_cast<const std::uint8_t*>(pc);
  if (code[-2] != 0x0f || code[-1] != 0x05) return -1;
  if (code[-7] == 0xb8) {  // movl $number, %eax
    std::int32_t number;
    memcpy(&number, code - 6, sizeof number);
    return number;
  }
  return code[-4] == 0x31 && code[-3] == 0xc0 ? 0 : -1;  // xorl %eax, %eax
}

/// Whether the thread returns from a call that the C library makes for the program, or holding
/// locks of streams at the most: never within malloc, the loader or the making of a thread.
inline bool is_behind_harmless_call(std::uintptr_t pc) {
  constexpr long kHarmless[] = {
      SYS_read,        SYS_write,      SYS_readv,      SYS_writev,         SYS_lseek,  SYS_poll,
      SYS_ppoll,       SYS_select,     SYS_pselect6,   SYS_epoll_wait,     SYS_sendto, SYS_recvfrom,
      SYS_sendmsg,     SYS_recvmsg,    SYS_nanosleep,  SYS_getpid,         SYS_wait4,  SYS_fsync,
      SYS_sched_yield, SYS_getdents64, SYS_newfstatat, SYS_clock_nanosleep};
  const long number = call_in_front_of(pc);
  return std::find(std::begin(kHarmless), std::end(kHarmless), number) != std::end(kHarmless);
}

#else

inline bool is_behind_harmless_call(std::uintptr_t) { return false; }

#endif

}  // namespace gpuprof::wake
