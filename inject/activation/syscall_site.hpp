// SPDX-License-Identifier: Apache-2.0
//
// Reads the instructions in front of a program counter.
//
// Context:  signal
#pragma once

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace gpuprof::wake {

#if defined(__x86_64__)

/// The number that is loaded right before the `syscall` in front of `pc`; -1: there is none.
/// @param pc  Inside the C library, not in its first bytes.
inline long syscall_number_before(std::uintptr_t pc) {
  const auto* code = reinterpret_cast<const std::uint8_t*>(pc);
  if (code[-2] != 0x0f || code[-1] != 0x05) return -1;
  if (code[-7] == 0xb8) {  // movl $number, %eax
    std::int32_t number;
    memcpy(&number, code - 6, sizeof number);
    return number;
  }
  return code[-4] == 0x31 && code[-3] == 0xc0 ? 0 : -1;  // xorl %eax, %eax
}

/// Whether the thread is returning from a system call that the C library makes for the program
/// itself, or while holding locks of streams at most: never within malloc, the loader or the
/// creation of a thread. (Except for malloc_stats, which prints under a lock of malloc.)
inline bool is_after_safe_syscall(std::uintptr_t pc) {
  constexpr long kHarmless[] = {
      SYS_write,      SYS_readv,       SYS_writev,     SYS_pread64,    SYS_pwrite64,
      SYS_preadv,     SYS_pwritev,     SYS_lseek,      SYS_fsync,      SYS_fdatasync,
      SYS_fallocate,  SYS_splice,      SYS_sendfile,   SYS_ioctl,      SYS_fcntl,
      SYS_getdents64, SYS_newfstatat,  SYS_statx,      SYS_poll,       SYS_ppoll,
      SYS_select,     SYS_pselect6,    SYS_epoll_wait, SYS_nanosleep,  SYS_clock_nanosleep,
      SYS_sendto,     SYS_recvfrom,    SYS_sendmsg,    SYS_recvmsg,    SYS_sendmmsg,
      SYS_recvmmsg,   SYS_epoll_pwait, SYS_accept,     SYS_accept4,    SYS_connect,
      SYS_wait4,      SYS_waitid,      SYS_times,      SYS_sched_yield};
  constexpr std::uintptr_t kFunction = 0x100;
  const long number = syscall_number_before(pc);
  // malloc opens and reads files of the kernel under its lock, but through other functions.
  if (number == SYS_read) return pc - reinterpret_cast<std::uintptr_t>(&::read) < kFunction;
  if (number == SYS_openat) return pc - reinterpret_cast<std::uintptr_t>(&::open) < kFunction;
  return std::find(std::begin(kHarmless), std::end(kHarmless), number) != std::end(kHarmless);
}

/// Whether the system call was all that was left to do: next the function returns to its caller,
/// and the top of the stack holds the return address.
/// @param pc  Inside the C library, not in its first or last bytes.
inline bool is_syscall_return(std::uintptr_t pc) {
  const auto* code = reinterpret_cast<const std::uint8_t*>(pc);
  if (code[-2] != 0x0f || code[-1] != 0x05) return false;
  constexpr std::uint8_t kReturn = 0xc3;
  if (code[0] == kReturn) return true;
  // cmpq $-4096 or -4095, %rax; ja or jae; ret
  const bool compares =
      code[0] == 0x48 && code[1] == 0x3d && code[3] == 0xf0 && code[4] == 0xff && code[5] == 0xff;
  const bool failed_elsewhere = code[6] == 0x77 || code[6] == 0x73;
  return compares && failed_elsewhere && code[8] == kReturn;
}

#else

inline bool is_after_safe_syscall(std::uintptr_t) { return false; }
inline bool is_syscall_return(std::uintptr_t) { return false; }

#endif

}  // namespace gpuprof::wake
