// SPDX-License-Identifier: Apache-2.0
//
// Driver API: virtual memory management, as PyTorch's expandable segments use it.
//
// Context:  application threads
// Owns:     nothing
// Promises: what could be shared between processes is refused by name
// Not here: the tables (core/memory/virtual_memory.cpp)
#include "core/memory/virtual_memory.hpp"

#include "cuda/api.hpp"
#include "stand_in/refuse.hpp"

using namespace gpusim;

namespace {

PhysicalMemory* memory_of(CUmemGenericAllocationHandle handle) {
  return reinterpret_cast<PhysicalMemory*>(handle);
}

bool on_host(CUmemLocationType type) { return type != CU_MEM_LOCATION_TYPE_DEVICE; }

int create(CUmemGenericAllocationHandle* handle, std::size_t size, const CUmemAllocationProp* p) {
  if (handle == nullptr || p == nullptr || p->type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return CUDA_ERROR_INVALID_VALUE;
  if ((p->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC) != 0)
    return gpusim_refuse("cuMemCreate (fabric handle)");
  const bool host = on_host(p->location.type);
  Device* d = device_at(host ? 0 : p->location.id);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  PhysicalMemory* m = nullptr;
  const int result = create_memory(d, host, size, &m);
  if (result == CUDA_SUCCESS) *handle = reinterpret_cast<CUmemGenericAllocationHandle>(m);
  return result;
}

/// The context whose memory a mapping counts as: the device's primary one. Mappings belong to no
/// context in the real driver, so this may be the first use of the device.
Context* context_for(const PhysicalMemory* memory) {
  Context* primary = memory->device->primary;
  return primary != nullptr ? primary : retain_primary(memory->device);
}

int map(CUdeviceptr ptr, std::size_t size, std::size_t offset, PhysicalMemory* memory) {
  if (offset != 0 || !live(memory)) return CUDA_ERROR_INVALID_VALUE;
  return map_memory(ptr, size, memory, context_for(memory));
}

int describe(CUmemAllocationProp* prop, const PhysicalMemory* m) {
  if (prop == nullptr || !live(m)) return CUDA_ERROR_INVALID_VALUE;
  *prop = {};
  prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop->location.type = m->host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  prop->location.id = m->device->ordinal;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                               CUmemAllocationGranularity_flags option) {
  GPUSIM_DRIVER_API(cuMemGetAllocationGranularity, granularity, prop, option);
  if (granularity == nullptr || prop == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *granularity = kMappingGranule;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment,
                                     CUdeviceptr addr, unsigned long long flags) {
  GPUSIM_DRIVER_API(cuMemAddressReserve, ptr, size, alignment, addr, flags);
  std::uintptr_t base = 0;
  if (ptr == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  const int result = reserve_range(size, alignment, addr, &base);
  if (result == CUDA_SUCCESS) *ptr = base;
  return GPUSIM_DONE(result);
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  GPUSIM_DRIVER_API(cuMemAddressFree, ptr, size);
  return GPUSIM_DONE(free_range(ptr, size));
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                             const CUmemAllocationProp* prop, unsigned long long flags) {
  GPUSIM_DRIVER_API(cuMemCreate, handle, size, prop, flags);
  return GPUSIM_DONE(create(handle, size, prop));
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle) {
  GPUSIM_DRIVER_API(cuMemRelease, handle);
  return GPUSIM_DONE(release_memory(memory_of(handle)));
}

CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags) {
  GPUSIM_DRIVER_API(cuMemMap, ptr, size, offset, handle, flags);
  return GPUSIM_DONE(map(ptr, size, offset, memory_of(handle)));
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size) {
  GPUSIM_DRIVER_API(cuMemUnmap, ptr, size);
  return GPUSIM_DONE(unmap_memory(ptr, size));
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc,
                                size_t count) {
  GPUSIM_DRIVER_API(cuMemSetAccess, ptr, size, desc, count);
  if (desc == nullptr || count == 0) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  // Host pages have one protection for all devices: the widest that is asked for.
  bool read = false, write = false;
  for (std::size_t i = 0; i < count; ++i) {
    read = read || desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    write = write || desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  return GPUSIM_DONE(set_access(ptr, size, read, write));
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  GPUSIM_DRIVER_API(cuMemRetainAllocationHandle, handle, addr);
  PhysicalMemory* m = nullptr;
  if (handle == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  const int result = retain_memory(reinterpret_cast<std::uintptr_t>(addr), &m);
  if (result == CUDA_SUCCESS) *handle = reinterpret_cast<CUmemGenericAllocationHandle>(m);
  return GPUSIM_DONE(result);
}

CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                        CUmemGenericAllocationHandle handle) {
  GPUSIM_DRIVER_API(cuMemGetAllocationPropertiesFromHandle, prop, handle);
  return GPUSIM_DONE(describe(prop, memory_of(handle)));
}

}  // extern "C"
