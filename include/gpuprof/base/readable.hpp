// SPDX-License-Identifier: Apache-2.0
//
// Whether memory can be read, found out without reading it.
//
// Context:  any (signal-safe; errno is changed)
// Promises: works where other system calls are forbidden: no sandbox can forbid this one
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

/// Whether a program can have anything at this address: in the user half, not in the first page.
constexpr bool user_address(std::uint64_t at) {
  return at >= kPageBytes && at < (std::uint64_t{1} << kUserAddressBits);
}

/// Whether the aligned word around `at` can be read. One system call: the kernel reads the new mask
/// before it rejects the way of setting it.
inline bool word_readable(std::uint64_t at) {
  return ::syscall(SYS_rt_sigprocmask, ~0, at & ~std::uint64_t{7}, nullptr, 8) == -1 &&
         errno == EINVAL;
}

/// Whether `bytes` bytes can be read at `at`, and an object of 8-byte alignment can lie there. For
/// at most a page.
inline bool object_readable(std::uint64_t at, std::uint64_t bytes) {
  return user_address(at) && at % 8 == 0 && word_readable(at) && word_readable(at + bytes - 1);
}

}  // namespace gpuprof::base
