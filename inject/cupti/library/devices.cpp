// SPDX-License-Identifier: Apache-2.0
//
// Device attributes by the driver API.
//
// Context:  worker (fill_device_info: callback, the one function callbacks call here)
// Owns:     the table
#include "inject/cupti/library/devices.hpp"

#include <cuda.h>

#include <atomic>
#include <cstring>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/recorder.hpp"

namespace gpuprof::cupti {

namespace {

constexpr int kMaxDevices = 16;

struct Known {
  wire::DeviceInfo info;
  char name[256];
};
constinit Known g_devices[kMaxDevices] = {};
// release; pairs with the acquire in fill_device_info: the table is written once, before.
constinit std::atomic<int> g_device_count{0};

struct Attribute {
  CUdevice_attribute attribute;
  std::uint32_t wire::DeviceInfo::*field;
};
constexpr Attribute kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &wire::DeviceInfo::compute_major},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &wire::DeviceInfo::compute_minor},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &wire::DeviceInfo::sm_count},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &wire::DeviceInfo::warp_size},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &wire::DeviceInfo::max_threads_per_block},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &wire::DeviceInfo::max_threads_per_sm},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &wire::DeviceInfo::max_blocks_per_sm},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &wire::DeviceInfo::registers_per_block},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &wire::DeviceInfo::registers_per_sm},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &wire::DeviceInfo::shared_per_block_bytes},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
     &wire::DeviceInfo::shared_per_sm_bytes},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
     &wire::DeviceInfo::shared_per_block_optin_bytes},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
     &wire::DeviceInfo::shared_reserved_bytes},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &wire::DeviceInfo::clock_khz},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &wire::DeviceInfo::memory_clock_khz},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &wire::DeviceInfo::memory_bus_bits},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &wire::DeviceInfo::l2_bytes},
};

template <typename F>
F find(const Driver& driver, const char* name, const char* older = nullptr) {
  void* function = driver.handle.symbol(name);
  if (function == nullptr && older != nullptr) function = driver.handle.symbol(older);
  return reinterpret_cast<F>(function);
}

/// The driver functions needed, by the names they have had since CUDA 11.
struct Queries {
  explicit Queries(const Driver& driver)
      : count(find<CUresult (*)(int*)>(driver, "cuDeviceGetCount")),
        get(find<CUresult (*)(CUdevice*, int)>(driver, "cuDeviceGet")),
        name(find<CUresult (*)(char*, int, CUdevice)>(driver, "cuDeviceGetName")),
        uuid(
            find<CUresult (*)(CUuuid*, CUdevice)>(driver, "cuDeviceGetUuid_v2", "cuDeviceGetUuid")),
        memory(find<CUresult (*)(std::size_t*, CUdevice)>(driver, "cuDeviceTotalMem_v2")),
        attribute(find<CUresult (*)(int*, CUdevice_attribute, CUdevice)>(driver,
                                                                         "cuDeviceGetAttribute")) {}
  bool complete() const {
    return count != nullptr && get != nullptr && name != nullptr && attribute != nullptr;
  }

  CUresult (*count)(int*);
  CUresult (*get)(CUdevice*, int);
  CUresult (*name)(char*, int, CUdevice);
  CUresult (*uuid)(CUuuid*, CUdevice);
  CUresult (*memory)(std::size_t*, CUdevice);
  CUresult (*attribute)(int*, CUdevice_attribute, CUdevice);
};

void query_one(const Queries& ask, CUdevice device, std::uint32_t ordinal, Known* known) {
  known->info = {};
  known->info.device = ordinal;
  if (ask.name(known->name, sizeof known->name, device) != CUDA_SUCCESS) known->name[0] = '\0';
  CUuuid uuid;
  if (ask.uuid != nullptr && ask.uuid(&uuid, device) == CUDA_SUCCESS)
    std::memcpy(known->info.uuid, uuid.bytes, sizeof known->info.uuid);
  std::size_t bytes = 0;
  if (ask.memory != nullptr && ask.memory(&bytes, device) == CUDA_SUCCESS)
    known->info.total_memory_bytes = bytes;
  for (const Attribute& attribute : kAttributes) {
    int value = 0;
    if (ask.attribute(&value, attribute.attribute, device) == CUDA_SUCCESS && value > 0)
      known->info.*attribute.field = static_cast<std::uint32_t>(value);
  }
}

}  // namespace

bool query_devices(const Driver& driver) {
  if (g_device_count.load(std::memory_order_acquire) != 0) return true;
  if (!driver.handle || driver.stub) return false;
  const Queries ask(driver);
  int count = 0;
  if (!ask.complete() || ask.count(&count) != CUDA_SUCCESS || count <= 0) return false;
  if (count > kMaxDevices) count = kMaxDevices;
  for (int i = 0; i < count; ++i) {
    CUdevice device;
    if (ask.get(&device, i) == CUDA_SUCCESS)
      query_one(ask, device, static_cast<std::uint32_t>(i), &g_devices[i]);
  }
  g_device_count.store(count, std::memory_order_release);
  return true;
}

void record_devices() {
  // This thread delivers what a flush brings, too.
  const hot::Guard guard(hot::RingRole::kCallback, true);
  if (!guard) return;
  const std::uint64_t now_ns = base::mono_ns();
  const int count = g_device_count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    wire::DeviceInfo info = g_devices[i].info;
    info.name_id = hot::intern(guard, g_devices[i].name,
                               static_cast<std::uint32_t>(std::strlen(g_devices[i].name)), now_ns);
    hot::record(guard, info, now_ns);
  }
}

void fill_device_info(wire::DeviceInfo* info) {
  const int count = g_device_count.load(std::memory_order_acquire);
  if (info->device >= static_cast<std::uint32_t>(count)) return;
  const wire::DeviceInfo& known = g_devices[info->device].info;
  for (const Attribute& attribute : kAttributes)
    if (info->*attribute.field == 0) info->*attribute.field = known.*attribute.field;
}

}  // namespace gpuprof::cupti
