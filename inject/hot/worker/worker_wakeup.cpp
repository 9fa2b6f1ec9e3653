// SPDX-License-Identifier: Apache-2.0
//
// Counter, flag and signal of the wakeup.
//
// Context:  signal
// Owns:     nothing
#include "inject/hot/worker/worker_wakeup.hpp"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "inject/hot/state.hpp"

namespace gpuprof::hot {

namespace {
constinit std::atomic<std::uint32_t> g_reduction{0};
constinit std::atomic<bool> g_waiting{false};
}  // namespace

// Both sides write one word and then read the other's, in one order for all: either the worker sees
// the ring, or the ringer sees the worker wait.
void signal_wakeup() {
  g_reduction.fetch_add(1, std::memory_order_seq_cst);
  if (!g_waiting.load(std::memory_order_seq_cst)) return;
  const int saved = errno;
  // In a forked child the id is no thread of this process, and nothing happens.
  ::syscall(SYS_tgkill, getpid(), g_state.worker_tid.load(std::memory_order_relaxed),
            kWakeupSignal);
  errno = saved;
}

std::uint32_t wakeup_count() { return g_reduction.load(std::memory_order_seq_cst); }

bool begin_wakeup_wait(std::uint32_t seen) {
  g_waiting.store(true, std::memory_order_seq_cst);
  if (g_reduction.load(std::memory_order_seq_cst) == seen) return true;
  end_wakeup_wait();
  return false;
}

void end_wakeup_wait() { g_waiting.store(false, std::memory_order_seq_cst); }

}  // namespace gpuprof::hot
