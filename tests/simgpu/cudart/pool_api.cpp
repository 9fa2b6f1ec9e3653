// SPDX-License-Identifier: Apache-2.0
//
// Runtime API: stream-ordered allocation and memory pools.
//
// Context:  application threads
// Owns:     one default pool for each device, and pools the program makes
// Promises: what a stream frees is given back when its turn comes
// Not here: the allocation map (core/memory/memory.cpp)
#include <atomic>
#include <cstring>
#include <memory>

#include "core/memory/memory.hpp"
#include "core/work/timeline.hpp"
#include "cudart/api.hpp"

using namespace gpusim;

namespace {

/// What a cudaMemPool_t points to. Pools do not cache: the device's own count is the pool's.
struct Pool {
  std::uint32_t magic = kLive;
  Device* device = nullptr;
  std::atomic<std::uint64_t> release_threshold{0};
  std::atomic<std::uint64_t> used_high{0};
};

Pool* default_pool(Device* device) {
  static auto* const mutex = new std::mutex;
  static Pool* pools[kMaxDevices] = {};
  const std::lock_guard<std::mutex> lock(*mutex);
  Pool*& p = pools[device->ordinal];
  if (p == nullptr) {
    p = new Pool;
    p->device = device;
  }
  return p;
}

void note_use(Pool* pool) {
  const std::uint64_t used = pool->device->used_bytes.load();
  std::uint64_t high = pool->used_high.load();
  while (used > high && !pool->used_high.compare_exchange_weak(high, used)) {
  }
}

int allocate_from(Pool* pool, void** out, std::size_t bytes, cudaStream_t handle) {
  int error = cudaSuccess;
  Stream* s = runtime_stream(handle, &error);
  if (s == nullptr) return error;
  if (out == nullptr) return cudaErrorInvalidValue;
  if (pool == nullptr) pool = default_pool(s->context->device);
  *out = nullptr;
  if (bytes == 0) return cudaSuccess;
  std::uintptr_t p = 0;
  error = allocate(s->context, kDeviceMemory, bytes, &p);
  if (error != cudaSuccess) return error;
  note_use(pool);
  *out = reinterpret_cast<void*>(p);
  return cudaSuccess;
}

int pool_of_device(cudaMemPool_t* out, int device) {
  Device* d = device_at(device);
  if (out == nullptr) return cudaErrorInvalidValue;
  if (d == nullptr) return cudaErrorInvalidDevice;
  *out = reinterpret_cast<cudaMemPool_t>(default_pool(d));
  return cudaSuccess;
}

/// Attributes are 64 bits wide but for the three that switch reuse, which are int.
int get_attribute(const Pool* pool, cudaMemPoolAttr attr, void* value) {
  if (pool == nullptr || value == nullptr) return cudaErrorInvalidValue;
  std::uint64_t wide = 0;
  switch (attr) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      *static_cast<int*>(value) = 1;
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
      wide = pool->release_threshold.load();
      break;
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrUsedMemCurrent:
      wide = pool->device->used_bytes.load();
      break;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
      wide = pool->used_high.load();
      break;
    default:
      return cudaErrorInvalidValue;
  }
  std::memcpy(value, &wide, sizeof wide);
  return cudaSuccess;
}

int set_attribute(Pool* pool, cudaMemPoolAttr attr, const void* value) {
  if (pool == nullptr || value == nullptr) return cudaErrorInvalidValue;
  std::uint64_t wide = 0;
  if (attr == cudaMemPoolAttrReleaseThreshold) {
    std::memcpy(&wide, value, sizeof wide);
    pool->release_threshold = wide;
  } else if (attr == cudaMemPoolAttrReservedMemHigh || attr == cudaMemPoolAttrUsedMemHigh) {
    pool->used_high = pool->device->used_bytes.load();
  }
  return cudaSuccess;
}

int create_pool(cudaMemPool_t* out, const cudaMemPoolProps* props) {
  if (out == nullptr || props == nullptr) return cudaErrorInvalidValue;
  Device* d = device_at(props->location.id);
  if (props->location.type != cudaMemLocationTypeDevice || d == nullptr)
    return cudaErrorNotSupported;
  auto* p = new Pool;
  p->device = d;
  *out = reinterpret_cast<cudaMemPool_t>(p);
  return cudaSuccess;
}

void release_memory(void* p, std::uint64_t) { release(address(p)); }

