// SPDX-License-Identifier: Apache-2.0
//
// Names and shapes of the kernels that the simulated cuBLAS launches. Invented: the spelling
// follows what the real libraries show in profiles, the figures are plausible, none is measured.
//
// Context:  application threads
// Owns:     nothing
// Promises: the same problem always gives the same kernels; every mangled name demangles
// Not here: which of them a problem gets (matmul.cpp, routine.cpp)
#pragma once

#include <library_types.h>

#include <cstddef>
#include <cstdint>

namespace gpusim {

/// The arithmetic of a matrix product.
enum class Math : std::uint8_t {
  kFp8,
  kInt8,
  kHalf,
  kBf16,
  kTf32,
  kSingle,
  kDouble,
  kComplex,
  kDoubleComplex
};

/// Output tile of one block.
struct Tile {
  std::uint16_t m, n;
};

/// Matrix-product kernels of one kind on one generation of devices. `name` has placeholders:
/// {types} {m} {n} {k} {stages} {cluster} {split} {epilogue} {ab} = "tn", {AB} = "TN".
struct GemmFamily {
  int major;
  Math math;
  const char* name;
  const Tile* tiles;
  int tile_count;
  std::uint16_t tile_k, stages, threads, registers;
  bool clusters;  ///< launched in clusters of two blocks where the grid allows it
};

/// The family for a device generation; every kind has one in every generation but fp8 (from 9).
const GemmFamily* gemm_family(int cc_major, Math math);

/// Any other kernel. `name` has {t} for the mangled element type.
struct NonGemmKernelInfo {
  const char* name;
  std::uint16_t threads, registers;
  std::uint16_t per_thread;  ///< elements
  double flops, traffic;     ///< per element; traffic in elements moved
};

/// Rows of the plain table.
enum class NonGemmKernel : std::uint8_t {
  kGemvN,
  kGemvT,
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
  kReduce,
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
  kGels,
  kSplitReduce,
  kTransform
};
const NonGemmKernelInfo& plain_kernel(NonGemmKernel which);

/// Bits of one element.
int element_bits(cudaDataType_t type);
/// Mangled C++ name of an element type.
const char* mangled_type(cudaDataType_t type);
/// The letter nvjet names use for an element type.
char type_letter(cudaDataType_t type);

}  // namespace gpusim
