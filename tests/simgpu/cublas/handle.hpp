// SPDX-License-Identifier: Apache-2.0
//
// A cuBLAS handle.
//
// Context:  application threads
// Owns:     nothing; a destroyed handle only changes its magic
// Promises: plain data
// Not here: what is done with it (handle_api.cpp, routine.cpp)
#pragma once

#include <cublas_api.h>

#include <cstddef>
#include <cstdint>

/// What cublasHandle_t points to.
struct cublasContext {
  std::uint32_t magic;
  cudaStream_t stream;
  void* workspace;
  std::size_t workspace_bytes;
  cublasPointerMode_t pointer_mode;
  cublasMath_t math_mode;
  cublasAtomicsMode_t atomics_mode;
  int sm_count_target;
  cublasEmulationStrategy_t emulation_strategy;
  int special_values, mantissa_control, mantissa_bits, mantissa_offset;
  int* mantissa_bits_used;
};

namespace gpusim {

constexpr std::uint32_t kHandleMagic = 0x5173b1a5;

inline bool usable(cublasHandle_t handle) {
  return handle != nullptr && handle->magic == kHandleMagic;
}

/// Name and sentence of a status; shared with cuBLASLt.
const char* status_name(cublasStatus_t status);
const char* status_text(cublasStatus_t status);

}  // namespace gpusim
