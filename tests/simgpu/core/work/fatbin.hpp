// SPDX-License-Identifier: Apache-2.0
//
// The real figures of compiled kernels, read from the program's own fat binaries and cubins.
//
// Context:  application threads
// Owns:     nothing
// Promises: an unknown or damaged image gives an empty table, never a crash of its own; only reads
// Not here: when to read (cudart/registry.cpp, cuda/launch_api.cpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace gpusim {

/// What a cubin says about one kernel.
struct KernelFigures {
  std::uint16_t registers = 0;
  std::uint32_t static_smem = 0;
  std::uint32_t local_bytes = 0;
  std::uint32_t max_threads = 0;  ///< from launch bounds; 0 = none given
  int architecture = 0;           ///< 90 for sm_90
};

/// Figures by kernel name.
using FigureTable = std::unordered_map<std::string, KernelFigures>;

/// Reads the figures of every kernel in `image` for a device of compute capability `architecture`
/// (90 for 9.0): the entries of that architecture, else of the highest below it. `image` is the
/// wrapper that nvcc registers, a fat binary, or one cubin.
FigureTable read_figures(const void* image, int architecture);

/// Whether compressed images can be read (a matter of the build).
bool reads_compressed_images();

}  // namespace gpusim
