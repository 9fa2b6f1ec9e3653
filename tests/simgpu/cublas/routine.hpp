// SPDX-License-Identifier: Apache-2.0
//
// One call of a computing cuBLAS function, whatever its name and types.
//
// Context:  application threads
// Owns:     nothing
// Promises: arguments that the function does not have keep their defaults
// Not here: the functions themselves (generated from the header: generate_calls.py)
#pragma once

#include <cublas_api.h>

#include <cstddef>
#include <cstdint>

#include "cublas/matmul.hpp"

namespace gpusim {

/// What a function computes. The names are those of generate_calls.py.
enum class Routine : std::uint8_t {
  kGemm,
  kGemv,
  kGer,
  kTriangular,
  kBanded,
  kAxpy,
  kCopy,
  kScal,
  kSwap,
  kRot,
  kDot,
  kNrm2,
  kAsum,
  kAmax,
  kAmin,
  kSyrk,
  kSymm,
  kTrmm,
  kTrsm,
  kGeam,
  kDgmm,
  kPack,
  kGetrf,
  kGetrs,
  kGetri,
  kGeqrf,
  kGels
};

/// Value of a size that the function has no argument for.
constexpr std::int64_t kAbsent = INT64_MIN;

/// The arguments, by the names of the header.
struct RoutineCall {
  const char* name;
  cublasHandle_t handle = nullptr;
  std::int64_t m = kAbsent, n = kAbsent, k = kAbsent;
  std::int64_t batch = 1;
  int transa = 0, transb = 0, side = 0, compute = -1;
  cudaDataType_t a = CUDA_R_32F, b = CUDA_R_32F, c = CUDA_R_32F;
  void* result = nullptr;  ///< where a number goes, in host or device memory
  std::size_t result_bytes = 0;
  int* info = nullptr;  ///< host
};

/// Checks the arguments and launches.
cublasStatus_t run(Routine routine, const RoutineCall& call);

/// Bytes of one element, for results whose type is an argument.
inline std::size_t type_bytes(cudaDataType_t type) {
  return static_cast<std::size_t>(element_bits(type)) / 8;
}

}  // namespace gpusim