int free_on(void* p, cudaStream_t handle) {
  int error = cudaSuccess;
  Stream* s = runtime_stream(handle, &error);
  if (s == nullptr) return error;
  Allocation a{};
  if (!find_allocation(address(p), &a) || a.base != address(p)) return cudaErrorInvalidValue;
  // A captured free comes at each launch of the graph, so the memory stays as long as the graph.
  if (s->capture == nullptr) return release_on_stream(s, address(p));
  s->capture->graph->holds.push_back(
      std::shared_ptr<GraphReference>(new GraphReference{release_memory, p, 1}));
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream) {
  GPUSIM_RUNTIME_API(cudaMallocAsync, devPtr, size, hStream);
  return GPUSIM_DONE(allocate_from(nullptr, devPtr, size, hStream));
}

cudaError_t CUDARTAPI cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool,
                                              cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaMallocFromPoolAsync, ptr, size, memPool, stream);
  Pool* pool = object<Pool>(memPool);
  if (pool == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  return GPUSIM_DONE(allocate_from(pool, ptr, size, stream));
}

cudaError_t CUDARTAPI cudaFreeAsync(void* devPtr, cudaStream_t hStream) {
  GPUSIM_RUNTIME_API(cudaFreeAsync, devPtr, hStream);
  return GPUSIM_DONE(free_on(devPtr, hStream));
}

cudaError_t CUDARTAPI cudaDeviceGetDefaultMemPool(cudaMemPool_t* memPool, int device) {
  GPUSIM_RUNTIME_API(cudaDeviceGetDefaultMemPool, memPool, device);
  return GPUSIM_DONE(pool_of_device(memPool, device));
}

cudaError_t CUDARTAPI cudaDeviceGetMemPool(cudaMemPool_t* memPool, int device) {
  GPUSIM_RUNTIME_API(cudaDeviceGetMemPool, memPool, device);
  return GPUSIM_DONE(pool_of_device(memPool, device));
}

cudaError_t CUDARTAPI cudaMemPoolCreate(cudaMemPool_t* memPool, const cudaMemPoolProps* poolProps) {
  GPUSIM_RUNTIME_API(cudaMemPoolCreate, memPool, poolProps);
  return GPUSIM_DONE(create_pool(memPool, poolProps));
}

cudaError_t CUDARTAPI cudaMemPoolDestroy(cudaMemPool_t memPool) {
  GPUSIM_RUNTIME_API(cudaMemPoolDestroy, memPool);
  Pool* p = object<Pool>(memPool);
  if (p == nullptr || p == default_pool(p->device)) return GPUSIM_DONE(cudaErrorInvalidValue);
  p->magic = kDead;
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaMemPoolGetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr,
                                              void* value) {
  GPUSIM_RUNTIME_API(cudaMemPoolGetAttribute, memPool, attr, value);
  return GPUSIM_DONE(get_attribute(object<Pool>(memPool), attr, value));
}

cudaError_t CUDARTAPI cudaMemPoolSetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr,
                                              void* value) {
  GPUSIM_RUNTIME_API(cudaMemPoolSetAttribute, memPool, attr, value);
  return GPUSIM_DONE(set_attribute(object<Pool>(memPool), attr, value));
}

cudaError_t CUDARTAPI cudaMemPoolSetAccess(cudaMemPool_t memPool, const cudaMemAccessDesc* descList,
                                           size_t count) {
  GPUSIM_RUNTIME_API(cudaMemPoolSetAccess, memPool, descList, count);
  return GPUSIM_DONE(object<Pool>(memPool) != nullptr ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t CUDARTAPI cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep) {
  GPUSIM_RUNTIME_API(cudaMemPoolTrimTo, memPool, minBytesToKeep);
  return GPUSIM_DONE(object<Pool>(memPool) != nullptr ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t CUDARTAPI cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attr,
                                                     void* value) {
  GPUSIM_RUNTIME_API(cudaDeviceGetGraphMemAttribute, device, attr, value);
  if (value == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  if (device_at(device) == nullptr) return GPUSIM_DONE(cudaErrorInvalidDevice);
  std::memset(value, 0, sizeof(std::uint64_t));
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attr,
                                                     void* value) {
  GPUSIM_RUNTIME_API(cudaDeviceSetGraphMemAttribute, device, attr, value);
  return GPUSIM_DONE(device_at(device) != nullptr ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t CUDARTAPI cudaDeviceGraphMemTrim(int device) {
  GPUSIM_RUNTIME_API(cudaDeviceGraphMemTrim, device);
  return GPUSIM_DONE(device_at(device) != nullptr ? cudaSuccess : cudaErrorInvalidDevice);
}

}  // extern "C"
