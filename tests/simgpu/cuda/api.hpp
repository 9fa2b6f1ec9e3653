// SPDX-License-Identifier: Apache-2.0
//
// What every driver entry point of the simulated GPU shares: the call frame and handle checks.
//
// Context:  application threads
// Owns:     nothing
// Promises: each call is one API event, also when it fails
// Not here: behaviour (core/)
#pragma once

// The parameter structures of first-generation functions need the first-generation types.
#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>
#include <cupti_driver_cbid.h>
#include <generated_cuda_meta.h>

#include "core/api_scope.hpp"
#include "core/driver.hpp"
#include "core/handles.hpp"

/// Opens the frame of driver function `fn` with its parameter block. Leave it with `return
/// GPUSIM_DONE(result)`.
#define GPUSIM_DRIVER_API(fn, ...)              \
  const fn##_params gpusim_params{__VA_ARGS__}; \
  GPUSIM_DRIVER_FRAME(fn, &gpusim_params, nullptr)

/// The same for functions without parameters, and for launches, which name a kernel.
#define GPUSIM_DRIVER_FRAME(fn, params, symbol)                                    \
  const gpusim::ReportedCall gpusim_called =                                       \
      gpusim::take_reported_call(CUPTI_DRIVER_TRACE_CBID_##fn, #fn);               \
  gpusim::ApiScope gpusim_scope(gpusim::ApiDomain::kDriver, gpusim_called.cbid,    \
                                gpusim_called.name, params, symbol);               \
  if (const int gpusim_status = gpusim::driver_availability(); gpusim_status != 0) \
  return GPUSIM_DONE(gpusim_status)

#define GPUSIM_DONE(result) static_cast<CUresult>(gpusim_scope.finish(result))

namespace gpusim {

/// The number and name under which a call is reported.
struct ReportedCall {
  std::uint32_t cbid;
  const char* name;
};
/// The next driver call of this thread is reported as its per-thread-default-stream twin.
void report_next_as(std::uint32_t cbid, const char* name);
/// What `report_next_as` said, once; else the arguments.
ReportedCall take_reported_call(std::uint32_t cbid, const char* name);

/// Driver state, with the behaviour of a toolkit stub where this library lies in a folder named
/// `stubs`.
int driver_availability();
/// Whether this copy lies in a folder named `stubs`.
bool is_stub();

inline std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// Null: the handle is none of ours, or no longer.
inline Function* function_of(CUfunction handle) {
  auto* function = reinterpret_cast<Function*>(handle);
  return live(function) ? function : nullptr;
}

/// CUresult for a missing stream: no context is current, or the handle is bad.
inline int stream_error() {
  return current_context() == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace gpusim
