// SPDX-License-Identifier: Apache-2.0
//
// Driver API: contexts and primary contexts.
//
// Context:  application threads
// Owns:     nothing
// Promises: context ids are process-unique, creation and destruction are reported to the attached
//           tool
// Not here: streams (stream_api.cpp)
#include "core/work/timeline.hpp"
#include "cuda/api.hpp"

using namespace gpusim;

namespace {

Context* as_context(CUcontext handle) {
  auto* c = reinterpret_cast<Context*>(handle);
  return live(c) ? c : nullptr;
}

CUcontext handle_of(Context* context) { return reinterpret_cast<CUcontext>(context); }

int make_context(CUcontext* out, unsigned flags, CUdevice dev) {
  Device* d = device_at(dev);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  Context* c = create_context(d, flags, false);
  push_context(c);
  *out = handle_of(c);
  return CUDA_SUCCESS;
}

/// Stack, printf buffer, heap and so on; nothing here depends on them.
std::atomic<std::size_t> g_limits[CU_LIMIT_MAX] = {1024, 1048576, 8388608};

}  // namespace

extern "C" {

CUresult CUDAAPI cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  GPUSIM_DRIVER_API(cuCtxCreate_v2, pctx, flags, dev);
  return GPUSIM_DONE(make_context(pctx, flags, dev));
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam* paramsArray, int numParams,
                                unsigned int flags, CUdevice dev) {
  GPUSIM_DRIVER_API(cuCtxCreate_v3, pctx, paramsArray, numParams, flags, dev);
  return GPUSIM_DONE(make_context(pctx, flags, dev));
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams* ctxCreateParams,
                                unsigned int flags, CUdevice dev) {
  GPUSIM_DRIVER_API(cuCtxCreate_v4, pctx, ctxCreateParams, flags, dev);
  return GPUSIM_DONE(make_context(pctx, flags, dev));
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx) {
  GPUSIM_DRIVER_API(cuCtxDestroy_v2, ctx);
  Context* c = as_context(ctx);
  if (c == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  synchronize_context(c);
  if (current_context() == c) pop_context();
  destroy_context(c);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext ctx) {
  GPUSIM_DRIVER_API(cuCtxPushCurrent_v2, ctx);
  Context* c = as_context(ctx);
  return GPUSIM_DONE(c != nullptr && push_context(c) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext* pctx) {
  GPUSIM_DRIVER_API(cuCtxPopCurrent_v2, pctx);
  Context* c = pop_context();
  if (pctx != nullptr) *pctx = handle_of(c);
  return GPUSIM_DONE(c != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx) {
  GPUSIM_DRIVER_API(cuCtxSetCurrent, ctx);
  if (ctx != nullptr && as_context(ctx) == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  set_current_context(as_context(ctx));
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* pctx) {
  GPUSIM_DRIVER_API(cuCtxGetCurrent, pctx);
  if (pctx == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *pctx = handle_of(current_context());
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  GPUSIM_DRIVER_API(cuCtxGetDevice, device);
  if (device == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  Context* c = current_context();
  if (c == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  *device = c->device->ordinal;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetFlags(unsigned int* flags) {
  GPUSIM_DRIVER_API(cuCtxGetFlags, flags);
  if (flags == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  if (current_context() == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  *flags = current_context()->flags;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
  GPUSIM_DRIVER_API(cuCtxGetId, ctx, ctxId);
  if (ctxId == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  Context* c = ctx != nullptr ? as_context(ctx) : current_context();
  if (c == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  *ctxId = c->id;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext ctx, unsigned int* version) {
  GPUSIM_DRIVER_API(cuCtxGetApiVersion, ctx, version);
  if (version == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *version = 3020;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

#undef cuCtxSynchronize
CUresult CUDAAPI cuCtxSynchronize(void) {
  GPUSIM_DRIVER_FRAME(cuCtxSynchronize, nullptr, nullptr);
  if (current_context() == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  synchronize_context(current_context());
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  GPUSIM_DRIVER_API(cuCtxGetStreamPriorityRange, leastPriority, greatestPriority);
  if (leastPriority != nullptr) *leastPriority = 0;
  if (greatestPriority != nullptr) *greatestPriority = -5;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
  GPUSIM_DRIVER_API(cuCtxEnablePeerAccess, peerContext, Flags);
  return GPUSIM_DONE(as_context(peerContext) != nullptr ? CUDA_SUCCESS
                                                        : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peerContext) {
  GPUSIM_DRIVER_API(cuCtxDisablePeerAccess, peerContext);
  return GPUSIM_DONE(as_context(peerContext) != nullptr ? CUDA_SUCCESS
                                                        : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice* device, CUcontext ctx) {
  GPUSIM_DRIVER_API(cuCtxGetDevice_v2, device, ctx);
  const Context* c = ctx != nullptr ? as_context(ctx) : current_context();
  if (c == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  if (device == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *device = c->device->ordinal;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx) {
  GPUSIM_DRIVER_API(cuCtxSynchronize_v2, ctx);
  Context* c = ctx != nullptr ? as_context(ctx) : current_context();
  if (c == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  synchronize_context(c);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetFlags(unsigned int flags) {
  GPUSIM_DRIVER_API(cuCtxSetFlags, flags);
  if (current_context() == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  current_context()->flags = flags;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value) {
  GPUSIM_DRIVER_API(cuCtxSetLimit, limit, value);
  if (current_context() == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  if (limit < 0 || limit >= CU_LIMIT_MAX) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  g_limits[limit] = value;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
  GPUSIM_DRIVER_API(cuCtxGetLimit, pvalue, limit);
  if (current_context() == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  if (pvalue == nullptr || limit < 0 || limit >= CU_LIMIT_MAX)
    return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *pvalue = g_limits[limit].load();
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config) {
  GPUSIM_DRIVER_API(cuCtxSetCacheConfig, config);
  return GPUSIM_DONE(current_context() != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache* pconfig) {
  GPUSIM_DRIVER_API(cuCtxGetCacheConfig, pconfig);
  if (pconfig == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *pconfig = CU_FUNC_CACHE_PREFER_NONE;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  GPUSIM_DRIVER_API(cuDevicePrimaryCtxRetain, pctx, dev);
  Device* d = device_at(dev);
  if (pctx == nullptr || d == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  *pctx = handle_of(retain_primary(d));
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  GPUSIM_DRIVER_API(cuDevicePrimaryCtxRelease_v2, dev);
  Device* d = device_at(dev);
  return GPUSIM_DONE(d != nullptr ? release_primary(d) : CUDA_ERROR_INVALID_DEVICE);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  GPUSIM_DRIVER_API(cuDevicePrimaryCtxGetState, dev, flags, active);
  Device* d = device_at(dev);
  if (d == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  if (flags != nullptr) *flags = d->primary_flags;
  if (active != nullptr) *active = d->primary != nullptr ? 1 : 0;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
  GPUSIM_DRIVER_API(cuDevicePrimaryCtxSetFlags_v2, dev, flags);
  Device* d = device_at(dev);
  if (d == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_DEVICE);
  d->primary_flags = flags;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

}  // extern "C"
