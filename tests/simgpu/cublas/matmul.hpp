// SPDX-License-Identifier: Apache-2.0
//
// One matrix product of cuBLAS or cuBLASLt, turned into kernels.
//
// Context:  application threads
// Owns:     nothing
// Promises: different shapes give different kernels; device memory is never read
// Not here: names and figures (kernel_table.cpp), API entry points
#pragma once

#include <cublas_api.h>

#include "core/work/library_kernel.hpp"
#include "cublas/kernel_table.hpp"

namespace gpusim {

/// What is to be multiplied. Column-major, as cuBLAS has it.
struct Matmul {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool ta = false, tb = false;
  cudaDataType_t a = CUDA_R_32F, b = CUDA_R_32F, c = CUDA_R_32F;
  Math math = Math::kSingle;
  const char* epilogue = "";  ///< part of the kernel's name, for example "_bias"
};

/// The arithmetic for an input type under a compute type (-1: none given) and a math mode.
/// False if cuBLAS does not multiply that type.
bool math_for(cudaDataType_t type, int compute, cublasMath_t mode, Math* math);

/// Launches what the product needs on `stream`, a cudaStream_t. Nothing for an empty result.
cublasStatus_t launch_matmul(const void* stream, const Matmul& problem);

/// Launches one plain kernel over `elements`. `inner` multiplies its flops where the row has none.
cublasStatus_t launch_non_gemm(const void* stream, NonGemmKernel which, cudaDataType_t type,
                               double elements, double inner = 1, std::int64_t batch = 1);

}  // namespace gpusim
