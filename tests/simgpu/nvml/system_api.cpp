// SPDX-License-Identifier: Apache-2.0
//
// NVML: start, versions, how many devices, finding one.
//
// Context:  application threads
// Owns:     a counter
// Promises: asks the settings only: never starts the driver, so a program that merely looks loads
//           no injected tool
// Not here: what a device says (device_api.cpp)
#include <atomic>
#include <cstdio>
#include <cstring>

#include "core/device_model.hpp"
#include "core/driver.hpp"
#include "nvml/nvml.hpp"

using namespace gpusim;
using namespace gpusim::nvml;

namespace {

std::atomic<int> g_starts{0};
constexpr Unit kUnits[kMaxDevices] = {{0}, {1}, {2},  {3},  {4},  {5},  {6},  {7},
                                      {8}, {9}, {10}, {11}, {12}, {13}, {14}, {15}};

int give(const void** out, const Unit* unit) {
  if (!started()) return kUninitialized;
  if (out == nullptr) return kInvalidArgument;
  if (unit == nullptr) return kNotFound;
  *out = unit;
  return kSuccess;
}

int count(unsigned* out) {
  if (!started()) return kUninitialized;
  if (out == nullptr) return kInvalidArgument;
  *out = static_cast<unsigned>(config().devices);
  return kSuccess;
}

const Unit* by_uuid(const char* uuid) {
  for (unsigned i = 0; uuid != nullptr && unit_at(i) != nullptr; ++i) {
    char own[64];
    device_uuid_text(static_cast<int>(i), own, sizeof own);
    if (std::strcmp(own, uuid) == 0) return unit_at(i);
  }
  return nullptr;
}

const Unit* by_bus(const char* bus_id) {
  unsigned domain = 0, bus = 0, device = 0;
  if (bus_id == nullptr || std::sscanf(bus_id, "%x:%x:%x", &domain, &bus, &device) != 3)
    return nullptr;
  return domain == 0 && device == 0 && bus >= pci_bus(0) ? unit_at(bus - pci_bus(0)) : nullptr;
}

}  // namespace

namespace gpusim::nvml {

bool started() { return g_starts.load() > 0; }

const Unit* unit_at(unsigned ordinal) {
  return ordinal < static_cast<unsigned>(config().devices) ? &kUnits[ordinal] : nullptr;
}

const Unit* unit_of(const void* handle) {
  const auto* unit = static_cast<const Unit*>(handle);
  const bool ours = unit >= kUnits && unit < kUnits + config().devices;
  return started() && ours ? unit : nullptr;
}

int copy_text(const char* text, char* out, unsigned length) {
  if (out == nullptr) return kInvalidArgument;
  if (std::strlen(text) >= length) return kInsufficientSize;
  std::strcpy(out, text);
  return kSuccess;
}

}  // namespace gpusim::nvml

extern "C" {

int nvmlInit_v2() {
  ++g_starts;
  return kSuccess;
}
int nvmlInit() { return nvmlInit_v2(); }
int nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }

int nvmlShutdown() {
  if (!started()) return kUninitialized;
  --g_starts;
  return kSuccess;
}

const char* nvmlErrorString(int result) {
  switch (result) {
    case kSuccess:
      return "The operation was successful";
    case kUninitialized:
      return "NVML of the simulated GPU (gpuprof) was not initialized";
    case kInvalidArgument:
      return "An argument is not valid for NVML of the simulated GPU (gpuprof)";
    case kNotSupported:
      return "Not supported by NVML of the simulated GPU (gpuprof)";
    case kNotFound:
      return "Not found by NVML of the simulated GPU (gpuprof)";
    case kInsufficientSize:
      return "The buffer is too small for NVML of the simulated GPU (gpuprof)";
    default:
      return "Unknown error of NVML of the simulated GPU (gpuprof)";
  }
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return started() ? copy_text("0.0-simulated", version, length) : kUninitialized;
}

int nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return started() ? copy_text("0.0-simulated", version, length) : kUninitialized;
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  if (version == nullptr) return kInvalidArgument;
  *version = driver_version();
  return kSuccess;
}
int nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}

int nvmlDeviceGetCount_v2(unsigned* devices) { return count(devices); }
int nvmlDeviceGetCount(unsigned* devices) { return count(devices); }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, const void** device) {
  if (started() && unit_at(index) == nullptr) return kInvalidArgument;
  return give(device, unit_at(index));
}
int nvmlDeviceGetHandleByIndex(unsigned index, const void** device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

int nvmlDeviceGetHandleByUUID(const char* uuid, const void** device) {
  return give(device, by_uuid(uuid));
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, const void** device) {
  return give(device, by_bus(bus_id));
}
int nvmlDeviceGetHandleByPciBusId(const char* bus_id, const void** device) {
  return give(device, by_bus(bus_id));
}

}  // extern "C"
