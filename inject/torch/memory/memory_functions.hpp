// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's own memory functions behind our wrappers: those of the copy the caller belongs to.
//
// Context:  callback; find_memory_functions: boundary
// Owns:     a small table of callers, for ever
// Promises: a caller is looked up once, without the lock that dlopen holds while constructors run
//           (a thread one of them waits for may allocate); never returns our wrappers
// Not here: the wrappers (entry/interpose_torch.cpp)
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::torch {

/// c10::Device, by value as PyTorch passes it.
struct Device {
  std::int8_t type, index;
};
using ReportMemory = void (*)(void*, std::int64_t, std::size_t, std::size_t, Device);
using MemoryEnabled = bool (*)();

/// c10::profiledCPUMemoryReporter() and its Delete(block).
using CpuReporter = void* (*)();
using BlockDeleted = void (*)(void* reporter, void* block);

/// The functions of one copy; null where it has none.
struct MemoryFunctions {
  ReportMemory report;
  MemoryEnabled enabled;
  CpuReporter reporter;
  BlockDeleted deleted;
};

/// What the library itself defines under the two names, which is not what is looked for.
struct OwnWrappers {
  const void* report;
  const void* enabled;
};

/// The functions that the object around `caller` would reach without us.
/// @param caller Return address of the call. A tail call is a jump and leaves another's: with two
///               copies of PyTorch in one process the wrong one may then be notified of a block.
MemoryFunctions memory_functions_for(const void* caller, const OwnWrappers& own);

/// Where the object around an address lies, and what it would call.
struct MemoryCaller {
  std::uintptr_t begin, end;
  MemoryFunctions real;
};

/// Searches the mapped objects: the caller's own, then those beside it in its folder, then all
/// in load order. False: nothing of PyTorch is mapped. Boundary.
bool find_memory_functions(const void* caller, const OwnWrappers& own, MemoryCaller* found);

}  // namespace gpuprof::torch
