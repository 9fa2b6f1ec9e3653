// SPDX-License-Identifier: Apache-2.0
//
// The theoretical occupancy of a kernel on a device.
//
// Context:  any
// Promises: whole blocks by the rules of the CUDA occupancy calculator, warp slots, registers,
//           shared memory and block slots; 0 where the device's limits are unknown
#pragma once

#include <cstdint>

#include "recording/model/events.hpp"

namespace gpuprof::exporter {

struct Occupancy {
  std::uint32_t active_blocks = 0;  // that fit on one multiprocessor
  double blocks_per_sm = 0;         // of the grid
  double warps_per_sm = 0;
  std::uint32_t percent = 0;  // of the thread slots, as far as the grid fills them
};

/// Blocks of this shape that fit on one multiprocessor at a time.
std::uint32_t active_blocks(const model::Device& device, std::uint32_t threads,
                            std::uint32_t registers, std::uint32_t shared_bytes);

Occupancy occupancy(const model::Device& device, const model::Kernel& kernel);

}  // namespace gpuprof::exporter
