// SPDX-License-Identifier: Apache-2.0
//
// Runtime API: devices.
//
// Context:  application threads
// Owns:     nothing
// Promises: asking about devices makes no context
// Not here: properties in full (properties.cpp)
#include <algorithm>
#include <cstdio>

#include "core/work/timeline.hpp"
#include "cudart/api.hpp"
#include "cudart/properties.hpp"

using namespace gpusim;

namespace {

constexpr const char* kPciFormat = "0000:%02x:00.0";

int peer_check(int device, int peer) {
  return device_at(device) != nullptr && device_at(peer) != nullptr && device != peer
             ? cudaSuccess
             : cudaErrorInvalidDevice;
}

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
  const GPUSIM_PARAMS_cudaGetDeviceCount p{count};
  if (count != nullptr) *count = 0;
  GPUSIM_RUNTIME_FRAME(cudaGetDeviceCount, &p, nullptr);
  if (count == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  *count = driver().device_count;
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaGetDevice(int* device) {
  GPUSIM_RUNTIME_API(cudaGetDevice, device);
  if (device == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  *device = runtime_device();
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaSetDevice(int device) {
  GPUSIM_RUNTIME_API(cudaSetDevice, device);
  return GPUSIM_DONE(set_runtime_device(device));
}

cudaError_t CUDARTAPI cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaInitDevice, device, deviceFlags, flags);
  Device* d = device_at(device);
  if (d == nullptr) return GPUSIM_DONE(cudaErrorInvalidDevice);
  retain_primary(d);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaSetDeviceFlags(unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaSetDeviceFlags, flags);
  device_at(runtime_device())->primary_flags = flags;
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaGetDeviceFlags(unsigned int* flags) {
  GPUSIM_RUNTIME_API(cudaGetDeviceFlags, flags);
  if (flags == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  *flags = device_at(runtime_device())->primary_flags;
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  GPUSIM_RUNTIME_API(cudaGetDeviceProperties, prop, device);
  const Device* d = device_at(device);
  if (prop == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  if (d == nullptr) return GPUSIM_DONE(cudaErrorInvalidDevice);
  fill_properties(*d, prop);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  GPUSIM_RUNTIME_API(cudaDeviceGetAttribute, value, attr, device);
  const Device* d = device_at(device);
  if (value == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  if (d == nullptr) return GPUSIM_DONE(cudaErrorInvalidDevice);
  // The runtime's attribute numbers are the driver's.
  *value = device_attribute(d->model, d->physical, attr);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
  GPUSIM_RUNTIME_API(cudaDeviceGetPCIBusId, pciBusId, len, device);
  if (pciBusId == nullptr || len <= 0) return GPUSIM_DONE(cudaErrorInvalidValue);
  if (device_at(device) == nullptr) return GPUSIM_DONE(cudaErrorInvalidDevice);
  std::snprintf(pciBusId, static_cast<std::size_t>(len), kPciFormat,
                0x10 + device_at(device)->physical);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaDeviceGetByPCIBusId(int* device, const char* pciBusId) {
  GPUSIM_RUNTIME_API(cudaDeviceGetByPCIBusId, device, pciBusId);
  unsigned domain = 0, bus = 0, slot = 0;
  if (device == nullptr || pciBusId == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  const int parts = std::sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot);
  const int found = parts < 2 ? -1 : device_on_bus(parts == 3 ? bus : domain);
  if (found < 0) return GPUSIM_DONE(cudaErrorInvalidDevice);
  *device = found;
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  GPUSIM_RUNTIME_API(cudaDeviceGetStreamPriorityRange, leastPriority, greatestPriority);
  if (leastPriority != nullptr) *leastPriority = 0;
  if (greatestPriority != nullptr) *greatestPriority = -5;
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaDeviceSynchronize(void) {
  GPUSIM_RUNTIME_FRAME(cudaDeviceSynchronize, nullptr, nullptr);
  int error = cudaSuccess;
  Context* c = runtime_context(&error);
  if (c == nullptr) return GPUSIM_DONE(error);
  for (const Stream* s : c->streams)
    if (s->capture != nullptr) return GPUSIM_DONE(cudaErrorStreamCaptureUnsupported);
  synchronize_context(c);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  GPUSIM_RUNTIME_API(cudaDeviceCanAccessPeer, canAccessPeer, device, peerDevice);
  if (canAccessPeer == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  if (device_at(device) == nullptr || device_at(peerDevice) == nullptr)
    return GPUSIM_DONE(cudaErrorInvalidDevice);
  *canAccessPeer = device != peerDevice ? 1 : 0;
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaDeviceEnablePeerAccess, peerDevice, flags);
  return GPUSIM_DONE(peer_check(runtime_device(), peerDevice));
}

cudaError_t CUDARTAPI cudaDeviceDisablePeerAccess(int peerDevice) {
  GPUSIM_RUNTIME_API(cudaDeviceDisablePeerAccess, peerDevice);
  return GPUSIM_DONE(peer_check(runtime_device(), peerDevice));
}

cudaError_t CUDARTAPI cudaDeviceGetLimit(size_t* pValue, cudaLimit limit) {
  GPUSIM_RUNTIME_API(cudaDeviceGetLimit, pValue, limit);
  if (pValue == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  *pValue = limit == cudaLimitStackSize ? 1024 : limit == cudaLimitMallocHeapSize ? 8u << 20 : 0;
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  GPUSIM_RUNTIME_API(cudaDeviceSetLimit, limit, value);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaDeviceReset(void) {
  GPUSIM_RUNTIME_FRAME(cudaDeviceReset, nullptr, nullptr);
  Device* d = device_at(runtime_device());
  if (live(d->primary)) synchronize_context(d->primary);
  return GPUSIM_DONE(cudaSuccess);
}

}  // extern "C"
