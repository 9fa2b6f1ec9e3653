// SPDX-License-Identifier: Apache-2.0
//
// Attribute tables of the simulated GPUs.
//
// Context:  any
// Owns:     nothing
// Promises: pure functions
// Not here: device state
#include "core/device_model.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <cuda.h>

namespace gpusim {
namespace {

constexpr DeviceModel kModels[] = {
    {"H100", 9, 0, 132, 2048, 32, 233472, 232448, 1024, 52428800, 1980000, 2619000, 5120,
     85029158912ull, 3352.0},
    {"A100", 8, 0, 108, 2048, 32, 167936, 166912, 1024, 41943040, 1410000, 1215000, 5120,
     42505207808ull, 1555.0},
    {"V100", 7, 0, 80, 2048, 32, 98304, 98304, 0, 6291456, 1530000, 877000, 4096, 16935419904ull,
     898.0},
};

struct Row {
  int attribute;
  int value;
};

/// Attributes that are the same on all three models.
constexpr Row kCommon[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
};

int model_attribute(const DeviceModel& m, int attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return m.clock_khz;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return m.sm_count;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return m.memory_clock_khz;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return m.bus_bits;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return m.l2_bytes;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return m.max_threads_per_sm;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return m.cc_major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return m.cc_minor;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return m.smem_per_sm;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return m.smem_per_block_optin;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      return m.max_blocks_per_sm;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
      return m.cc_major >= 9 ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
      return m.reserved_smem_per_block;
    default:
      return 0;
  }
}

}  // namespace

const DeviceModel& device_model(Model model) { return kModels[static_cast<int>(model)]; }

int device_attribute(const DeviceModel& m, int ordinal, int attribute) {
  if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) return 0x10 + ordinal;
  for (const Row& row : kCommon)
    if (row.attribute == attribute) return row.value;
  return model_attribute(m, attribute);
}

void device_name(const DeviceModel& m, char* out, std::size_t length) {
  std::snprintf(out, length, "Simulated GPU (gpuprof, %s)", m.label);
}

void device_uuid_text(int ordinal, char* out, std::size_t length) {
  unsigned char u[16];
  device_uuid(ordinal, u);
  std::snprintf(out, length,
                "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
                u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
                u[14], u[15]);
}

void device_uuid(int ordinal, unsigned char* bytes) {
  std::memset(bytes, 0, 16);
  std::memcpy(bytes, "SIMgpuprof", 10);
  bytes[15] = static_cast<unsigned char>(ordinal);
}

int max_active_blocks(const DeviceModel& m, int threads, int registers, int smem_bytes) {
  if (threads <= 0 || threads > 1024) return 0;
  const int warps = (threads + 31) / 32;
  int blocks = std::min(m.max_blocks_per_sm, m.max_threads_per_sm / (warps * 32));
  if (registers > 0) {
    const int per_warp = (registers * 32 + 255) / 256 * 256;
    blocks = std::min(blocks, 65536 / (per_warp * ((warps + 3) / 4 * 4)));
  }
  const int granule = m.cc_major >= 8 ? 128 : 256;
  const int smem = (smem_bytes + m.reserved_smem_per_block + granule - 1) / granule * granule;
  if (smem > 0) blocks = std::min(blocks, m.smem_per_sm / smem);
  return blocks;
}

}  // namespace gpusim
