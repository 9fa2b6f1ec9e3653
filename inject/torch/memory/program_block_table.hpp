// SPDX-License-Identifier: Apache-2.0
//
// CPU blocks as the program's own memory profiling would know them without us.
//
// Context:  callback; reset_block_table_lock: boundary
// Owns:     a table of blocks, mapped when the program first profiles its memory
// Promises: costs nothing until then; waits only for another thread in these few instructions,
//           where PyTorch itself takes a mutex
//
// Why: PyTorch keeps one table of CPU blocks for all listeners. Since it is filled from the start
// for us, the program's profiler would be notified of the end of blocks that were there before it,
// and of larger totals.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::torch {

/// A block was allocated (bytes > 0) or freed while the program's own profiler listened.
///
/// @param allocated Set to the total that would be reported to its profiler.
/// @return          False: the profiler would not be notified, the block is older than it.
bool is_known_to_program(const void* address, std::int64_t* bytes, std::size_t* allocated);

/// In the child of a fork: no thread is in the table any more. Boundary.
void reset_block_table_lock();

}  // namespace gpuprof::torch
