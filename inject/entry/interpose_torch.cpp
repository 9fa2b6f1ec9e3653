// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's memory reports pass through us: by name when the library is preloaded, else through the
// tables of libtorch's libraries (memory/late_memory.hpp), GPU memory alone.
//
// Context:  callback (threads of the program inside PyTorch's allocators)
// Owns:     nothing
// Promises: the program's own memory profiling receives what it would receive without us
// Not here: what is recorded (torch/memory/allocations.hpp)
//
// Both names are C++ functions of libc10, the same since PyTorch 2.1: no header of it is needed.
#include <cstddef>
#include <cstdint>

#include "inject/torch/memory/allocations.hpp"
#include "inject/torch/memory/late_memory.hpp"
#include "inject/torch/memory/memory_functions.hpp"
#include "inject/torch/memory/program_block_table.hpp"

#define GPUPROF_EXPORT __attribute__((visibility("default")))

namespace c10 {

/// As PyTorch declares it, for its mangled name.
struct Device {
  std::int8_t type, index;
};

GPUPROF_EXPORT bool memoryProfilingEnabled();
GPUPROF_EXPORT void reportMemoryUsageToProfiler(void* address, std::int64_t bytes,
                                                std::size_t allocated, std::size_t reserved,
                                                Device device);

}  // namespace c10

namespace {

using namespace gpuprof;

torch::MemoryFunctions real_of(const void* caller) {
  return torch::memory_functions_for(
      caller, {reinterpret_cast<const void*>(&c10::reportMemoryUsageToProfiler),
               reinterpret_cast<const void*>(&c10::memoryProfilingEnabled)});
}

// PyTorch complains of such a block, on stderr, once in a while. It has just taken it off its table
// for our sake: told of its end once more, it does not know the block and says what it would say.
void warn_unknown_block(const torch::MemoryFunctions& real, void* block) {
  if (real.reporter != nullptr && real.deleted != nullptr) real.deleted(real.reporter(), block);
}

void pass_on(const torch::MemoryFunctions& real, torch::MemoryReport report) {
  if (real.report == nullptr) return;
  // PyTorch's own CPU allocator has no reserve; other reports are made whoever listens.
  const bool asked_for =
      report.device_type == torch::kDeviceCpu && report.reserved == 0 && report.bytes != 0;
  if (asked_for && torch::cpu_memory_ever_requested()) {
    if (real.enabled == nullptr || !real.enabled()) return;
    if (!torch::is_known_to_program(report.address, &report.bytes, &report.allocated))
      return warn_unknown_block(real, report.address);
  }
  real.report(report.address, report.bytes, report.allocated, report.reserved,
              {report.device_type, report.device});
}

}  // namespace

bool c10::memoryProfilingEnabled() {
  if (torch::cpu_memory_requested()) return true;
  const torch::MemoryFunctions real = real_of(__builtin_return_address(0));
  return real.enabled != nullptr && real.enabled();
}

void c10::reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t allocated,
                                      std::size_t reserved, Device device) {
  const torch::MemoryReport report{address, bytes, allocated, reserved, device.type, device.index};
  torch::record_allocation(report);
  pass_on(real_of(__builtin_return_address(0)), report);
}

namespace gpuprof::torch {

const got::Replacement kMemoryWrappers[] = {
    {"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
     reinterpret_cast<void*>(&c10::reportMemoryUsageToProfiler), true},
    {},
};

}  // namespace gpuprof::torch
