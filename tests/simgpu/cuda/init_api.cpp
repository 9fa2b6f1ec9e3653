// SPDX-License-Identifier: Apache-2.0
//
// Driver API: start, version, devices, errors.
//
// Context:  application threads
// Owns:     nothing
// Promises: names and error strings say that this is a simulated GPU
// Not here: contexts (context_api.cpp)
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cuda/api.hpp"

using namespace gpusim;

namespace gpusim {

namespace {
thread_local ReportedCall t_twin;
}  // namespace

void report_next_as(std::uint32_t cbid, const char* name) { t_twin = {cbid, name}; }

ReportedCall take_reported_call(std::uint32_t cbid, const char* name) {
  const ReportedCall twin = t_twin;
  t_twin = {};
  return twin.name != nullptr ? twin : ReportedCall{cbid, name};
}

bool is_stub() {
  static const bool stub = [] {
    Dl_info info{};
    return dladdr(reinterpret_cast<const void*>(&is_stub), &info) != 0 &&
           info.dli_fname != nullptr && std::strstr(info.dli_fname, "/stubs/") != nullptr;
  }();
  return stub;
}

int driver_availability() { return is_stub() ? CUDA_ERROR_STUB_LIBRARY : driver_status(); }

namespace {

struct ErrorText {
  int code;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE",
     "invalid argument of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY",
     "out of memory of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED",
     "initialization error of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED",
     "driver shutting down of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY",
     "stub library of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no device of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE",
     "invalid ordinal of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT",
     "invalid context of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE",
     "invalid handle of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE",
     "illegal state of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND",
     "symbol not found of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY",
     "device not ready of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED",
     "not supported of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "not permitted while capturing of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture not begun here of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "two captures would merge of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_FILE_NOT_FOUND, "CUDA_ERROR_FILE_NOT_FOUND",
     "file not found by the driver of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE",
     "device kernel image is invalid for the driver of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "host memory is already registered with the driver of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "host memory is not registered with the driver of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
     "too many blocks in cooperative launch of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "capture invalidated of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "capture with unjoined streams of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "implicit dependency while capturing of the simulated GPU (gpuprof)"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error of the simulated GPU (gpuprof)"},
};

const ErrorText* find_error(int code) {
  for (const ErrorText& e : kErrors)
    if (e.code == code) return &e;
  return nullptr;
}

}  // namespace
}  // namespace gpusim

extern "C" {

CUresult CUDAAPI cuInit(unsigned int Flags) {
  if (is_stub()) return CUDA_ERROR_STUB_LIBRARY;
  const int started = initialize_driver();
  if (started != CUDA_SUCCESS) return static_cast<CUresult>(started);
  GPUSIM_DRIVER_API(cuInit, Flags);
  return GPUSIM_DONE(Flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuDriverGetVersion(int* driverVersion) {
  if (is_stub()) return CUDA_ERROR_STUB_LIBRARY;
  if (driverVersion == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *driverVersion = driver_version();
  if (driver_status() != CUDA_SUCCESS) return CUDA_SUCCESS;
  GPUSIM_DRIVER_API(cuDriverGetVersion, driverVersion);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  GPUSIM_DRIVER_API(cuDeviceGet, device, ordinal);
  if (device == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  if (device_at(ordinal) == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  *device = ordinal;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  GPUSIM_DRIVER_API(cuDeviceGetCount, count);
  if (count == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *count = driver().device_count;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetName(char* name, int len, CUdevice dev) {
  GPUSIM_DRIVER_API(cuDeviceGetName, name, len, dev);
  if (name == nullptr || len <= 0) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  const Device* d = device_at(dev);
  if (d == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  std::snprintf(name, static_cast<std::size_t>(len), "%s", d->name);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) {
  GPUSIM_DRIVER_API(cuDeviceGetUuid_v2, uuid, dev);
  const Device* d = device_at(dev);
  if (uuid == nullptr || d == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  std::memcpy(uuid->bytes, d->uuid, sizeof d->uuid);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

#undef cuDeviceGetUuid
CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) {
  return cuDeviceGetUuid_v2(uuid, dev);
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  GPUSIM_DRIVER_API(cuDeviceTotalMem_v2, bytes, dev);
  const Device* d = device_at(dev);
  if (bytes == nullptr || d == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  *bytes = d->total_bytes;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  GPUSIM_DRIVER_API(cuDeviceGetAttribute, pi, attrib, dev);
  const Device* d = device_at(dev);
  if (pi == nullptr || d == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  *pi = device_attribute(d->model, d->physical, attrib);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  GPUSIM_DRIVER_API(cuDeviceGetPCIBusId, pciBusId, len, dev);
  if (pciBusId == nullptr || device_at(dev) == nullptr)
    return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  std::snprintf(pciBusId, static_cast<std::size_t>(std::max(len, 0)), "0000:%02x:00.0",
                0x10 + device_at(dev)->physical);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  GPUSIM_DRIVER_API(cuDeviceCanAccessPeer, canAccessPeer, dev, peerDev);
  if (canAccessPeer == nullptr || device_at(dev) == nullptr || device_at(peerDev) == nullptr)
    return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  *canAccessPeer = dev != peerDev ? 1 : 0;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice* dev, const char* pciBusId) {
  GPUSIM_DRIVER_API(cuDeviceGetByPCIBusId, dev, pciBusId);
  unsigned domain = 0, bus = 0;
  if (dev == nullptr || pciBusId == nullptr || std::sscanf(pciBusId, "%x:%x:", &domain, &bus) != 2)
    return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  const int ordinal = device_on_bus(bus);
  if (ordinal < 0) return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  *dev = ordinal;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attrib,
                                         CUdevice srcDevice, CUdevice dstDevice) {
  GPUSIM_DRIVER_API(cuDeviceGetP2PAttribute, value, attrib, srcDevice, dstDevice);
  if (value == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  if (device_at(srcDevice) == nullptr || device_at(dstDevice) == nullptr || srcDevice == dstDevice)
    return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  *value = attrib == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ? 1 : 0;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char** pStr) {
  const ErrorText* e = find_error(error);
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pStr = e != nullptr ? e->text : "unrecognised error of the simulated GPU (gpuprof)";
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char** pStr) {
  const ErrorText* e = find_error(error);
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pStr = e != nullptr ? e->name : nullptr;
  return e != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // extern "C"
