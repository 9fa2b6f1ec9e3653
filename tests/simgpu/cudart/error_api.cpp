// SPDX-License-Identifier: Apache-2.0
//
// Runtime API: errors, versions, the shared parts of every call.
//
// Context:  application threads
// Owns:     the last error of each thread
// Promises: every error string says that this is a simulated GPU
// Not here: which call gives which error
#include <cctype>
#include <mutex>
#include <string>

#include "cudart/api.hpp"

using namespace gpusim;

namespace {

thread_local int t_last_error;

struct ErrorName {
  int code;
  const char* name;
};
constexpr ErrorName kErrors[] = {
#include "runtime_errors.inc"
};
constexpr int kErrorCount = sizeof kErrors / sizeof kErrors[0];

const ErrorName* find_error(int code) {
  for (const ErrorName& e : kErrors)
    if (e.code == code) return &e;
  return nullptr;
}

/// "cudaErrorInvalidValue" as words: "invalid value".
std::string words(const char* name) {
  std::string text;
  for (const char* p = name + sizeof "cudaError" - 1; *p != '\0'; ++p) {
    const bool upper = std::isupper(static_cast<unsigned char>(*p)) != 0;
    if (upper && !text.empty()) text += ' ';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(*p)));
  }
  return text;
}

const char* describe(const ErrorName& e) {
  if (e.code == cudaSuccess) return "no error";
  if (e.code == cudaErrorMemoryAllocation) return "out of memory of the simulated GPU (gpuprof)";
  return intern((words(e.name) + " of the simulated GPU (gpuprof)").c_str());
}

}  // namespace

namespace gpusim {

int& last_error() { return t_last_error; }

int start_devices() {
  const int error = start_runtime();
  if (error != cudaSuccess) return error;
  return driver().device_count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t finish_call(ApiScope& scope, int result) {
  if (result != cudaSuccess) t_last_error = result;
  return static_cast<cudaError_t>(scope.finish(result));
}

Stream* runtime_stream(cudaStream_t handle, int* error) {
  if (runtime_context(error) == nullptr) return nullptr;
  Stream* s = stream_of(handle);
  if (s == nullptr) *error = cudaErrorInvalidResourceHandle;
  return s;
}

}  // namespace gpusim

extern "C" {

cudaError_t CUDARTAPI cudaGetLastError(void) {
  ApiScope scope(ApiDomain::kRuntime, GPUSIM_CBID_cudaGetLastError, "cudaGetLastError", nullptr);
  const int error = t_last_error;
  t_last_error = cudaSuccess;
  return static_cast<cudaError_t>(scope.finish(error));
}

cudaError_t CUDARTAPI cudaPeekAtLastError(void) {
  ApiScope scope(ApiDomain::kRuntime, GPUSIM_CBID_cudaPeekAtLastError, "cudaPeekAtLastError",
                 nullptr);
  return static_cast<cudaError_t>(scope.finish(t_last_error));
}

const char* CUDARTAPI cudaGetErrorName(cudaError_t error) {
  const ErrorName* e = find_error(error);
  return e != nullptr ? e->name : "unrecognized error code";
}

const char* CUDARTAPI cudaGetErrorString(cudaError_t error) {
  static_assert(kErrorCount > 100);
  const ErrorName* e = find_error(error);
  return e != nullptr ? describe(*e) : "unrecognized error code of the simulated GPU (gpuprof)";
}

cudaError_t CUDARTAPI cudaDriverGetVersion(int* driverVersion) {
  GPUSIM_RUNTIME_API(cudaDriverGetVersion, driverVersion);
  if (driverVersion == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  *driverVersion = driver_version();
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaRuntimeGetVersion(int* runtimeVersion) {
  GPUSIM_RUNTIME_API(cudaRuntimeGetVersion, runtimeVersion);
  if (runtimeVersion == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  *runtimeVersion = driver_version();
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaProfilerStart(void) {
  GPUSIM_RUNTIME_FRAME(cudaProfilerStart, nullptr, nullptr);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaProfilerStop(void) {
  GPUSIM_RUNTIME_FRAME(cudaProfilerStop, nullptr, nullptr);
  return GPUSIM_DONE(cudaSuccess);
}

}  // extern "C"
