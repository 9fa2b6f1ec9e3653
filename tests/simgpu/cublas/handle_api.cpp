// SPDX-License-Identifier: Apache-2.0
//
// cuBLAS functions that do not compute: handles and their settings, versions, logging.
//
// Context:  application threads
// Owns:     the log callback the program set (kept, never called)
// Promises: a handle can be made on any device; settings read back what was set
// Not here: computing functions (generated from the header: generate_calls.py)
#include <cublas_api.h>
#include <cuda_runtime_api.h>

#include "core/handles.hpp"
#include "cublas/handle.hpp"

namespace {

cublasLogCallback g_log_callback;

/// Sets `field` of a handle.
template <typename T, typename V>
cublasStatus_t set(cublasHandle_t handle, T cublasContext::*field, V value) {
  if (!gpusim::usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->*field = static_cast<T>(value);
  return CUBLAS_STATUS_SUCCESS;
}

/// Reads `field` of a handle.
template <typename T, typename V>
cublasStatus_t get(cublasHandle_t handle, T cublasContext::*field, V* value) {
  if (!gpusim::usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *value = static_cast<V>(handle->*field);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

/// A pair of functions for one setting.
#define GPUSIM_SETTING(setter, getter, type, field)           \
  cublasStatus_t setter(cublasHandle_t handle, type value) {  \
    return set(handle, &cublasContext::field, value);         \
  }                                                           \
  cublasStatus_t getter(cublasHandle_t handle, type* value) { \
    return get(handle, &cublasContext::field, value);         \
  }

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (gpusim::runtime_context() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  auto* const made = new cublasContext{};
  made->magic = gpusim::kHandleMagic;
  *handle = made;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (!gpusim::usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->magic = 0;
  return CUBLAS_STATUS_SUCCESS;
}

GPUSIM_SETTING(cublasSetStream_v2, cublasGetStream_v2, cudaStream_t, stream)
GPUSIM_SETTING(cublasSetPointerMode_v2, cublasGetPointerMode_v2, cublasPointerMode_t, pointer_mode)
GPUSIM_SETTING(cublasSetAtomicsMode, cublasGetAtomicsMode, cublasAtomicsMode_t, atomics_mode)
GPUSIM_SETTING(cublasSetMathMode, cublasGetMathMode, cublasMath_t, math_mode)
GPUSIM_SETTING(cublasSetSmCountTarget, cublasGetSmCountTarget, int, sm_count_target)
GPUSIM_SETTING(cublasSetEmulationStrategy, cublasGetEmulationStrategy, cublasEmulationStrategy_t,
               emulation_strategy)
GPUSIM_SETTING(cublasSetEmulationSpecialValuesSupport, cublasGetEmulationSpecialValuesSupport,
               cudaEmulationSpecialValuesSupport, special_values)
GPUSIM_SETTING(cublasSetFixedPointEmulationMantissaControl,
               cublasGetFixedPointEmulationMantissaControl, cudaEmulationMantissaControl,
               mantissa_control)
GPUSIM_SETTING(cublasSetFixedPointEmulationMaxMantissaBitCount,
               cublasGetFixedPointEmulationMaxMantissaBitCount, int, mantissa_bits)
GPUSIM_SETTING(cublasSetFixedPointEmulationMantissaBitOffset,
               cublasGetFixedPointEmulationMantissaBitOffset, int, mantissa_offset)

cublasStatus_t cublasSetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle,
                                                                   int* bits) {
  return set(handle, &cublasContext::mantissa_bits_used, bits);
}

cublasStatus_t cublasGetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle,
                                                                   int** bits) {
  return get(handle, &cublasContext::mantissa_bits_used, bits);
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  const cublasStatus_t status = set(handle, &cublasContext::workspace, workspace);
  return status != CUBLAS_STATUS_SUCCESS ? status
                                         : set(handle, &cublasContext::workspace_bytes, bytes);
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  constexpr int kParts[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL)
    return CUBLAS_STATUS_INVALID_VALUE;
  *value = kParts[type];
  return CUBLAS_STATUS_SUCCESS;
}

size_t cublasGetCudartVersion(void) { return CUDART_VERSION; }

const char* cublasGetStatusName(cublasStatus_t status) { return gpusim::status_name(status); }
const char* cublasGetStatusString(cublasStatus_t status) { return gpusim::status_text(status); }

cublasStatus_t cublasLoggerConfigure(int, int, int, const char*) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasSetLoggerCallback(cublasLogCallback callback) {
  g_log_callback = callback;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetLoggerCallback(cublasLogCallback* callback) {
  if (callback == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *callback = g_log_callback;
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
