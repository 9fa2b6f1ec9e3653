// SPDX-License-Identifier: Apache-2.0
//
// Driver API: streams.
//
// Context:  application threads
// Owns:     nothing; objects live in core
// Promises: waiting calls return not before the virtual end they wait for
// Not here: events (event_api.cpp), capture (graph_api.cpp)
#include <algorithm>
#include <cstring>

#include "core/clock.hpp"
#include "core/hooks.hpp"
#include "core/work/timeline.hpp"
#include "cuda/api.hpp"

using namespace gpusim;

namespace {

int make_stream(CUstream* out, unsigned flags, int priority) {
  Context* c = current_context();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (c == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  auto* s = new Stream;
  s->context = c;
  s->flags = flags;
  s->priority = std::clamp(priority, -5, 0);
  s->non_blocking = (flags & CU_STREAM_NON_BLOCKING) != 0;
  {
    const std::lock_guard<std::mutex> lock(driver().mutex);
    s->id = c->next_stream_id++;
    c->streams.push_back(s);
  }
  if (const ToolHooks* h = hooks())
    h->resource({.id = ResourceId::kStreamCreated, .context = c, .stream = s});
  *out = reinterpret_cast<CUstream>(s);
  return CUDA_SUCCESS;
}

Event* event_of(CUevent handle) {
  auto* e = reinterpret_cast<Event*>(handle);
  return live(e) ? e : nullptr;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuStreamCreate(CUstream* phStream, unsigned int Flags) {
  GPUSIM_DRIVER_API(cuStreamCreate, phStream, Flags);
  return GPUSIM_DONE(make_stream(phStream, Flags, 0));
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
  GPUSIM_DRIVER_API(cuStreamCreateWithPriority, phStream, flags, priority);
  return GPUSIM_DONE(make_stream(phStream, flags, priority));
}

CUresult CUDAAPI cuStreamGetPriority(CUstream hStream, int* priority) {
  GPUSIM_DRIVER_API(cuStreamGetPriority, hStream, priority);
  if (priority == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  const Stream* s = stream_of(hStream);
  if (s == nullptr) return GPUSIM_DONE(stream_error());
  *priority = s->priority;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetFlags(CUstream hStream, unsigned int* flags) {
  GPUSIM_DRIVER_API(cuStreamGetFlags, hStream, flags);
  if (flags == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  const Stream* s = stream_of(hStream);
  if (s == nullptr) return GPUSIM_DONE(stream_error());
  *flags = s->flags;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetId(CUstream hStream, unsigned long long* streamId) {
  GPUSIM_DRIVER_API(cuStreamGetId, hStream, streamId);
  if (streamId == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  const Stream* s = stream_of(hStream);
  if (s == nullptr) return GPUSIM_DONE(stream_error());
  *streamId = s->id;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetCtx(CUstream hStream, CUcontext* pctx) {
  GPUSIM_DRIVER_API(cuStreamGetCtx, hStream, pctx);
  if (pctx == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  const Stream* s = stream_of(hStream);
  if (s == nullptr) return GPUSIM_DONE(stream_error());
  *pctx = reinterpret_cast<CUcontext>(s->context);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
  GPUSIM_DRIVER_API(cuStreamWaitEvent, hStream, hEvent, Flags);
  Stream* s = stream_of(hStream);
  Event* e = event_of(hEvent);
  if (s == nullptr) return GPUSIM_DONE(stream_error());
  return GPUSIM_DONE(e != nullptr ? wait_event(s, e) : CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuStreamQuery(CUstream hStream) {
  GPUSIM_DRIVER_API(cuStreamQuery, hStream);
  Stream* s = stream_of(hStream);
  if (s == nullptr) return GPUSIM_DONE(stream_error());
  return GPUSIM_DONE(tail_ns(s) <= now_ns() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream hStream) {
  GPUSIM_DRIVER_API(cuStreamSynchronize, hStream);
  Stream* s = stream_of(hStream);
  if (s == nullptr) return GPUSIM_DONE(stream_error());
  if (s->capture != nullptr) return GPUSIM_DONE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  synchronize_stream(s);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream hStream) {
  GPUSIM_DRIVER_API(cuStreamDestroy_v2, hStream);
  Stream* s = stream_of(hStream);
  if (s == nullptr || s == &s->context->null_stream) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  if (const ToolHooks* h = hooks())
    h->resource({.id = ResourceId::kStreamDestroyStarting, .context = s->context, .stream = s});
  s->magic = kDead;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetDevice(CUstream hStream, CUdevice* device) {
  GPUSIM_DRIVER_API(cuStreamGetDevice, hStream, device);
  const Stream* s = stream_of(hStream);
  if (s == nullptr) return GPUSIM_DONE(stream_error());
  if (device == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *device = s->context->device->ordinal;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetCtx_v2(CUstream hStream, CUcontext* pCtx, CUgreenCtx* pGreenCtx) {
  GPUSIM_DRIVER_API(cuStreamGetCtx_v2, hStream, pCtx, pGreenCtx);
  const Stream* s = stream_of(hStream);
  if (s == nullptr) return GPUSIM_DONE(stream_error());
  if (pCtx != nullptr) *pCtx = reinterpret_cast<CUcontext>(s->context);
  if (pGreenCtx != nullptr) *pGreenCtx = nullptr;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr,
                                      CUstreamAttrValue* value) {
  GPUSIM_DRIVER_API(cuStreamGetAttribute, hStream, attr, value);
  const Stream* s = stream_of(hStream);
  if (s == nullptr) return GPUSIM_DONE(stream_error());
  if (value == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  std::memset(value, 0, sizeof *value);
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->priority = s->priority;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                                      const CUstreamAttrValue* value) {
  GPUSIM_DRIVER_API(cuStreamSetAttribute, hStream, attr, value);
  Stream* s = stream_of(hStream);
  if (s == nullptr) return GPUSIM_DONE(stream_error());
  if (value == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) s->priority = std::clamp(value->priority, -5, 0);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamCopyAttributes(CUstream dst, CUstream src) {
  GPUSIM_DRIVER_API(cuStreamCopyAttributes, dst, src);
  Stream* to = stream_of(dst);
  const Stream* from = stream_of(src);
  if (to == nullptr || from == nullptr) return GPUSIM_DONE(stream_error());
  to->priority = from->priority;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                        unsigned int flags) {
  GPUSIM_DRIVER_API(cuStreamAttachMemAsync, hStream, dptr, length, flags);
  return GPUSIM_DONE(stream_of(hStream) != nullptr ? static_cast<int>(CUDA_SUCCESS)
                                                   : stream_error());
}
}  // extern "C"
