// SPDX-License-Identifier: Apache-2.0
//
// What nvcc would generate for a program with kernels: a registered fat binary (here without any
// image, so the simulated GPU invents the kernels' figures) and host stubs.
//
// Context:  static constructors
// Owns:     nothing
// Promises: nothing but the runtime's own entry points is used
// Not here: the program (cudart_app.cpp)
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name,
                            int limit, void* tid, void* bid, void* block, void* grid, int* warp);
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int external,
                       std::size_t bytes, int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t smem, void* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* smem, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                               std::size_t smem, cudaStream_t stream);
}

namespace nvcc_parts {

/// A fat binary without entries.
struct Image {
  std::uint32_t magic = 0xba55ed50;
  std::uint16_t version = 1, header_bytes = 16;
  std::uint64_t bytes = 0;
};
struct Wrapper {
  std::uint32_t magic = 0x466243b1, version = 1;
  const void* image;
  void* unused = nullptr;
};

inline constexpr char kScaleName[] = "_Z5scalePffi";
inline constexpr char kReduceName[] = "_Z6reducePKfPfi";
inline constexpr char kTableName[] = "table";

/// The host side of `__device__ float table[64]`.
inline float table[64];

/// Host stubs: the older form, through the runtime's launch call, and the newer one.
inline void scale(float* data, float by, int n) {
  dim3 grid, block;
  std::size_t smem = 0;
  cudaStream_t stream = nullptr;
  void* args[] = {&data, &by, &n};
  if (__cudaPopCallConfiguration(&grid, &block, &smem, &stream) != cudaSuccess) return;
  cudaLaunchKernel(reinterpret_cast<const void*>(&scale), grid, block, args, smem, stream);
}
inline void reduce(const float* data, float* sum, int n) {
  dim3 grid, block;
  std::size_t smem = 0;
  cudaStream_t stream = nullptr;
  cudaKernel_t kernel = nullptr;
  void* args[] = {&data, &sum, &n};
  if (__cudaGetKernel(&kernel, reinterpret_cast<const void*>(&reduce)) != cudaSuccess ||
      __cudaPopCallConfiguration(&grid, &block, &smem, &stream) != cudaSuccess)
    return;
  __cudaLaunchKernel(kernel, grid, block, args, smem, stream);
}

/// Registers everything, as the constructor that nvcc generates does.
inline void register_all() {
  static const Image image;
  static Wrapper wrapper{.image = &image};
  void** handle = __cudaRegisterFatBinary(&wrapper);
  const auto add = [handle](const void* host, const char* name) {
    __cudaRegisterFunction(handle, static_cast<const char*>(host), const_cast<char*>(name), name,
                           -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  };
  add(reinterpret_cast<const void*>(&scale), kScaleName);
  add(reinterpret_cast<const void*>(&reduce), kReduceName);
  __cudaRegisterVar(handle, reinterpret_cast<char*>(table), const_cast<char*>(kTableName),
                    kTableName, 0, sizeof table, 0, 0);
  __cudaRegisterFatBinaryEnd(handle);
}

}  // namespace nvcc_parts
