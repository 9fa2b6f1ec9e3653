// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's memory reports: what is requested of its CPU allocator, what is recorded of each.
//
// Context:  callback (a thread of the program inside PyTorch's allocator), but for what says
//           otherwise
// Owns:     one word of settings
// Promises: nothing is recorded outside windows; no lock, no allocation
// Not here: passing a report on to PyTorch (memory_functions.hpp, program_block_table.hpp)
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::torch {

/// One call of c10::reportMemoryUsageToProfiler.
struct MemoryReport {
  void* address;
  std::int64_t bytes;     // negative: freed
  std::size_t allocated;  // bytes of the device, afterwards
  std::size_t reserved;   // 0 for the CPU
  std::int8_t device_type, device;
};
inline constexpr std::int8_t kDeviceCpu = 0;  // c10::DeviceType

/// Records one report while memory is recorded (hot::kOnAllocations).
void record_allocation(const MemoryReport& report);

/// Whether PyTorch's CPU allocator is to report its blocks, as far as it depends on us. Before the
/// settings are known: whether they may request it, since blocks allocated unreported are reported
/// as unknown, on the program's stderr, when they are freed.
bool cpu_memory_requested();

/// Whether cpu_memory_requested() has ever been true: PyTorch then knows of blocks that the program
/// did not ask it to know of.
bool cpu_memory_ever_requested();

/// Whether it was decided that PyTorch's CPU allocator is not to report.
bool cpu_memory_refused();

/// The settings are known. Once refused, it stays so: blocks were missed. Worker.
void decide_cpu_memory(bool asked);

/// Whether the settings may still request memory: gpuprof is in charge of this process.
/// Boundary.
bool expects_settings();

}  // namespace gpuprof::torch
