// SPDX-License-Identifier: Apache-2.0
//
// Driver API: what lies behind an address.
//
// Context:  application threads
// Owns:     nothing
// Promises: an unknown address is an error for one attribute, zeros for several, as with the real
//           driver
// Not here: the allocation map (core/memory/memory.cpp)
#include <cstring>

#include "core/memory/memory.hpp"
#include "cuda/api.hpp"

using namespace gpusim;

namespace {

template <typename T>
int give(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

bool host_reachable(const Allocation& a) { return a.kind == kPinned || a.kind == kManaged; }

unsigned memory_type(const Allocation& a) {
  return a.kind == kPinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

int describe(void* data, CUpointer_attribute attribute, const Allocation& a, std::uintptr_t p) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return give(data, a.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give(data, memory_type(a));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return give(data, p);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return host_reachable(a) ? give(data, p) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return give(data, a.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return give(data, a.bytes);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return give(data, unsigned{a.kind == kManaged});
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return give(data, a.device->ordinal);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return give(data, 1u);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return give(data, 0u);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return give(data, std::uint64_t{CU_MEM_HANDLE_TYPE_NONE});
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return give(data, unsigned{CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE});
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return give(data, static_cast<void*>(nullptr));
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

std::size_t width_of(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return 4;
    default:
      return 8;
  }
}

int get_one(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  Allocation a{};
  if (data == nullptr || !find_allocation(ptr, &a)) return CUDA_ERROR_INVALID_VALUE;
  return describe(data, attribute, a, ptr);
}

int get_several(unsigned count, const CUpointer_attribute* attributes, void** data,
                CUdeviceptr ptr) {
  if (attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memset(data[i], 0, width_of(attributes[i]));
    if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) give(data[i], -2);
    get_one(data[i], attributes[i], ptr);
  }
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  GPUSIM_DRIVER_API(cuPointerGetAttribute, data, attribute, ptr);
  return GPUSIM_DONE(get_one(data, attribute, ptr));
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes,
                                        void** data, CUdeviceptr ptr) {
  GPUSIM_DRIVER_API(cuPointerGetAttributes, numAttributes, attributes, data, ptr);
  return GPUSIM_DONE(get_several(numAttributes, attributes, data, ptr));
}

CUresult CUDAAPI cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                                       CUdeviceptr ptr) {
  GPUSIM_DRIVER_API(cuPointerSetAttribute, value, attribute, ptr);
  Allocation a{};
  const bool fine =
      value != nullptr && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && find_allocation(ptr, &a);
  return GPUSIM_DONE(fine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

}  // extern "C"
