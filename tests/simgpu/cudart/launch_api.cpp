// SPDX-License-Identifier: Apache-2.0
//
// Runtime API: launches, attributes and occupancy of kernels.
//
// Context:  application threads
// Owns:     nothing
// Promises: a launch that a device could not take gives the error the real runtime gives
// Not here: figures and checks (core/work/kernels.cpp)
#include "cudart/launch.hpp"

#include <algorithm>
#include <cstring>

#include "core/work/kernels.hpp"
#include "cudart/api.hpp"
#include "cudart/registry.hpp"

using namespace gpusim;

namespace {

LaunchShape shape_of(const dim3& grid, const dim3& block, std::size_t smem, bool cooperative) {
  return {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, {}, smem, cooperative};
}

/// Reads cluster and cooperative out of launch attributes.
void read_attributes(const cudaLaunchConfig_t& config, LaunchShape* shape) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& a = config.attrs[i];
    if (a.id == cudaLaunchAttributeCooperative) shape->cooperative = a.val.cooperative != 0;
    if (a.id != cudaLaunchAttributeClusterDimension) continue;
    shape->cluster[0] = a.val.clusterDim.x;
    shape->cluster[1] = a.val.clusterDim.y;
    shape->cluster[2] = a.val.clusterDim.z;
  }
}

int launch(const Function* f, cudaStream_t handle, const LaunchShape& shape) {
  if (f == nullptr) return cudaErrorInvalidDeviceFunction;
  int error = cudaSuccess;
  Stream* s = runtime_stream(handle, &error);
  if (s == nullptr) return error;
  error = check_launch(*f, s->context->device->model, shape);
  return error == cudaSuccess ? launch_function(*f, s, shape) : error;
}

const char* name_of(const Function* f) { return f != nullptr ? f->name : nullptr; }

int occupancy(int* out, const void* func, int block, std::size_t dynamic) {
  int error = cudaSuccess;
  const Function* f = function_at(func);
  const Context* c = runtime_context(&error);
  if (c == nullptr) return error;
  if (out == nullptr) return cudaErrorInvalidValue;
  if (f == nullptr) return cudaErrorInvalidDeviceFunction;
  *out = resident_blocks(*f, c->device->model, block, dynamic);
  return cudaSuccess;
}

int set_attribute(Function* f, cudaFuncAttribute attr, int value) {
  const DeviceModel& m = device_model(config().model);
  if (f == nullptr) return cudaErrorInvalidDeviceFunction;
  if (attr != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || value + static_cast<int>(f->static_smem) > m.smem_per_block_optin)
    return cudaErrorInvalidValue;
  f->max_dynamic_smem = value;
  return cudaSuccess;
}

int get_attributes(cudaFuncAttributes* attr, const Function* f) {
  if (attr == nullptr) return cudaErrorInvalidValue;
  if (f == nullptr) return cudaErrorInvalidDeviceFunction;
  const DeviceModel& m = device_model(config().model);
  std::memset(attr, 0, sizeof *attr);
  attr->sharedSizeBytes = f->static_smem;
  attr->localSizeBytes = f->local_bytes;
  attr->maxThreadsPerBlock = f->max_threads;
  attr->numRegs = f->registers;
  attr->binaryVersion = f->architecture != 0 ? f->architecture : m.cc_major * 10 + m.cc_minor;
  attr->ptxVersion = attr->binaryVersion;
  attr->maxDynamicSharedSizeBytes = f->max_dynamic_smem;
  attr->preferredShmemCarveout = -1;
  return cudaSuccess;
}

int cluster_count(int* out, const void* func, const cudaLaunchConfig_t* config) {
  if (out == nullptr || config == nullptr) return cudaErrorInvalidValue;
  const dim3 b = config->blockDim;
  int blocks = 0;
  const int error =
      occupancy(&blocks, func, static_cast<int>(b.x * b.y * b.z), config->dynamicSmemBytes);
  if (error != cudaSuccess) return error;
  LaunchShape shape{};
  read_attributes(*config, &shape);
  const unsigned size = std::max(1u, shape.cluster[0]) * std::max(1u, shape.cluster[1]) *
                        std::max(1u, shape.cluster[2]);
  *out = blocks * device_model(gpusim::config().model).sm_count / static_cast<int>(size);
  return cudaSuccess;
}

}  // namespace

