// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's memory reports where this library was not preloaded: routed through us by the GOTs of
// libtorch's libraries.
//
// Context:  worker
// Owns:     the replaced slots
// Promises: nothing is requested of PyTorch's CPU allocator: blocks allocated before would be
//           reported as unknown, on the program's stderr, when they are freed
// Not here: the wrapper (entry/interpose_torch.cpp)
#pragma once

#include "inject/got/patches.hpp"

namespace gpuprof::torch {

/// The wrapper of c10::reportMemoryUsageToProfiler, which stands beside it in the library's entry;
/// a program linked without that has none.
extern const got::Replacement kMemoryWrappers[] __attribute__((weak));

/// Includes modules loaded since the last call. Does nothing in a preloaded library.
void hook_memory_reports();
void unhook_memory_reports();

/// Reports what memory is not recorded because the library was loaded late.
void report_late_memory();

}  // namespace gpuprof::torch
