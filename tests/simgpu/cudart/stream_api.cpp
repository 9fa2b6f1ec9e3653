// SPDX-License-Identifier: Apache-2.0
//
// Runtime API: streams.
//
// Context:  application threads
// Owns:     nothing; objects live in core
// Promises: waiting calls return not before the virtual end they wait for
// Not here: capture (graph_api.cpp), events (event_api.cpp)
#include <cuda.h>

#include "core/clock.hpp"
#include "core/work/timeline.hpp"
#include "cudart/api.hpp"

using namespace gpusim;

namespace {

int create(cudaStream_t* out, unsigned flags, int priority) {
  int error = cudaSuccess;
  Context* c = runtime_context(&error);
  if (c == nullptr) return error;
  if (out == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0)
    return cudaErrorInvalidValue;
  *out = reinterpret_cast<cudaStream_t>(create_stream(c, flags, priority));
  return cudaSuccess;
}

int wait(cudaStream_t stream, cudaEvent_t event) {
  int error = cudaSuccess;
  Stream* s = runtime_stream(stream, &error);
  Event* e = object<Event>(event);
  if (s == nullptr) return error;
  return e != nullptr ? wait_event(s, e) : cudaErrorInvalidResourceHandle;
}

/// Answers a question about a stream with `answer(stream)`.
template <typename Out, typename Answer>
int ask(cudaStream_t stream, Out* out, Answer answer) {
  int error = cudaSuccess;
  Stream* s = runtime_stream(stream, &error);
  if (s == nullptr) return error;
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = static_cast<Out>(answer(s));
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t* pStream) {
  GPUSIM_RUNTIME_API(cudaStreamCreate, pStream);
  return GPUSIM_DONE(create(pStream, 0, 0));
}

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaStreamCreateWithFlags, pStream, flags);
  return GPUSIM_DONE(create(pStream, flags, 0));
}

cudaError_t CUDARTAPI cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags,
                                                   int priority) {
  GPUSIM_RUNTIME_API(cudaStreamCreateWithPriority, pStream, flags, priority);
  return GPUSIM_DONE(create(pStream, flags, priority));
}

cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaStreamDestroy, stream);
  int error = cudaSuccess;
  Stream* s = runtime_stream(stream, &error);
  if (s == nullptr) return GPUSIM_DONE(error);
  if (s == &s->context->null_stream) return GPUSIM_DONE(cudaErrorInvalidResourceHandle);
  destroy_stream(s);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaStreamGetPriority(cudaStream_t hStream, int* priority) {
  GPUSIM_RUNTIME_API(cudaStreamGetPriority, hStream, priority);
  return GPUSIM_DONE(ask(hStream, priority, [](const Stream* s) { return s->priority; }));
}

cudaError_t CUDARTAPI cudaStreamGetFlags(cudaStream_t hStream, unsigned int* flags) {
  GPUSIM_RUNTIME_API(cudaStreamGetFlags, hStream, flags);
  return GPUSIM_DONE(ask(hStream, flags, [](const Stream* s) { return s->flags; }));
}

cudaError_t CUDARTAPI cudaStreamGetId(cudaStream_t hStream, unsigned long long* streamId) {
  GPUSIM_RUNTIME_API(cudaStreamGetId, hStream, streamId);
  return GPUSIM_DONE(ask(hStream, streamId, [](const Stream* s) { return s->id; }));
}

cudaError_t CUDARTAPI cudaStreamGetDevice(cudaStream_t hStream, int* device) {
  GPUSIM_RUNTIME_API(cudaStreamGetDevice, hStream, device);
  return GPUSIM_DONE(
      ask(hStream, device, [](const Stream* s) { return s->context->device->ordinal; }));
}

cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaStreamQuery, stream);
  int error = cudaSuccess;
  Stream* s = runtime_stream(stream, &error);
  if (s == nullptr) return GPUSIM_DONE(error);
  if (s->capture != nullptr) return GPUSIM_DONE(cudaErrorStreamCaptureUnsupported);
  return GPUSIM_DONE(tail_ns(s) <= now_ns() ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaStreamSynchronize, stream);
  int error = cudaSuccess;
  Stream* s = runtime_stream(stream, &error);
  if (s == nullptr) return GPUSIM_DONE(error);
  if (s->capture != nullptr) return GPUSIM_DONE(cudaErrorStreamCaptureUnsupported);
  synchronize_stream(s);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                          unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaStreamWaitEvent, stream, event, flags);
  return GPUSIM_DONE(wait(stream, event));
}

cudaError_t CUDARTAPI cudaStreamGetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
                                             cudaStreamAttrValue* value_out) {
  GPUSIM_RUNTIME_API(cudaStreamGetAttribute, hStream, attr, value_out);
  if (attr != cudaLaunchAttributePriority) return GPUSIM_DONE(cudaErrorNotSupported);
  if (value_out == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  return GPUSIM_DONE(
      ask(hStream, &value_out->priority, [](const Stream* s) { return s->priority; }));
}

cudaError_t CUDARTAPI cudaStreamSetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
                                             const cudaStreamAttrValue* value) {
  GPUSIM_RUNTIME_API(cudaStreamSetAttribute, hStream, attr, value);
  int error = cudaSuccess;
  return GPUSIM_DONE(runtime_stream(hStream, &error) != nullptr ? cudaSuccess : error);
}

}  // extern "C"
