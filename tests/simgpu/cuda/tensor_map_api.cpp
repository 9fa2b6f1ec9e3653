// SPDX-License-Identifier: Apache-2.0
//
// Driver functions for tensor maps, which Hopper kernels take to copy blocks of a tensor.
//
// Context:  application threads
// Owns:     nothing
// Promises: the arguments are checked as far as the header states them; the map holds the address
//           and nothing a kernel could use, for no kernel runs
// Not here: launches (launch_api.cpp)
#include <cstring>

#include "cuda/api.hpp"

namespace {

constexpr cuuint32_t kMaxRank = 5;
constexpr cuuint32_t kMaxBox = 256;

int encode(CUtensorMap* map, cuuint32_t least_rank, cuuint32_t rank, void* address,
           const cuuint64_t* sizes, const cuuint32_t* steps) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const bool bad = map == nullptr || reinterpret_cast<std::uintptr_t>(map) % 64 != 0 ||
                   rank < least_rank || rank > kMaxRank || place == 0 || place % 16 != 0 ||
                   sizes == nullptr || steps == nullptr;
  if (bad) return CUDA_ERROR_INVALID_VALUE;
  std::memset(map, 0, sizeof *map);
  map->opaque[0] = place;
  return CUDA_SUCCESS;
}

bool fits(cuuint32_t rank, const cuuint32_t* box) {
  if (box == nullptr) return false;
  for (cuuint32_t i = 0; i < rank && i < kMaxRank; ++i)
    if (box[i] == 0 || box[i] > kMaxBox) return false;
  return true;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                        void* address, const cuuint64_t* sizes,
                                        const cuuint64_t* strides, const cuuint32_t* box,
                                        const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                        CUtensorMapSwizzle swizzle,
                                        CUtensorMapL2promotion promotion,
                                        CUtensorMapFloatOOBfill outside) {
  GPUSIM_DRIVER_API(cuTensorMapEncodeTiled, map, type, rank, address, sizes, strides, box, steps,
                    interleave, swizzle, promotion, outside);
  if (!fits(rank, box)) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  return GPUSIM_DONE(encode(map, 1, rank, address, sizes, steps));
}

CUresult CUDAAPI cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type,
                                         cuuint32_t rank, void* address, const cuuint64_t* sizes,
                                         const cuuint64_t* strides, const int* lower,
                                         const int* upper, cuuint32_t channels, cuuint32_t pixels,
                                         const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                         CUtensorMapSwizzle swizzle,
                                         CUtensorMapL2promotion promotion,
                                         CUtensorMapFloatOOBfill outside) {
  GPUSIM_DRIVER_API(cuTensorMapEncodeIm2col, map, type, rank, address, sizes, strides, lower, upper,
                    channels, pixels, steps, interleave, swizzle, promotion, outside);
  if (lower == nullptr || upper == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  return GPUSIM_DONE(encode(map, 3, rank, address, sizes, steps));
}

CUresult CUDAAPI cuTensorMapEncodeIm2colWide(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* sizes, const cuuint64_t* strides, int lower, int upper, cuuint32_t channels,
    cuuint32_t pixels, const cuuint32_t* steps, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill outside) {
  GPUSIM_DRIVER_API(cuTensorMapEncodeIm2colWide, map, type, rank, address, sizes, strides, lower,
                    upper, channels, pixels, steps, interleave, mode, swizzle, promotion, outside);
  return GPUSIM_DONE(encode(map, 3, rank, address, sizes, steps));
}

CUresult CUDAAPI cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  GPUSIM_DRIVER_API(cuTensorMapReplaceAddress, map, address);
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  if (map == nullptr || place == 0 || place % 16 != 0) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  map->opaque[0] = place;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

}  // extern "C"
