// SPDX-License-Identifier: Apache-2.0
//
// Runtime API: allocation of device, pinned and managed memory.
//
// Context:  application threads
// Owns:     nothing; allocations live in core
// Promises: a device refuses more than it has, with cudaErrorMemoryAllocation
// Not here: copies (copy_api.cpp), pools (pool_api.cpp)
#include "core/memory/memory.hpp"

#include <cstring>

#include "core/work/timeline.hpp"
#include "cudart/api.hpp"

using namespace gpusim;

namespace {

int allocate_current(void** out, std::size_t bytes, MemoryKind kind) {
  int error = cudaSuccess;
  Context* c = runtime_context(&error);
  if (c == nullptr) return error;
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  if (bytes == 0) return cudaSuccess;
  std::uintptr_t p = 0;
  error = allocate(c, kind, bytes, &p);
  if (error == cudaSuccess) *out = reinterpret_cast<void*>(p);
  return error;
}

/// Freeing waits for the device, as the real call does.
int release_current(const void* p) {
  int error = cudaSuccess;
  const Context* c = runtime_context(&error);
  if (c == nullptr) return error;
  if (p == nullptr) return cudaSuccess;
  Allocation a{};
  if (!find_allocation(address(p), &a) || a.base != address(p)) return cudaErrorInvalidValue;
  synchronize_context(a.context);
  return release(address(p));
}

int register_host(void* p, std::size_t bytes) {
  int error = cudaSuccess;
  Context* c = runtime_context(&error);
  if (c == nullptr) return error;
  if (p == nullptr || bytes == 0 || bytes > UINTPTR_MAX - address(p)) return cudaErrorInvalidValue;
  Allocation a{};
  if (find_allocation(address(p), &a)) return cudaErrorHostMemoryAlreadyRegistered;
  const Allocation whole{address(p), bytes, c->device, c, kPinned, true};
  return register_foreign(whole) ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
}

int unregister_host(const void* p) {
  Allocation a{};
  if (p == nullptr) return cudaErrorInvalidValue;
  if (!find_allocation(address(p), &a) || a.base != address(p) || !a.borrowed)
    return cudaErrorHostMemoryNotRegistered;
  return unregister_foreign(address(p), nullptr) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

cudaMemoryType type_of(MemoryKind kind) {
  switch (kind) {
    case kPinned:
      return cudaMemoryTypeHost;
    case kDeviceMemory:
      return cudaMemoryTypeDevice;
    case kManaged:
      return cudaMemoryTypeManaged;
    default:
      return cudaMemoryTypeUnregistered;
  }
}

void describe(cudaPointerAttributes* out, const void* p) {
  std::memset(out, 0, sizeof *out);
  out->device = -1;
  Allocation a{};
  void* const same = const_cast<void*>(p);
  if (!find_allocation(address(p), &a)) {
    out->type = cudaMemoryTypeUnregistered;
    out->hostPointer = same;
    return;
  }
  out->type = type_of(a.kind);
  out->device = a.device->ordinal;
  out->devicePointer = same;
  if (a.kind != kDeviceMemory) out->hostPointer = same;
}

int device_pointer(void** out, void* host) {
  if (out == nullptr) return cudaErrorInvalidValue;
  if (memory_kind(address(host)) != kPinned) return cudaErrorInvalidValue;
  *out = host;
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaMalloc(void** devPtr, size_t size) {
  GPUSIM_RUNTIME_API(cudaMalloc, devPtr, size);
  return GPUSIM_DONE(allocate_current(devPtr, size, kDeviceMemory));
}

cudaError_t CUDARTAPI cudaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaMallocManaged, devPtr, size, flags);
  if (size == 0) return GPUSIM_DONE(cudaErrorInvalidValue);
  return GPUSIM_DONE(allocate_current(devPtr, size, kManaged));
}

cudaError_t CUDARTAPI cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
  GPUSIM_RUNTIME_API(cudaMallocPitch, devPtr, pitch, width, height);
  if (pitch == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  *pitch = (width + 511) / 512 * 512;
  return GPUSIM_DONE(allocate_current(devPtr, *pitch * height, kDeviceMemory));
}

cudaError_t CUDARTAPI cudaFree(void* devPtr) {
  GPUSIM_RUNTIME_API(cudaFree, devPtr);
  return GPUSIM_DONE(release_current(devPtr));
}

cudaError_t CUDARTAPI cudaMallocHost(void** ptr, size_t size) {
  GPUSIM_RUNTIME_API(cudaMallocHost, ptr, size);
  return GPUSIM_DONE(allocate_current(ptr, size, kPinned));
}

cudaError_t CUDARTAPI cudaHostAlloc(void** pHost, size_t size, unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaHostAlloc, pHost, size, flags);
  return GPUSIM_DONE(allocate_current(pHost, size, kPinned));
}

cudaError_t CUDARTAPI cudaFreeHost(void* ptr) {
  GPUSIM_RUNTIME_API(cudaFreeHost, ptr);
  return GPUSIM_DONE(release_current(ptr));
}

cudaError_t CUDARTAPI cudaHostRegister(void* ptr, size_t size, unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaHostRegister, ptr, size, flags);
  return GPUSIM_DONE(register_host(ptr, size));
}

cudaError_t CUDARTAPI cudaHostUnregister(void* ptr) {
  GPUSIM_RUNTIME_API(cudaHostUnregister, ptr);
  return GPUSIM_DONE(unregister_host(ptr));
}

cudaError_t CUDARTAPI cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaHostGetDevicePointer, pDevice, pHost, flags);
  return GPUSIM_DONE(device_pointer(pDevice, pHost));
}

cudaError_t CUDARTAPI cudaHostGetFlags(unsigned int* pFlags, void* pHost) {
  GPUSIM_RUNTIME_API(cudaHostGetFlags, pFlags, pHost);
  if (pFlags == nullptr || memory_kind(address(pHost)) != kPinned)
    return GPUSIM_DONE(cudaErrorInvalidValue);
  *pFlags = cudaHostAllocMapped | cudaHostAllocPortable;
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaMemGetInfo(size_t* free, size_t* total) {
  GPUSIM_RUNTIME_API(cudaMemGetInfo, free, total);
  int error = cudaSuccess;
  const Context* c = runtime_context(&error);
  if (c == nullptr) return GPUSIM_DONE(error);
  if (total != nullptr) *total = c->device->total_bytes;
  if (free != nullptr) *free = c->device->total_bytes - c->device->used_bytes.load();
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
  GPUSIM_RUNTIME_API(cudaPointerGetAttributes, attributes, ptr);
  if (attributes == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  describe(attributes, ptr);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaMemAdvise(const void* devPtr, size_t count, cudaMemoryAdvise advice,
                                    cudaMemLocation location) {
  GPUSIM_RUNTIME_API(cudaMemAdvise, devPtr, count, advice, location);
  return GPUSIM_DONE(memory_kind(address(devPtr)) == kManaged ? cudaSuccess
                                                              : cudaErrorInvalidValue);
}

}  // extern "C"
