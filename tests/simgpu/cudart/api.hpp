// SPDX-License-Identifier: Apache-2.0
//
// What every runtime entry point of the simulated GPU shares: the call frame, the last error, the
// implicit context.
//
// Context:  application threads
// Owns:     the last error of each thread (plain data)
// Promises: each call is one API event, also when it fails; the driver is started at the first
// Not here: behaviour (core/)
#pragma once

#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>
#include <generated_cuda_runtime_api_meta.h>

#include "core/api_scope.hpp"
#include "core/driver.hpp"
#include "core/handles.hpp"
#include "runtime_names.hpp"

/// Opens the frame of runtime function `fn` with its parameter block. Leave it with `return
/// GPUSIM_DONE(result)`.
#define GPUSIM_RUNTIME_API(fn, ...)                    \
  const GPUSIM_PARAMS_##fn gpusim_params{__VA_ARGS__}; \
  GPUSIM_RUNTIME_FRAME(fn, &gpusim_params, nullptr)

/// The same for functions without parameters, and for launches, which name a kernel.
#define GPUSIM_RUNTIME_FRAME(fn, params, symbol)                                            \
  const int gpusim_ready = gpusim::start_devices();                                         \
  gpusim::ApiScope gpusim_scope(gpusim::ApiDomain::kRuntime, GPUSIM_CBID_##fn, #fn, params, \
                                symbol);                                                    \
  if (gpusim_ready != cudaSuccess) return GPUSIM_DONE(gpusim_ready)

#define GPUSIM_DONE(result) gpusim::finish_call(gpusim_scope, result)

namespace gpusim {

/// Starts the driver. @return cudaError_t value; cudaErrorNoDevice where there is none.
int start_devices();

/// Closes a frame and keeps an error for cudaGetLastError.
cudaError_t finish_call(ApiScope& scope, int result);

/// The last error of this thread.
int& last_error();

/// The stream behind a handle, with the thread's context made current first. Null sets `*error`.
Stream* runtime_stream(cudaStream_t handle, int* error);

/// A live object behind a handle, or null.
template <typename T, typename Handle>
T* object(Handle handle) {
  auto* p = reinterpret_cast<T*>(handle);
  return live(p) ? p : nullptr;
}

inline std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace gpusim
