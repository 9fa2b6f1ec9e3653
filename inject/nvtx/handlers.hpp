// SPDX-License-Identifier: Apache-2.0
//
// Our NVTX handlers, which replace the no-op entries of the program's NVTX function tables.
//
// Context:  callback (application threads)
// Owns:     eight bytes of each thread: the depth of its pushed ranges
// Promises: one relaxed load and a return when nothing is on; push and pop return NVTX's depths
//           whether or not anything is recorded
// Not here: who put them there (initialize.cpp), names of domains (handle_tables.hpp)
#pragma once

#include <cstddef>

#include "inject/nvtx/nvtx_types.hpp"

namespace gpuprof::nvtx {

/// A handler and the place in a module's table it belongs to.
struct TableEntry {
  unsigned index;
  NvtxFunctionPointer function;
};

struct TableEntries {
  const TableEntry* first;
  std::size_t count;
};
TableEntries core_entries();
TableEntries core2_entries();

/// Ranges that are open will not be seen to end: each thread's depth begins anew. Worker.
void reset_open_ranges();

}  // namespace gpuprof::nvtx
