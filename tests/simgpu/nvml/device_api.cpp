// SPDX-License-Identifier: Apache-2.0
//
// NVML: what one device says about itself.
//
// Context:  application threads
// Owns:     nothing
// Promises: memory in use is that of the calling process; figures nobody can simulate are the
//           constants of `kInvented`
// Not here: finding a device (system_api.cpp)
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "core/device_model.hpp"
#include "core/driver.hpp"
#include "core/handles.hpp"
#include "nvml/nvml.hpp"

using namespace gpusim;
using namespace gpusim::nvml;

namespace {

/// Invented: the same for every model and at every moment.
constexpr struct {
  unsigned busy_percent, memory_percent, power_mw, power_limit_mw, celsius;
} kInvented{0, 0, 90000, 400000, 35};

constexpr int kTopologyNode = 40;
constexpr int kLinkWorks = 0, kLinkNotSupported = 5;
constexpr int kReadIndex = 0, kWriteIndex = 1;

const DeviceModel& model() { return device_model(config().model); }

/// Hands out one value of a live device.
template <typename T>
int answer(const void* handle, T* out, T value) {
  if (!started()) return kUninitialized;
  if (unit_of(handle) == nullptr || out == nullptr) return kInvalidArgument;
  *out = value;
  return kSuccess;
}

Memory memory_of(const Unit& unit) {
  Memory m{};
  m.total = config().memory_bytes != 0 ? config().memory_bytes : model().memory_bytes;
  // Null before this process used the driver.
  if (const Device* d = device_at(unit.ordinal)) m.used = d->used_bytes.load();
  m.free = m.total - m.used;
  return m;
}

int clock_mhz(int domain) {
  constexpr int kMemoryClock = 2;
  return (domain == kMemoryClock ? model().memory_clock_khz : model().clock_khz) / 1000;
}

int clock(const void* device, int domain, unsigned* mhz) {
  return answer(device, mhz, static_cast<unsigned>(clock_mhz(domain)));
}

int pci_info(const void* device, PciInfo* out, std::size_t bytes) {
  const Unit* unit = unit_of(device);
  if (!started()) return kUninitialized;
  if (unit == nullptr || out == nullptr) return kInvalidArgument;
  PciInfo info{};
  info.bus = pci_bus(unit->ordinal);
  std::snprintf(info.legacy_bus_id, sizeof info.legacy_bus_id, "0000:%02x:00.0", info.bus & 0xff);
  std::snprintf(info.bus_id, sizeof info.bus_id, "00000000:%02X:00.0", info.bus & 0xff);
  std::memcpy(out, &info, bytes);
  return kSuccess;
}

/// No process is ever listed: a simulated device knows nothing of other processes.
int no_processes(const void* device, unsigned* count) { return answer(device, count, 0u); }

}  // namespace

