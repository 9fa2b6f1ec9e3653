// SPDX-License-Identifier: Apache-2.0
//
// Kernels that a library (cuBLAS, cuDNN, NCCL) launches by itself: invented name and shape, honest
// amount of work.
//
// Context:  application threads
// Owns:     nothing
// Promises: each is one cudaLaunchKernelExC call of its own, as the real libraries make
// Not here: which kernels an operation needs (cublas/, cudnn/, nccl/)
#pragma once

#include <cstdint>
#include <memory>

#include "core/objects.hpp"

namespace gpusim {

class Rendezvous;

/// What a library launches. `name` is mangled where the real one is; it is interned.
struct LibraryKernel {
  const char* name;
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint32_t cluster[3];
  std::uint16_t registers;
  std::uint32_t static_smem, dynamic_smem;
  double flops;  ///< arithmetic, with `peak_tflops` of its data type
  double peak_tflops;
  double traffic_bytes;     ///< device memory read and written
  std::uint64_t length_ns;  ///< where the library knows better than the timing model, else 0
};

/// Launches on `stream`. @return cudaError_t value.
int launch_library_kernel(Stream* stream, const LibraryKernel& kernel);
/// The same for a kernel whose end others decide.
int launch_library_kernel(Stream* stream, const LibraryKernel& kernel,
                          std::unique_ptr<Rendezvous> rendezvous);

/// Peak arithmetic rate of a model in TFLOP/s for matrix products: `bits` 8, 16, 19 (TF32), 32, 64.
double peak_tflops(const DeviceModel& model, int bits);

}  // namespace gpusim
