// SPDX-License-Identifier: Apache-2.0
//
// Waits for those that have let a fault signal in and may be about to keep it.
//
// Context:  boundary
// Owns:     nothing
#include "inject/hot/thread_block.hpp"
#include "inject/hot/worker/deadline.hpp"
#include "inject/hot/worker/sleep.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/fault_guard/fault_layers.hpp"
#include "inject/sample/triggers/trigger.hpp"

namespace gpuprof::sample {

namespace {

constexpr std::uint32_t kDeadlineMs = 20;
constexpr std::uint64_t kPauseNs = 100'000;
// From the kernel to defer() it is a few microseconds. Who left its read by longjmp stays in its
// place, and may compute for ever.
constexpr std::uint64_t kMaxCpuNs = 5'000'000;

std::uint64_t cpu_ns_of(std::uint32_t tid) {
  timespec used{};  // of a thread that has ended: none
  clock_gettime(cpu_clock_of(static_cast<pid_t>(tid)), &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(used.tv_nsec);
}

}  // namespace

std::uint32_t deferred_fault_count(std::uint64_t signals) {
  std::uint32_t count = 0;
  if ((signals & signal_bit(SIGSEGV)) != 0)
    count += g_fault_layers.kept_segv.load(std::memory_order_acquire);
  if ((signals & signal_bit(SIGBUS)) != 0)
    count += g_fault_layers.kept_bus.load(std::memory_order_acquire);
  return count;
}

// Who has the signal had let it in before the caller's wait came back, and is in its place since.
bool deferred_since(std::uint64_t signals, std::uint32_t before) {
  hot::Deadline timeout(kDeadlineMs, hot::kStarvationLimitMs);
  for (const UnblockedThreads::Place& place : g_fault_layers.open) {
    const std::uint64_t taken = place.load(std::memory_order_acquire);
    const std::uint32_t tid = UnblockedThreads::tid_of(taken);
    if (taken == 0 || tid == hot::current_tid()) continue;
    const std::uint64_t used_ns = cpu_ns_of(tid);
    // In this order: it counts before it is done.
    while (place.load(std::memory_order_acquire) == taken &&
           deferred_fault_count(signals) == before) {
      hot::sleep_ns(kPauseNs);
      if (cpu_ns_of(tid) - used_ns >= kMaxCpuNs) break;
      if (timeout.expired(tid)) return deferred_fault_count(signals) != before;
    }
  }
  return deferred_fault_count(signals) != before;
}

}  // namespace gpuprof::sample
