// SPDX-License-Identifier: Apache-2.0
//
// From PyTorch's report to a record.
//
// Context:  callback
#include "inject/torch/memory/allocations.hpp"

#include <atomic>

#include "inject/hot/recorder.hpp"

namespace gpuprof::torch {
namespace {

enum CpuMemoryRequest : std::uint32_t { kUnknown, kAssumed, kYes, kNo };
constinit std::atomic<std::uint32_t> g_asked{kUnknown};
constinit std::atomic<bool> g_was_asked{false};

}  // namespace

void record_allocation(const MemoryReport& report) {
  if (!hot::on(hot::kOnAllocations)) return;
  // Those that the program's own profiler asked for, if it runs: not all there are.
  if (report.device_type == kDeviceCpu && cpu_memory_refused()) return;
  const hot::Guard guard(hot::RingRole::kCallback);
  if (!guard) return;
  wire::Allocation record;
  record.ts_ns = guard.block().clock.now_ns();
  record.address = reinterpret_cast<std::uintptr_t>(report.address);
  record.bytes = report.bytes;
  record.total_allocated_bytes = report.allocated;
  record.total_reserved_bytes = report.reserved;
  record.device_type = report.device_type;
  record.device = report.device;
  hot::record(guard, record, record.ts_ns);
}

bool cpu_memory_requested() {
  std::uint32_t asked = g_asked.load(std::memory_order_relaxed);
  if (asked == kUnknown) {
    const std::uint32_t assumed = expects_settings() ? kAssumed : kNo;
    // The settings may come at this very moment: `asked` is then what they said.
    if (g_asked.compare_exchange_strong(asked, assumed, std::memory_order_relaxed)) asked = assumed;
    if (asked != kNo) g_was_asked.store(true, std::memory_order_relaxed);
  }
  return asked != kNo;
}

bool cpu_memory_ever_requested() { return g_was_asked.load(std::memory_order_relaxed); }

bool cpu_memory_refused() { return g_asked.load(std::memory_order_relaxed) == kNo; }

void decide_cpu_memory(bool asked) {
  const std::uint32_t before = g_asked.load(std::memory_order_relaxed);
  if (before == kNo) return;
  if (asked) g_was_asked.store(true, std::memory_order_relaxed);
  g_asked.store(asked ? kYes : kNo, std::memory_order_relaxed);
}

}  // namespace gpuprof::torch
