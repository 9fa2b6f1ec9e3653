// SPDX-License-Identifier: Apache-2.0
//
// What stands in the program's NVTX tables instead of "do nothing".
//
// Context:  callback (application threads)
// Owns:     eight bytes of each thread: the depth of its pushed ranges
// Promises: one relaxed load and a return when nothing is on; push and pop answer NVTX's depths
//           whether or not anything is recorded
// Not here: who put them there (attach.cpp), names of domains (names.hpp)
#pragma once

#include <cstddef>

#include "inject/nvtx/nvtx_types.hpp"

namespace gpuprof::nvtx {

/// A handler and the place in a module's table it belongs to.
struct Entry {
  unsigned index;
  NvtxFunctionPointer function;
};

struct Entries {
  const Entry* first;
  std::size_t count;
};
Entries core_entries();
Entries core2_entries();

/// Ranges that are open will not be seen to end: each thread's depth begins anew. Worker.
void forget_open_ranges();

}  // namespace gpuprof::nvtx
