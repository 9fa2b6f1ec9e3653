// SPDX-License-Identifier: Apache-2.0
//
// Runtime API: what nvcc's generated code calls: registration and the <<<>>> syntax.
//
// Context:  static constructors and destructors of the program, application threads
// Owns:     the call configurations of each thread (plain data)
// Promises: registering starts nothing and reads no image
// Not here: the tables (registry.cpp)
#include "cudart/api.hpp"
#include "cudart/launch.hpp"
#include "cudart/registry.hpp"

using namespace gpusim;

namespace {

struct Configuration {
  dim3 grid, block;
  std::size_t smem;
  void* stream;
};
constexpr int kDepth = 8;
struct ConfigurationStack {
  // Plain bytes: dim3 has a constructor, and a thread-local must not.
  alignas(Configuration) unsigned char at[kDepth * sizeof(Configuration)];
  int depth;
};
thread_local ConfigurationStack t_configurations;

Configuration* slot(int depth) {
  return reinterpret_cast<Configuration*>(t_configurations.at) + depth;
}

FatBinary* binary_of(void** handle) { return reinterpret_cast<FatBinary*>(handle); }

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* fatCubin) {
  return reinterpret_cast<void**>(register_binary(fatCubin));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) { forget_binary(binary_of(handle)); }

void __cudaRegisterFunction(void** handle, const char* hostFun, char*, const char* deviceName, int,
                            void*, void*, void*, void*, int*) {
  register_kernel(binary_of(handle), hostFun, deviceName);
}

void __cudaRegisterVar(void** handle, char* hostVar, char*, const char* deviceName, int,
                       std::size_t size, int, int) {
  register_variable(binary_of(handle), hostVar, deviceName, size);
}

void __cudaRegisterManagedVar(void** handle, void** hostVar, char*, const char* deviceName, int,
                              std::size_t size, int, int) {
  register_variable(binary_of(handle), hostVar, deviceName, size);
}

char __cudaInitModule(void**) { return 1; }

unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, std::size_t sharedMem,
                                     void* stream) {
  if (t_configurations.depth == kDepth) return 1;
  *slot(t_configurations.depth++) = {gridDim, blockDim, sharedMem, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* gridDim, dim3* blockDim, std::size_t* sharedMem,
                                       void* stream) {
  if (t_configurations.depth == 0) return cudaErrorMissingConfiguration;
  const Configuration& c = *slot(--t_configurations.depth);
  *gridDim = c.grid;
  *blockDim = c.block;
  *sharedMem = c.smem;
  *static_cast<void**>(stream) = c.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* hostFun) {
  if (kernel == nullptr) return cudaErrorInvalidValue;
  // The launch stub keeps this for good and may ask before any device exists: the stub's own
  // address serves as the handle, so nothing has to be read here.
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(hostFun));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void** args,
                               std::size_t sharedMem, cudaStream_t stream) {
  return launch_stub(reinterpret_cast<const void*>(kernel), gridDim, blockDim, args, sharedMem,
                     stream);
}

}  // extern "C"
