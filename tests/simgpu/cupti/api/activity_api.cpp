// SPDX-License-Identifier: Apache-2.0
//
// CUPTI entry points: activity kinds, filters, flush, external correlation.
//
// Context:  any
// Owns:     nothing
// Promises: works without a subscriber; enabling a whole kind erases its per-call filters
// Not here: attributes (attribute_api.cpp), reading buffers (query_api.cpp)
#include <unistd.h>

#include "core/config.hpp"
#include "core/driver.hpp"
#include "core/hooks.hpp"
#include "cupti/api/call.hpp"
#include "cupti/buffers.hpp"
#include "cupti/completion.hpp"
#include "cupti/cupti_clock.hpp"
#include "cupti/delivery.hpp"
#include "cupti/layout.hpp"
#include "cupti/state.hpp"

using namespace gpusim;

namespace {

[[noreturn]] void hang() {
  for (;;) pause();
}

void reset_filter(std::uint32_t kind) {
  const int domain = kind == CUPTI_ACTIVITY_KIND_DRIVER    ? 1
                     : kind == CUPTI_ACTIVITY_KIND_RUNTIME ? 2
                                                           : 0;
  if (domain == 0) return;
  for (auto& f : state().filter[domain]) f.store(Filter::kUnset);
}

CUptiResult check_kind(std::uint32_t kind) {
  if (kind == 0 || kind >= kMaxKind) return CUPTI_ERROR_INVALID_KIND;
  if (removed_kind(kind))
    return config().layout >= Layout::k13_0 ? CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED
                                            : CUPTI_ERROR_NOT_COMPATIBLE;
  return record_size(kind) != 0 || kind <= 55 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

bool any_kind_on() {
  for (const auto& k : state().kinds)
    if (k.load()) return true;
  return false;
}

void dump(const Record& r) { append(BufferOwner::kThread, &r, 1); }

/// What EnableAndDump adds: a record of everything that exists already.
void dump_existing(std::uint32_t kind) {
  if (driver_status() != 0) return;
  Driver& d = driver();
  if (kind == CUPTI_ACTIVITY_KIND_DEVICE)
    for (int i = 0; i < d.device_count; ++i) dump(make_device(*d.devices[i]));
  std::vector<Context*> contexts;
  {
    const std::lock_guard<std::mutex> lock(d.mutex);
    contexts = d.contexts;
  }
  for (const Context* c : contexts) {
    if (!live(c)) continue;
    if (kind == CUPTI_ACTIVITY_KIND_CONTEXT) dump(make_context(*c));
    if (kind != CUPTI_ACTIVITY_KIND_STREAM) continue;
    dump(make_stream(c->null_stream, 0));
    for (const Stream* s : c->streams)
      if (live(s)) dump(make_stream(*s, 0));
  }
}

CUptiResult enable(std::uint32_t kind) {
  const CUptiResult known = check_kind(kind);
  if (known != CUPTI_SUCCESS) return known;
  attach_to_driver();
  reset_filter(kind);
  const bool of_calls = kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER;
  if (of_calls && driver().started.load())
    state().silent[kind].store(on(Scenario::kDeafWholeKinds));
  state().kinds[kind].store(true);
  start_worker();
  return CUPTI_SUCCESS;
}

CUptiResult disable(std::uint32_t kind) {
  if (kind == 0 || kind >= kMaxKind) return CUPTI_ERROR_INVALID_KIND;
  if (on(Scenario::kDisableHangs) && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) hang();
  reset_filter(kind);
  state().kinds[kind].store(false);
  if (!any_kind_on()) after_shutdown();
  return CUPTI_SUCCESS;
}

/// Measured with CUPTI 13.0.1 on a GPU: a filter that comes once CUDA is up is taken, and deaf.
bool late_filter() {
  return (config().layout == Layout::k13_0 || on(Scenario::kDeafFilters)) &&
         driver().started.load();
}

CUptiResult set_filter(ApiDomain domain, std::uint32_t cbid, bool wanted) {
  const std::uint32_t limit = domain == ApiDomain::kDriver
                                  ? static_cast<std::uint32_t>(CUPTI_DRIVER_TRACE_CBID_SIZE)
                                  : static_cast<std::uint32_t>(CUPTI_RUNTIME_TRACE_CBID_SIZE);
  if (cbid == 0 || cbid >= limit) return CUPTI_ERROR_INVALID_PARAMETER;
  attach_to_driver();
  state().filter[static_cast<int>(domain)][cbid].store(!wanted         ? Filter::kOff
                                                       : late_filter() ? Filter::kSilent
                                                                       : Filter::kOn);
  start_worker();
  return CUPTI_SUCCESS;
}

void flush_scenarios() {
  const std::int64_t n = state().flushes.fetch_add(1) + 1;
  if (on(Scenario::kFlushHangs) && n >= argument(Scenario::kFlushHangs)) hang();
  if (on(Scenario::kForkFlushHangs) && forked_child()) hang();
}

}  // namespace

extern "C" {

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityEnable", Requirement::kDriver, LogLevel::kNormal,
                "kind=%d", kind);
  return call.run([&] { return enable(kind); });
}

CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityEnableAndDump", Requirement::kDriver,
                LogLevel::kNormal, "kind=%d", kind);
  return call.run([&] {
    const CUptiResult result = enable(kind);
    if (result == CUPTI_SUCCESS) dump_existing(kind);
    return result;
  });
}

CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityDisable", Requirement::kDriver, LogLevel::kNormal,
                "kind=%d", kind);
  return call.run([&] { return disable(kind); });
}

CUptiResult CUPTIAPI cuptiActivityEnableContext(CUcontext, CUpti_ActivityKind kind) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityEnableContext", Requirement::kDriver,
                LogLevel::kNormal, "kind=%d", kind);
  return call.run([&] { return enable(kind); });
}

CUptiResult CUPTIAPI cuptiActivityDisableContext(CUcontext, CUpti_ActivityKind kind) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityDisableContext", Requirement::kDriver,
                LogLevel::kNormal, "kind=%d", kind);
  return call.run([&] { return disable(kind); });
}

CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t wanted) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityEnableDriverApi", Requirement::kDriver,
                LogLevel::kNormal, "cbid=%u enable=%u", cbid, wanted);
  return call.run([&] { return set_filter(ApiDomain::kDriver, cbid, wanted != 0); });
}

CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t wanted) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityEnableRuntimeApi", Requirement::kDriver,
                LogLevel::kNormal, "cbid=%u enable=%u", cbid, wanted);
  return call.run([&] { return set_filter(ApiDomain::kRuntime, cbid, wanted != 0); });
}

CUptiResult CUPTIAPI
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                               CUpti_BuffersCallbackCompleteFunc funcBufferCompleted) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityRegisterCallbacks", Requirement::kDriver,
                LogLevel::kNormal, " ");
  return call.run([&] {
    if (funcBufferRequested == nullptr || funcBufferCompleted == nullptr)
      return CUPTI_ERROR_INVALID_PARAMETER;
    attach_to_driver();
    state().request.store(funcBufferRequested);
    state().completed.store(funcBufferCompleted);
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityFlushAll", Requirement::kDriver, LogLevel::kNormal,
                "flag=%u", flag);
  return call.run([&] {
    flush_scenarios();
    flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiActivityFlush(CUcontext, uint32_t, uint32_t flag) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityFlush", Requirement::kDriver, LogLevel::kNormal,
                "flag=%u", flag);
  return call.run([&] {
    flush_scenarios();
    flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t time) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityFlushPeriod", Requirement::kDriver, LogLevel::kNormal,
                "ms=%u", time);
  return call.run([&] {
    state().flush_period_ms.store(time);
    wake_worker();
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                            uint64_t id) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityPushExternalCorrelationId", Requirement::kDriver,
                LogLevel::kFrequent, "kind=%d id=%llu", kind, static_cast<unsigned long long>(id));
  return call.run([&] {
    if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
        kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
      return CUPTI_ERROR_INVALID_PARAMETER;
    push_external(kind, id);
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                           uint64_t* lastId) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityPopExternalCorrelationId", Requirement::kDriver,
                LogLevel::kFrequent, "kind=%d", kind);
  return call.run([&] {
    if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
        kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
      return CUPTI_ERROR_INVALID_PARAMETER;
    std::uint64_t id = 0;
    if (!pop_external(kind, &id)) return CUPTI_ERROR_QUEUE_EMPTY;
    if (lastId != nullptr) *lastId = id;
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiFinalize(void) {
  ApiEntry call(GPUSIM_CALLER, "cuptiFinalize", Requirement::kNothing, LogLevel::kNormal, " ");
  return call.run([&] {
    const bool had_slot = state().subscriber.load() != 0;
    state().clear();
    set_timestamp_function(nullptr);
    discard_pending();
    discard_buffers();
    if (had_slot) subscriber_slot().taken.store(false);
    return CUPTI_SUCCESS;
  });
}

}  // extern "C"
