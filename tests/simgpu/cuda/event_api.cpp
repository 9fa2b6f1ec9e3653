// SPDX-License-Identifier: Apache-2.0
//
// Driver API: events.
//
// Context:  application threads
// Owns:     nothing; objects live in core
// Promises: waiting calls return not before the virtual end they wait for
// Not here: streams (stream_api.cpp)
#include <algorithm>

#include "core/clock.hpp"
#include "core/work/timeline.hpp"
#include "cuda/api.hpp"

using namespace gpusim;

namespace {

Event* event_of(CUevent handle) {
  auto* e = reinterpret_cast<Event*>(handle);
  return live(e) ? e : nullptr;
}

int record(CUevent hEvent, CUstream hStream) {
  Event* e = event_of(hEvent);
  Stream* s = stream_of(hStream);
  if (e == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (s == nullptr) return stream_error();
  record_event(e, s);
  return CUDA_SUCCESS;
}

int elapsed(float* ms, CUevent hStart, CUevent hEnd) {
  const Event* a = event_of(hStart);
  const Event* b = event_of(hEnd);
  if (ms == nullptr || a == nullptr || b == nullptr || !a->recorded || !b->recorded)
    return CUDA_ERROR_INVALID_HANDLE;
  if (std::max(a->time_ns, b->time_ns) > now_ns()) return CUDA_ERROR_NOT_READY;
  *ms = static_cast<float>(static_cast<double>(static_cast<std::int64_t>(b->time_ns - a->time_ns)) *
                           1e-6);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuEventCreate(CUevent* phEvent, unsigned int Flags) {
  GPUSIM_DRIVER_API(cuEventCreate, phEvent, Flags);
  if (phEvent == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  if (current_context() == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  auto* e = new Event;
  e->id = driver().next_event_id.fetch_add(1);
  e->context = current_context();
  e->flags = Flags;
  *phEvent = reinterpret_cast<CUevent>(e);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream) {
  GPUSIM_DRIVER_API(cuEventRecord, hEvent, hStream);
  return GPUSIM_DONE(record(hEvent, hStream));
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
  GPUSIM_DRIVER_API(cuEventRecordWithFlags, hEvent, hStream, flags);
  return GPUSIM_DONE(record(hEvent, hStream));
}

CUresult CUDAAPI cuEventQuery(CUevent hEvent) {
  GPUSIM_DRIVER_API(cuEventQuery, hEvent);
  Event* e = event_of(hEvent);
  if (e == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  return GPUSIM_DONE(event_time_ns(e) <= now_ns() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult CUDAAPI cuEventSynchronize(CUevent hEvent) {
  GPUSIM_DRIVER_API(cuEventSynchronize, hEvent);
  Event* e = event_of(hEvent);
  if (e == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  synchronize_event(e);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent hEvent) {
  GPUSIM_DRIVER_API(cuEventDestroy_v2, hEvent);
  Event* e = event_of(hEvent);
  if (e == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  e->magic = kDead;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventElapsedTime_v2(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  GPUSIM_DRIVER_API(cuEventElapsedTime_v2, pMilliseconds, hStart, hEnd);
  return GPUSIM_DONE(elapsed(pMilliseconds, hStart, hEnd));
}

#undef cuEventElapsedTime
CUresult CUDAAPI cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  GPUSIM_DRIVER_API(cuEventElapsedTime, pMilliseconds, hStart, hEnd);
  return GPUSIM_DONE(elapsed(pMilliseconds, hStart, hEnd));
}

}  // extern "C"