extern "C" {

int nvmlDeviceGetName(const void* device, char* name, unsigned length) {
  if (!started()) return kUninitialized;
  if (unit_of(device) == nullptr) return kInvalidArgument;
  char text[96];
  device_name(model(), text, sizeof text);
  return copy_text(text, name, length);
}

int nvmlDeviceGetUUID(const void* device, char* uuid, unsigned length) {
  const Unit* unit = unit_of(device);
  if (!started()) return kUninitialized;
  if (unit == nullptr) return kInvalidArgument;
  char text[64];
  device_uuid_text(unit->ordinal, text, sizeof text);
  return copy_text(text, uuid, length);
}

int nvmlDeviceGetIndex(const void* device, unsigned* index) {
  const Unit* unit = unit_of(device);
  return answer(device, index, unit != nullptr ? static_cast<unsigned>(unit->ordinal) : 0u);
}
int nvmlDeviceGetMinorNumber(const void* device, unsigned* minor) {
  return nvmlDeviceGetIndex(device, minor);
}

int nvmlDeviceGetMemoryInfo(const void* device, Memory* memory) {
  const Unit* unit = unit_of(device);
  return answer(device, memory, unit != nullptr ? memory_of(*unit) : Memory{});
}

int nvmlDeviceGetMemoryInfo_v2(const void* device, MemoryV2* memory) {
  Memory m{};
  const int result = nvmlDeviceGetMemoryInfo(device, &m);
  if (result != kSuccess) return result;
  if (memory == nullptr) return kInvalidArgument;
  *memory = {memory->version, m.total, 0, m.free, m.used};
  return kSuccess;
}

int nvmlDeviceGetUtilizationRates(const void* device, Utilization* rates) {
  return answer(device, rates, Utilization{kInvented.busy_percent, kInvented.memory_percent});
}

int nvmlDeviceGetPowerUsage(const void* device, unsigned* milliwatts) {
  return answer(device, milliwatts, kInvented.power_mw);
}
int nvmlDeviceGetEnforcedPowerLimit(const void* device, unsigned* milliwatts) {
  return answer(device, milliwatts, kInvented.power_limit_mw);
}
int nvmlDeviceGetPowerManagementLimit(const void* device, unsigned* milliwatts) {
  return answer(device, milliwatts, kInvented.power_limit_mw);
}

int nvmlDeviceGetTemperature(const void* device, int, unsigned* celsius) {
  return answer(device, celsius, kInvented.celsius);
}

int nvmlDeviceGetClockInfo(const void* device, int domain, unsigned* mhz) {
  return clock(device, domain, mhz);
}
int nvmlDeviceGetMaxClockInfo(const void* device, int domain, unsigned* mhz) {
  return clock(device, domain, mhz);
}

int nvmlDeviceGetPciInfo_v3(const void* device, PciInfo* pci) {
  return pci_info(device, pci, sizeof(PciInfo));
}
int nvmlDeviceGetPciInfo_v2(const void* device, PciInfo* pci) {
  return pci_info(device, pci, offsetof(PciInfo, bus_id));
}

int nvmlDeviceGetComputeRunningProcesses_v3(const void* device, unsigned* count, void*) {
  return no_processes(device, count);
}
int nvmlDeviceGetComputeRunningProcesses_v2(const void* device, unsigned* count, void*) {
  return no_processes(device, count);
}
int nvmlDeviceGetComputeRunningProcesses(const void* device, unsigned* count, void*) {
  return no_processes(device, count);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(const void* device, unsigned* count, void*) {
  return no_processes(device, count);
}

int nvmlDeviceGetCudaComputeCapability(const void* device, int* major, int* minor) {
  const int result = answer(device, major, model().cc_major);
  return result == kSuccess ? answer(device, minor, model().cc_minor) : result;
}

int nvmlDeviceGetMigMode(const void* device, unsigned* current, unsigned* pending) {
  const int result = answer(device, current, 0u);
  return result == kSuccess ? answer(device, pending, 0u) : result;
}

int nvmlDeviceGetComputeMode(const void* device, int* mode) { return answer(device, mode, 0); }

int nvmlDeviceGetPersistenceMode(const void* device, int* mode) { return answer(device, mode, 1); }

/// A device without an NVLink fabric: all zeros are "not supported", with success. The low bits of
/// the version, the first word, are the size of the caller's structure.
int nvmlDeviceGetGpuFabricInfoV(const void* device, unsigned* info) {
  if (!started()) return kUninitialized;
  if (unit_of(device) == nullptr || info == nullptr) return kInvalidArgument;
  const std::size_t bytes = *info & 0xffffffu;
  if (bytes > sizeof *info && bytes < 4096) std::memset(info + 1, 0, bytes - sizeof *info);
  return kSuccess;
}

int nvmlDeviceGetTopologyCommonAncestor(const void* a, const void* b, int* level) {
  return unit_of(b) == nullptr ? kInvalidArgument : answer(a, level, kTopologyNode);
}

int nvmlDeviceGetP2PStatus(const void* a, const void* b, int index, int* status) {
  if (unit_of(b) == nullptr) return kInvalidArgument;
  const bool plain = index == kReadIndex || index == kWriteIndex;
  return answer(a, status, plain ? kLinkWorks : kLinkNotSupported);
}

}  // extern "C"