cudaError_t gpusim::launch_stub(const void* function, dim3 grid, dim3 block, void** args,
                                std::size_t dynamic_smem, cudaStream_t stream) {
  const Function* f = function_at(function);
  const GPUSIM_PARAMS_cudaLaunchKernel p{function, grid, block, args, dynamic_smem, stream};
  GPUSIM_RUNTIME_FRAME(cudaLaunchKernel, &p, name_of(f));
  return GPUSIM_DONE(launch(f, stream, shape_of(grid, block, dynamic_smem, false)));
}

extern "C" {

cudaError_t CUDARTAPI cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args,
                                       size_t sharedMem, cudaStream_t stream) {
  return launch_stub(func, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t CUDARTAPI cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func,
                                          void** args) {
  const Function* f = function_at(func);
  const GPUSIM_PARAMS_cudaLaunchKernelExC p{config, func, args};
  GPUSIM_RUNTIME_FRAME(cudaLaunchKernelExC, &p, name_of(f));
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr))
    return GPUSIM_DONE(cudaErrorInvalidValue);
  LaunchShape shape = shape_of(config->gridDim, config->blockDim, config->dynamicSmemBytes, false);
  read_attributes(*config, &shape);
  return GPUSIM_DONE(launch(f, config->stream, shape));
}

cudaError_t CUDARTAPI cudaLaunchCooperativeKernel(const void* func, dim3 gridDim, dim3 blockDim,
                                                  void** args, size_t sharedMem,
                                                  cudaStream_t stream) {
  const Function* f = function_at(func);
  const GPUSIM_PARAMS_cudaLaunchCooperativeKernel p{func, gridDim,   blockDim,
                                                    args, sharedMem, stream};
  GPUSIM_RUNTIME_FRAME(cudaLaunchCooperativeKernel, &p, name_of(f));
  return GPUSIM_DONE(launch(f, stream, shape_of(gridDim, blockDim, sharedMem, true)));
}

cudaError_t CUDARTAPI cudaFuncGetAttributes(cudaFuncAttributes* attr, const void* func) {
  GPUSIM_RUNTIME_API(cudaFuncGetAttributes, attr, func);
  return GPUSIM_DONE(get_attributes(attr, function_at(func)));
}

cudaError_t CUDARTAPI cudaFuncSetAttribute(const void* func, cudaFuncAttribute attr, int value) {
  GPUSIM_RUNTIME_API(cudaFuncSetAttribute, func, attr, value);
  return GPUSIM_DONE(set_attribute(function_at(func), attr, value));
}

cudaError_t CUDARTAPI cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attr,
                                                      int value, int device) {
  GPUSIM_RUNTIME_API(cudaKernelSetAttributeForDevice, kernel, attr, value, device);
  if (device_at(device) == nullptr) return GPUSIM_DONE(cudaErrorInvalidDevice);
  return GPUSIM_DONE(
      set_attribute(function_at(reinterpret_cast<const void*>(kernel)), attr, value));
}

cudaError_t CUDARTAPI cudaFuncSetCacheConfig(const void* func, cudaFuncCache cacheConfig) {
  GPUSIM_RUNTIME_API(cudaFuncSetCacheConfig, func, cacheConfig);
  return GPUSIM_DONE(function_at(func) != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

cudaError_t CUDARTAPI cudaFuncGetName(const char** name, const void* func) {
  GPUSIM_RUNTIME_API(cudaFuncGetName, name, func);
  const Function* f = function_at(func);
  if (name == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  *name = name_of(f);
  return GPUSIM_DONE(f != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks,
                                                                    const void* func, int blockSize,
                                                                    size_t dynamicSMemSize) {
  GPUSIM_RUNTIME_API(cudaOccupancyMaxActiveBlocksPerMultiprocessor, numBlocks, func, blockSize,
                     dynamicSMemSize);
  return GPUSIM_DONE(occupancy(numBlocks, func, blockSize, dynamicSMemSize));
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* numBlocks, const void* func, int blockSize, size_t dynamicSMemSize, unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, numBlocks, func,
                     blockSize, dynamicSMemSize, flags);
  return GPUSIM_DONE(occupancy(numBlocks, func, blockSize, dynamicSMemSize));
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveClusters(int* numClusters, const void* func,
                                                     const cudaLaunchConfig_t* launchConfig) {
  GPUSIM_RUNTIME_API(cudaOccupancyMaxActiveClusters, numClusters, func, launchConfig);
  return GPUSIM_DONE(cluster_count(numClusters, func, launchConfig));
}

}  // extern "C"
