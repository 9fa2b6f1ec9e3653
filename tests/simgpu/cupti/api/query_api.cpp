// SPDX-License-Identifier: Apache-2.0
//
// CUPTI entry points that only answer: version, names, ids, time, sizes, reading buffers.
//
// Context:  any
// Owns:     nothing
// Promises: those that the real library answers without a driver are answered without one; all are
//           thread-safe
// Not here: anything that changes state; what came with 13.2 (later_api.cpp)
#include <cstring>

#include "core/config.hpp"
#include "core/driver.hpp"
#include "cupti/api/call.hpp"
#include "cupti/cupti_clock.hpp"
#include "cupti/layout.hpp"
#include "cupti/names.hpp"
#include "cupti/state.hpp"

using namespace gpusim;

namespace {

template <typename T, typename Handle>
T* as(Handle handle) {
  auto* p = reinterpret_cast<T*>(handle);
  return live(p) ? p : nullptr;
}

Context* context_or_current(CUcontext handle) {
  return handle != nullptr ? as<Context>(handle) : current_context();
}

CUptiResult next_record(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  std::size_t at = 0;
  std::uint32_t kind = 0;
  if (*record != nullptr) {
    const auto* current = reinterpret_cast<const std::uint8_t*>(*record);
    if (current < buffer || current >= buffer + valid) return CUPTI_ERROR_INVALID_PARAMETER;
    std::memcpy(&kind, current, sizeof kind);
    if (record_size(kind) == 0) return CUPTI_ERROR_INVALID_KIND;
    at = static_cast<std::size_t>(current - buffer) + record_size(kind);
  }
  if (at + sizeof kind > valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  std::memcpy(&kind, buffer + at, sizeof kind);
  if (record_size(kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  if (at + record_size(kind) > valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(buffer + at);
  return CUPTI_SUCCESS;
}

CUptiResult stream_id(CUcontext context, CUstream stream, std::uint32_t* id) {
  const Context* c = context_or_current(context);
  if (c == nullptr) return CUPTI_ERROR_INVALID_CONTEXT;
  const bool null_stream = reinterpret_cast<std::uintptr_t>(stream) <= 2;
  const Stream* s = null_stream ? &c->null_stream : as<Stream>(stream);
  if (s == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_STREAM;
  *id = s->id;
  return CUPTI_SUCCESS;
}

}  // namespace

extern "C" {

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t* version) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetVersion", Requirement::kNothing, LogLevel::kNormal, " ");
  return call.run([&] {
    if (version == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    *version = api_version();
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char** str) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetResultString", Requirement::kNothing, LogLevel::kFrequent,
                "result=%d", result);
  return call.run([&] {
    if (str == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    *str = result_name(result);
    return *str != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
  });
}

CUptiResult CUPTIAPI cuptiGetErrorMessage(CUptiResult result, const char** str) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetErrorMessage", Requirement::kNothing, LogLevel::kFrequent,
                "result=%d", result);
  return call.run([&] {
    if (str == nullptr || result_name(result) == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    *str = "an error of the simulated GPU (gpuprof)";
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiGetLastError(void) { return CUPTI_SUCCESS; }

CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid,
                                          const char** name) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetCallbackName", Requirement::kNothing, LogLevel::kFrequent,
                "domain=%d cbid=%u", domain, cbid);
  return call.run([&] {
    const char* found = callback_name(domain, cbid);
    if (name == nullptr || found == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    *name = found;
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t* timestamp) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetTimestamp", Requirement::kNothing, LogLevel::kFrequent,
                " ");
  return call.run([&] {
    if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    *timestamp = cupti_now();
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t* buffer, size_t validBufferSizeBytes,
                                                CUpti_Activity** record) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityGetNextRecord", Requirement::kNothing,
                LogLevel::kFrequent, "valid=%zu", validBufferSizeBytes);
  return call.run([&] { return next_record(buffer, validBufferSizeBytes, record); });
}

CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityGetNumDroppedRecords", Requirement::kNothing,
                LogLevel::kNormal, " ");
  return call.run([&] {
    if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    std::unique_lock<std::mutex> abba(state().abba, std::defer_lock);
    if (on(Scenario::kAbba)) abba.lock();
    *dropped = state().dropped.exchange(0);
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t* contextId) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetContextId", Requirement::kDriver, LogLevel::kFrequent, " ");
  return call.run([&] {
    const Context* c = as<Context>(context);
    if (c == nullptr || contextId == nullptr) return CUPTI_ERROR_INVALID_CONTEXT;
    *contextId = c->id;
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t* deviceId) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetDeviceId", Requirement::kDriver, LogLevel::kFrequent, " ");
  return call.run([&] {
    const Context* c = context_or_current(context);
    if (c == nullptr || deviceId == nullptr) return CUPTI_ERROR_INVALID_CONTEXT;
    *deviceId = static_cast<uint32_t>(c->device->ordinal);
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream,
                                        uint32_t* streamId) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetStreamIdEx", Requirement::kDriver, LogLevel::kFrequent,
                "per_thread=%u", perThreadStream);
  return call.run([&] { return stream_id(context, stream, streamId); });
}

CUptiResult CUPTIAPI cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* streamId) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetStreamId", Requirement::kDriver, LogLevel::kFrequent, " ");
  return call.run([&] { return stream_id(context, stream, streamId); });
}

CUptiResult CUPTIAPI cuptiGetGraphId(CUgraph graph, uint32_t* pId) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetGraphId", Requirement::kDriver, LogLevel::kFrequent, " ");
  return call.run([&] {
    const Graph* g = as<Graph>(graph);
    if (g == nullptr || pId == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    *pId = g->id;
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t* pId) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetGraphExecId", Requirement::kDriver, LogLevel::kFrequent,
                " ");
  return call.run([&] {
    const GraphExec* g = as<GraphExec>(graphExec);
    if (g == nullptr || pId == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    *pId = g->id;
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, uint64_t* nodeId) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetGraphNodeId", Requirement::kDriver, LogLevel::kFrequent,
                " ");
  return call.run([&] {
    const GraphNode* n = as<GraphNode>(node);
    if (n == nullptr || nodeId == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    *nodeId = n->id;
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiComputeCapabilitySupported(int, int, int* support) {
  if (support == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *support = 1;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiDeviceSupported(CUdevice, int* support) {
  if (support == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *support = 1;
  return CUPTI_SUCCESS;
}

}  // extern "C"
