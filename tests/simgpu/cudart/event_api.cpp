// SPDX-License-Identifier: Apache-2.0
//
// Runtime API: events.
//
// Context:  application threads
// Owns:     nothing; objects live in core
// Promises: an event is reached at the end of the work recorded before it
// Not here: streams waiting for events (stream_api.cpp)
#include <algorithm>

#include "core/clock.hpp"
#include "core/work/timeline.hpp"
#include "cudart/api.hpp"

using namespace gpusim;

namespace {

int create(cudaEvent_t* out, unsigned flags) {
  int error = cudaSuccess;
  Context* c = runtime_context(&error);
  if (c == nullptr) return error;
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = reinterpret_cast<cudaEvent_t>(create_event(c, flags));
  return cudaSuccess;
}

int record(cudaEvent_t event, cudaStream_t stream) {
  int error = cudaSuccess;
  Event* e = object<Event>(event);
  if (e == nullptr) return cudaErrorInvalidResourceHandle;
  Stream* s = runtime_stream(stream, &error);
  if (s == nullptr) return error;
  if (s->context->device != e->context->device) return cudaErrorInvalidResourceHandle;
  record_event(e, s);
  return cudaSuccess;
}

int elapsed(float* ms, cudaEvent_t start, cudaEvent_t end) {
  Event* a = object<Event>(start);
  Event* b = object<Event>(end);
  if (ms == nullptr) return cudaErrorInvalidValue;
  if (a == nullptr || b == nullptr || !a->recorded || !b->recorded ||
      ((a->flags | b->flags) & cudaEventDisableTiming) != 0)
    return cudaErrorInvalidResourceHandle;
  const std::uint64_t from = event_time_ns(a), to = event_time_ns(b);
  if (std::max(from, to) > now_ns()) return cudaErrorNotReady;
  *ms = static_cast<float>(static_cast<double>(static_cast<std::int64_t>(to - from)) * 1e-6);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t* event) {
  GPUSIM_RUNTIME_API(cudaEventCreate, event);
  return GPUSIM_DONE(create(event, cudaEventDefault));
}

cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaEventCreateWithFlags, event, flags);
  return GPUSIM_DONE(create(event, flags));
}

cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaEventRecord, event, stream);
  return GPUSIM_DONE(record(event, stream));
}

cudaError_t CUDARTAPI cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                               unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaEventRecordWithFlags, event, stream, flags);
  return GPUSIM_DONE(record(event, stream));
}

cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t event) {
  GPUSIM_RUNTIME_API(cudaEventQuery, event);
  Event* e = object<Event>(event);
  if (e == nullptr) return GPUSIM_DONE(cudaErrorInvalidResourceHandle);
  return GPUSIM_DONE(event_time_ns(e) <= now_ns() ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event) {
  GPUSIM_RUNTIME_API(cudaEventSynchronize, event);
  Event* e = object<Event>(event);
  if (e == nullptr) return GPUSIM_DONE(cudaErrorInvalidResourceHandle);
  synchronize_event(e);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event) {
  GPUSIM_RUNTIME_API(cudaEventDestroy, event);
  Event* e = object<Event>(event);
  if (e == nullptr) return GPUSIM_DONE(cudaErrorInvalidResourceHandle);
  e->magic = kDead;
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  GPUSIM_RUNTIME_API(cudaEventElapsedTime, ms, start, end);
  return GPUSIM_DONE(elapsed(ms, start, end));
}

}  // extern "C"
