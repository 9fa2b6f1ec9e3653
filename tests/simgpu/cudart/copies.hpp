// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills as the runtime understands them: direction, waiting, peers.
//
// Context:  application threads
// Owns:     nothing
// Promises: device addresses are checked against the allocation map
// Not here: entry points (copy_api.cpp)
#pragma once

#include <driver_types.h>

#include "core/memory/memory.hpp"

namespace gpusim {

/// Rows of bytes to move or set; one row for a linear copy.
struct Rows {
  std::uintptr_t to, from;
  std::size_t bytes, rows, to_pitch, from_pitch;
};

/// A copy; cudaMemcpyDefault judges by the addresses. @return cudaError_t value.
int copy_bytes(const Rows& rows, cudaMemcpyKind kind, cudaStream_t stream, bool async);

/// A copy between devices, or on one if both are the same. @return cudaError_t value.
int copy_between(std::uintptr_t to, int to_device, std::uintptr_t from, int from_device,
                 std::size_t bytes, cudaStream_t stream, bool async);

/// Sets bytes to the low byte of `value`. @return cudaError_t value.
int fill_bytes(const Rows& rows, int value, cudaStream_t stream, bool async);

}  // namespace gpusim
