// SPDX-License-Identifier: Apache-2.0
//
// Storage of the process-wide state, and the one way to wake the worker.
//
// Context:  signal
// Owns:     nothing
#include "inject/hot/state.hpp"

#include <errno.h>
#include <unistd.h>

#include "inject/hot/outbox.hpp"

namespace gpuprof::hot {

constinit State g_state;
constinit Outbox g_outbox;

void wake_worker() {
  const int fd = g_state.wake_fd.load(std::memory_order_relaxed);
  if (fd < 0) return;
  const int saved = errno;
  const std::uint64_t one = 1;
  // The descriptor sits at the top of the range, where a program that closed everything opens
  // its own files last; the agent checks its identity at each turn.
  [[maybe_unused]] const ssize_t ignored = ::write(fd, &one, sizeof one);
  errno = saved;
}

}  // namespace gpuprof::hot
