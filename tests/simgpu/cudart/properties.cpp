// SPDX-License-Identifier: Apache-2.0
//
// Fills cudaDeviceProp from the device attributes.
//
// Context:  application threads
// Owns:     nothing
// Promises: see properties.hpp
// Not here: the numbers
#include "cudart/properties.hpp"

#include <cuda.h>

#include <cstdio>
#include <cstring>

namespace gpusim {
namespace {

class Attributes {
 public:
  explicit Attributes(const Device& d) : device_(d) {}
  int operator()(CUdevice_attribute a) const {
    return device_attribute(device_.model, device_.physical, a);
  }
  std::size_t size(CUdevice_attribute a) const { return static_cast<std::size_t>((*this)(a)); }

 private:
  const Device& device_;
};

void fill_shape(const Attributes& get, cudaDeviceProp* p) {
  p->maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  p->maxThreadsDim[0] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  p->maxThreadsDim[1] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  p->maxThreadsDim[2] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  p->maxGridSize[0] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  p->maxGridSize[1] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  p->maxGridSize[2] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  p->warpSize = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  p->regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  p->regsPerMultiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  p->multiProcessorCount = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  p->maxThreadsPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  p->maxBlocksPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
}

void fill_memory(const Device& d, const Attributes& get, cudaDeviceProp* p) {
  p->totalGlobalMem = d.total_bytes;
  p->totalConstMem = get.size(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  p->sharedMemPerBlock = get.size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  p->sharedMemPerBlockOptin = get.size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  p->sharedMemPerMultiprocessor =
      get.size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  p->reservedSharedMemPerBlock = get.size(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  p->memPitch = get.size(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  p->l2CacheSize = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  p->persistingL2CacheMaxSize = d.model.cc_major >= 8 ? p->l2CacheSize / 4 * 3 : 0;
  p->accessPolicyMaxWindowSize = d.model.cc_major >= 8 ? 134213632 : 0;
  p->memoryBusWidth = get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  p->textureAlignment = get.size(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  p->texturePitchAlignment = 32;
  p->surfaceAlignment = 512;
}

void fill_abilities(const Device& d, const Attributes& get, cudaDeviceProp* p) {
  p->major = d.model.cc_major;
  p->minor = d.model.cc_minor;
  p->canMapHostMemory = get(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  p->concurrentKernels = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  p->ECCEnabled = get(CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
  p->asyncEngineCount = get(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  p->unifiedAddressing = get(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  p->streamPrioritiesSupported = get(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
  p->globalL1CacheSupported = get(CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED);
  p->localL1CacheSupported = get(CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED);
  p->managedMemory = get(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  p->concurrentManagedAccess = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  p->computePreemptionSupported = get(CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED);
  p->canUseHostPointerForRegisteredMem = 1;
  p->cooperativeLaunch = get(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  p->hostRegisterSupported = 1;
  p->memoryPoolsSupported = get(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  p->clusterLaunch = d.model.cc_major >= 9 ? 1 : 0;
  p->unifiedFunctionPointers = 1;
}

}  // namespace

void fill_properties(const Device& device, cudaDeviceProp* p) {
  const Attributes get(device);
  std::memset(p, 0, sizeof *p);
  std::snprintf(p->name, sizeof p->name, "%s", device.name);
  std::memcpy(&p->uuid, device.uuid, sizeof p->uuid);
  p->pciBusID = get(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  p->gpuPciDeviceID = 0;
  fill_shape(get, p);
  fill_memory(device, get, p);
  fill_abilities(device, get, p);
}

}  // namespace gpusim
