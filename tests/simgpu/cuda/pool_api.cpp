// SPDX-License-Identifier: Apache-2.0
//
// Driver API: stream-ordered allocation and memory pools.
//
// Context:  application threads
// Owns:     pools until the process ends
// Promises: attributes read back as they were set; a pool keeps nothing of its own, memory goes
//           back to the device when it is freed
// Not here: allocations (core/memory/memory.cpp)
#include "core/memory/memory.hpp"
#include "core/work/timeline.hpp"
#include "cuda/api.hpp"

using namespace gpusim;

namespace {

constexpr int kAttributes = CU_MEMPOOL_ATTR_USED_MEM_HIGH + 1;

struct Pool {
  std::uint32_t magic = kLive;
  Device* device = nullptr;
  std::atomic<std::uint64_t> attributes[kAttributes] = {};
};

Pool* make_pool(Device* device) {
  auto* pool = new Pool;
  pool->device = device;
  for (int on :
       {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
        CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES})
    pool->attributes[on] = 1;
  return pool;
}

Pool* pool_of(CUmemoryPool handle) {
  auto* pool = reinterpret_cast<Pool*>(handle);
  return live(pool) ? pool : nullptr;
}

struct DevicePools {
  std::atomic<Pool*> standard{nullptr}, current{nullptr};
};

DevicePools& pools_of(const Device& device) {
  static auto* const all = new DevicePools[kMaxDevices];
  static auto* const mutex = new std::mutex;
  const std::lock_guard<std::mutex> lock(*mutex);
  DevicePools& pools = all[device.ordinal];
  if (pools.standard.load() == nullptr) {
    pools.standard = make_pool(driver().devices[device.ordinal]);
    pools.current = pools.standard.load();
  }
  return pools;
}

bool is_counter(CUmemPool_attribute attr) { return attr >= CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT; }

bool is_wide(CUmemPool_attribute attr) { return attr >= CU_MEMPOOL_ATTR_RELEASE_THRESHOLD; }

bool known(CUmemPool_attribute attr) { return attr >= 1 && attr < kAttributes; }

int get_attribute(const Pool* pool, CUmemPool_attribute attr, void* value) {
  if (pool == nullptr || value == nullptr || !known(attr)) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t v =
      is_counter(attr) ? pool->device->used_bytes.load() : pool->attributes[attr].load();
  if (is_wide(attr))
    *static_cast<cuuint64_t*>(value) = v;
  else
    *static_cast<int*>(value) = static_cast<int>(v);
  return CUDA_SUCCESS;
}

int set_attribute(Pool* pool, CUmemPool_attribute attr, const void* value) {
  if (pool == nullptr || value == nullptr || !known(attr)) return CUDA_ERROR_INVALID_VALUE;
  pool->attributes[attr] = is_wide(attr)
                               ? *static_cast<const cuuint64_t*>(value)
                               : static_cast<std::uint64_t>(*static_cast<const int*>(value));
  return CUDA_SUCCESS;
}

int allocate_on(CUdeviceptr* dptr, std::size_t bytes, Stream* stream) {
  std::uintptr_t p = 0;
  if (dptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream == nullptr) return stream_error();
  const int result = allocate(stream->context, kDeviceMemory, bytes, &p);
  if (result == CUDA_SUCCESS) *dptr = p;
  return result;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemAllocAsync, dptr, bytesize, hStream);
  return GPUSIM_DONE(allocate_on(dptr, bytesize, stream_of(hStream)));
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                         CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemAllocFromPoolAsync, dptr, bytesize, pool, hStream);
  if (pool_of(pool) == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  return GPUSIM_DONE(allocate_on(dptr, bytesize, stream_of(hStream)));
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemFreeAsync, dptr, hStream);
  Stream* s = stream_of(hStream);
  return GPUSIM_DONE(s != nullptr ? release_on_stream(s, dptr) : stream_error());
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
  GPUSIM_DRIVER_API(cuDeviceGetDefaultMemPool, pool_out, dev);
  const Device* d = device_at(dev);
  if (pool_out == nullptr || d == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  *pool_out = reinterpret_cast<CUmemoryPool>(pools_of(*d).standard.load());
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  GPUSIM_DRIVER_API(cuDeviceGetMemPool, pool, dev);
  const Device* d = device_at(dev);
  if (pool == nullptr || d == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  *pool = reinterpret_cast<CUmemoryPool>(pools_of(*d).current.load());
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  GPUSIM_DRIVER_API(cuDeviceSetMemPool, dev, pool);
  const Device* d = device_at(dev);
  Pool* p = pool_of(pool);
  if (p == nullptr || d == nullptr || p->device != d) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  pools_of(*d).current = p;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  GPUSIM_DRIVER_API(cuMemPoolCreate, pool, poolProps);
  if (pool == nullptr || poolProps == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  if (poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
    return GPUSIM_DONE(CUDA_ERROR_NOT_SUPPORTED);
  Device* d = device_at(poolProps->location.id);
  if (d == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  *pool = reinterpret_cast<CUmemoryPool>(make_pool(d));
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool) {
  GPUSIM_DRIVER_API(cuMemPoolDestroy, pool);
  Pool* p = pool_of(pool);
  if (p == nullptr || p == pools_of(*p->device).standard.load())
    return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  DevicePools& pools = pools_of(*p->device);
  Pool* expected = p;
  pools.current.compare_exchange_strong(expected, pools.standard.load());
  p->magic = kDead;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  GPUSIM_DRIVER_API(cuMemPoolGetAttribute, pool, attr, value);
  return GPUSIM_DONE(get_attribute(pool_of(pool), attr, value));
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  GPUSIM_DRIVER_API(cuMemPoolSetAttribute, pool, attr, value);
  return GPUSIM_DONE(set_attribute(pool_of(pool), attr, value));
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
  GPUSIM_DRIVER_API(cuMemPoolTrimTo, pool, minBytesToKeep);
  return GPUSIM_DONE(pool_of(pool) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  GPUSIM_DRIVER_API(cuMemPoolSetAccess, pool, map, count);
  return GPUSIM_DONE(pool_of(pool) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool memPool,
                                    CUmemLocation* location) {
  GPUSIM_DRIVER_API(cuMemPoolGetAccess, flags, memPool, location);
  if (flags == nullptr || location == nullptr || pool_of(memPool) == nullptr)
    return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

}  // extern "C"
