// SPDX-License-Identifier: Apache-2.0
//
// Runtime API: from host addresses to device objects, and to functions of the driver.
//
// Context:  application threads
// Owns:     nothing
// Promises: driver functions come from the simulated driver only, never from a real one
// Not here: the table of registrations (registry.cpp)
#include <dlfcn.h>

#include <cstdio>

#include "cudart/api.hpp"
#include "cudart/registry.hpp"

using namespace gpusim;

namespace {

/// The simulated libcuda, or null.
void* driver_library() {
  static void* const library = []() -> void* {
    void* found = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    return found != nullptr && dlsym(found, "gpuprof_simulated_gpu") != nullptr ? found : nullptr;
  }();
  return library;
}

int find_entry_point(const char* symbol, void** out, cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  for (const char* suffix : {"_v3", "_v2", ""}) {
    char name[256];
    std::snprintf(name, sizeof name, "%s%s", symbol, suffix);
    if (*out == nullptr && driver_library() != nullptr) *out = dlsym(driver_library(), name);
  }
  if (status != nullptr)
    *status = *out != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return *out != nullptr || status != nullptr ? cudaSuccess : cudaErrorSymbolNotFound;
}

/// The variable behind `symbol`, with the thread's context made current.
int find_symbol(const void* symbol, const Symbol** out) {
  int error = cudaSuccess;
  if (runtime_context(&error) == nullptr) return error;
  *out = symbol_at(symbol);
  return *out != nullptr ? cudaSuccess : cudaErrorInvalidSymbol;
}

template <typename Handle>
int find_function(Handle* out, const void* stub) {
  Function* f = function_at(stub);
  if (out == nullptr) return cudaErrorInvalidValue;
  if (f == nullptr) return cudaErrorInvalidDeviceFunction;
  *out = reinterpret_cast<Handle>(f);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaGetSymbolAddress(void** devPtr, const void* symbol) {
  GPUSIM_RUNTIME_API(cudaGetSymbolAddress, devPtr, symbol);
  const Symbol* s = nullptr;
  if (devPtr == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  const int error = find_symbol(symbol, &s);
  if (error == cudaSuccess) *devPtr = reinterpret_cast<void*>(s->address);
  return GPUSIM_DONE(error);
}

cudaError_t CUDARTAPI cudaGetSymbolSize(size_t* size, const void* symbol) {
  GPUSIM_RUNTIME_API(cudaGetSymbolSize, size, symbol);
  const Symbol* s = nullptr;
  if (size == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  const int error = find_symbol(symbol, &s);
  if (error == cudaSuccess) *size = s->bytes;
  return GPUSIM_DONE(error);
}

cudaError_t CUDARTAPI cudaGetFuncBySymbol(cudaFunction_t* functionPtr, const void* symbolPtr) {
  GPUSIM_RUNTIME_API(cudaGetFuncBySymbol, functionPtr, symbolPtr);
  return GPUSIM_DONE(find_function(functionPtr, symbolPtr));
}

cudaError_t CUDARTAPI cudaGetKernel(cudaKernel_t* kernelPtr, const void* entryFuncAddr) {
  GPUSIM_RUNTIME_API(cudaGetKernel, kernelPtr, entryFuncAddr);
  return GPUSIM_DONE(find_function(kernelPtr, entryFuncAddr));
}

cudaError_t CUDARTAPI cudaGetDriverEntryPoint(const char* symbol, void** funcPtr,
                                              unsigned long long flags,
                                              cudaDriverEntryPointQueryResult* driverStatus) {
  GPUSIM_RUNTIME_API(cudaGetDriverEntryPoint, symbol, funcPtr, flags, driverStatus);
  return GPUSIM_DONE(find_entry_point(symbol, funcPtr, driverStatus));
}

cudaError_t CUDARTAPI cudaGetDriverEntryPointByVersion(
    const char* symbol, void** funcPtr, unsigned int cudaVersion, unsigned long long flags,
    cudaDriverEntryPointQueryResult* driverStatus) {
  GPUSIM_RUNTIME_API(cudaGetDriverEntryPointByVersion, symbol, funcPtr, cudaVersion, flags,
                     driverStatus);
  return GPUSIM_DONE(find_entry_point(symbol, funcPtr, driverStatus));
}

}  // extern "C"
