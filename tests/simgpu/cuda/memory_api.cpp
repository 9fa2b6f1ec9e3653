// SPDX-License-Identifier: Apache-2.0
//
// Driver API: device, pinned, managed and registered memory.
//
// Context:  application threads
// Owns:     nothing; allocations live in core
// Promises: the device's size is respected
// Not here: the allocation map (core/memory/memory.cpp), copies (copy_api.cpp), pools
// (pool_api.cpp)
#include "core/memory/memory.hpp"

#include "core/work/timeline.hpp"
#include "cuda/api.hpp"

using namespace gpusim;

namespace {

int allocate_for(Context* c, MemoryKind kind, std::size_t bytes, std::uintptr_t* out) {
  return c != nullptr ? allocate(c, kind, bytes, out) : CUDA_ERROR_INVALID_CONTEXT;
}

int allocate_device(CUdeviceptr* dptr, MemoryKind kind, std::size_t bytes) {
  std::uintptr_t p = 0;
  if (dptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int result = allocate_for(current_context(), kind, bytes, &p);
  if (result == CUDA_SUCCESS) *dptr = p;
  return result;
}

int allocate_host(void** pp, std::size_t bytes) {
  std::uintptr_t p = 0;
  if (pp == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int result = allocate_for(current_context(), kPinned, bytes, &p);
  if (result == CUDA_SUCCESS) *pp = reinterpret_cast<void*>(p);
  return result;
}

int register_host(void* p, std::size_t bytes) {
  Context* c = current_context();
  if (p == nullptr || bytes == 0 || bytes > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(p))
    return CUDA_ERROR_INVALID_VALUE;
  if (c == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return register_foreign({reinterpret_cast<std::uintptr_t>(p), bytes, c->device, c, kPinned})
             ? CUDA_SUCCESS
             : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuMemGetInfo_v2(size_t* free, size_t* total) {
  GPUSIM_DRIVER_API(cuMemGetInfo_v2, free, total);
  const Context* c = current_context();
  if (c == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  if (total != nullptr) *total = c->device->total_bytes;
  if (free != nullptr) *free = c->device->total_bytes - c->device->used_bytes.load();
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  GPUSIM_DRIVER_API(cuMemAlloc_v2, dptr, bytesize);
  return GPUSIM_DONE(allocate_device(dptr, kDeviceMemory, bytesize));
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr) {
  GPUSIM_DRIVER_API(cuMemFree_v2, dptr);
  if (current_context() != nullptr) synchronize_context(current_context());
  return GPUSIM_DONE(release(dptr));
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  GPUSIM_DRIVER_API(cuMemAllocManaged, dptr, bytesize, flags);
  return GPUSIM_DONE(allocate_device(dptr, kManaged, bytesize));
}

CUresult CUDAAPI cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) {
  GPUSIM_DRIVER_API(cuMemHostAlloc, pp, bytesize, Flags);
  return GPUSIM_DONE(allocate_host(pp, bytesize));
}

CUresult CUDAAPI cuMemAllocHost_v2(void** pp, size_t bytesize) {
  GPUSIM_DRIVER_API(cuMemAllocHost_v2, pp, bytesize);
  return GPUSIM_DONE(allocate_host(pp, bytesize));
}

CUresult CUDAAPI cuMemFreeHost(void* p) {
  GPUSIM_DRIVER_API(cuMemFreeHost, p);
  return GPUSIM_DONE(release(address(p)));
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  GPUSIM_DRIVER_API(cuMemGetAddressRange_v2, pbase, psize, dptr);
  Allocation a{};
  if (!find_allocation(dptr, &a)) return GPUSIM_DONE(CUDA_ERROR_NOT_FOUND);
  if (pbase != nullptr) *pbase = a.base;
  if (psize != nullptr) *psize = a.bytes;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes,
                                    size_t Height, unsigned int ElementSizeBytes) {
  GPUSIM_DRIVER_API(cuMemAllocPitch_v2, dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
  constexpr std::size_t kPitch = 512;
  const std::size_t pitch = (WidthInBytes + kPitch - 1) / kPitch * kPitch;
  const int result = allocate_device(dptr, kDeviceMemory, pitch * Height);
  if (result == CUDA_SUCCESS && pPitch != nullptr) *pPitch = pitch;
  return GPUSIM_DONE(result);
}

CUresult CUDAAPI cuMemHostRegister_v2(void* p, size_t bytesize, unsigned int Flags) {
  GPUSIM_DRIVER_API(cuMemHostRegister_v2, p, bytesize, Flags);
  return GPUSIM_DONE(register_host(p, bytesize));
}

CUresult CUDAAPI cuMemHostUnregister(void* p) {
  GPUSIM_DRIVER_API(cuMemHostUnregister, p);
  return GPUSIM_DONE(unregister_foreign(address(p), nullptr)
                         ? CUDA_SUCCESS
                         : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
  GPUSIM_DRIVER_API(cuMemHostGetDevicePointer_v2, pdptr, p, Flags);
  if (pdptr == nullptr || memory_kind(address(p)) != kPinned)
    return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *pdptr = address(p);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned int* pFlags, void* p) {
  GPUSIM_DRIVER_API(cuMemHostGetFlags, pFlags, p);
  if (pFlags == nullptr || memory_kind(address(p)) != kPinned)
    return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *pFlags = CU_MEMHOSTALLOC_DEVICEMAP;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                                CUmemLocation location) {
  GPUSIM_DRIVER_API(cuMemAdvise_v2, devPtr, count, advice, location);
  return GPUSIM_DONE(memory_kind(devPtr) == kManaged ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                       unsigned int flags, CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemPrefetchAsync_v2, devPtr, count, location, flags, hStream);
  if (stream_of(hStream) == nullptr) return GPUSIM_DONE(stream_error());
  return GPUSIM_DONE(memory_kind(devPtr) == kManaged ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

}  // extern "C"
