// SPDX-License-Identifier: Apache-2.0
//
// Whether memory can be read, found out without reading it.
//
// Context:  any (signal-safe; errno is changed)
// Owns:     nothing
// Promises: works where other system calls are forbidden: no sandbox can do without this one
#pragma once

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace gpuprof::base {

inline constexpr std::uint64_t kPageBytes = 4096;

#if defined(__aarch64__)
inline constexpr int kUserAddressBits = 48;
#else
inline constexpr int kUserAddressBits = 47;
#endif

/// Whether something of a program's can lie there: in the user half, not in the first page.
constexpr bool user_address(std::uint64_t at) {
  return at >= kPageBytes && at < (std::uint64_t{1} << kUserAddressBits);
}

/// Whether the aligned word around `at` can be read. One system call: the kernel looks at the new
/// mask before it finds that there is no such way to set one.
inline bool word_readable(std::uint64_t at) {
  return ::syscall(SYS_rt_sigprocmask, ~0, at & ~std::uint64_t{7}, nullptr, 8) == -1 &&
         errno == EINVAL;
}

/// Whether `bytes` can be read at `at`, which must be possible for an object of 8-byte alignment.
/// Not for more than a page.
inline bool object_readable(std::uint64_t at, std::uint64_t bytes) {
  return user_address(at) && at % 8 == 0 && word_readable(at) && word_readable(at + bytes - 1);
}

}  // namespace gpuprof::base
