// SPDX-License-Identifier: Apache-2.0
//
// A short wait of ours on any thread.
//
// Context:  worker | boundary
// Promises: keeps errno; is no cancellation point: a thread that was cancelled (pthread_cancel)
//           must not end in a wait of ours where the program's own call has no such point
#pragma once

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace gpuprof::hot {

/// @param ns Less than a second.
inline void sleep_ns(std::uint64_t ns) {
  const int saved = errno;
  const timespec pause{0, static_cast<long>(ns)};
  ::syscall(SYS_nanosleep, &pause, nullptr);
  errno = saved;
}

}  // namespace gpuprof::hot
