// SPDX-License-Identifier: Apache-2.0
//
// One launch record per outermost call, when it begins, and one row of it when it returns.
//
// Context:  callback
// Owns:     nothing
#include "inject/cupti/callbacks/api_callback.hpp"

#include <cstring>

#include "inject/cupti/activity/graph_devices.hpp"
#include "inject/cupti/activity/name_ids.hpp"
#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/callbacks/call_list.hpp"
#include "inject/cupti/callbacks/kernel_steps.hpp"
#include "inject/hot/recorder.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/sample/unwind/launch_stack.hpp"

namespace gpuprof::cupti {

namespace {

// A runtime call reaches the driver's function under the same correlation id: the second callback
// of one id on one thread is the inner one.
thread_local std::uint32_t t_last_correlation = 0;

constexpr std::uint32_t kCalls = hot::kOnCuda | hot::kOnKernelSteps;
// Where no call is wanted, only those on graphs are switched on (Mode::kGraphSteps).
constexpr std::uint32_t kAnyUse = kCalls | hot::kOnOpSteps;

bool launches_device_work(CallClass call_class) {
  return call_class == CallClass::kKernel || call_class == CallClass::kGraph;
}

// In what is launched from now on nobody can tell which stream is captured.
void capture_may_begin(CallClass call_class) {
  if (call_class == CallClass::kCapture)
    g_callback_state.captures.fetch_add(1, std::memory_order_relaxed);
}

// One that was refused began nothing; the end of a capture that went wrong is its end, another that
// was refused is none. A cudaError_t has the same numbers.
void follow_capture(CallClass call_class, std::int32_t result) {
  const bool over = call_class == CallClass::kCaptureEnd &&
                    (result == 0 || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                     result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  if (!over && (call_class != CallClass::kCapture || result == 0)) return;
  // Recording may have begun amid one.
  if (g_callback_state.captures.load(std::memory_order_relaxed) > 0)
    g_callback_state.captures.fetch_sub(1, std::memory_order_relaxed);
}

void follow_graphs(hot::GraphCallState& graphs, CallClass call_class) {
  if (call_class == CallClass::kGraph) ++graphs.launches;
  if (call_class == CallClass::kCaptureEnd) graphs.capturing_in = 0;
  if (call_class != CallClass::kCapture) return;
  ++graphs.captures;
  graphs.capturing_in = hot::g_state.graph_callback_gaps.load(std::memory_order_relaxed) + 1;
}

std::uint16_t flags_of(CallClass call_class) {
  std::uint16_t flags = 0;
  if (launches_device_work(call_class)) flags |= wire::kLaunchDeviceWork;
  if (call_class == CallClass::kGraph) flags |= wire::kLaunchGraph;
  if (call_class == CallClass::kCapture) flags |= wire::kLaunchCaptureBegins;
  if (call_class == CallClass::kCaptureEnd) flags |= wire::kLaunchCaptureEnds;
  const std::int64_t others = g_callback_state.captures.load(std::memory_order_relaxed) -
                              (call_class == CallClass::kCaptureEnd ? 1 : 0);
  if (others > 0) flags |= wire::kLaunchCaptured;
  return flags;
}

struct Call {
  wire::ApiDomain domain;
  CUpti_CallbackId cbid;
  CallClass call_class;
  const CUpti_CallbackData& data;
};

void record_launch(const hot::Guard& guard, const Call& call, std::uint64_t now_ns) {
  const auto& [domain, cbid, call_class, data] = call;
  wire::Launch launch{};
  launch.ts_ns = now_ns;
  if (hot::on(hot::kOnLaunchStacks)) {
    const auto name = reinterpret_cast<std::uint64_t>(data.symbolName);
    launch.stack_id = sample::capture_launch_stack(guard, name ^ cbid, now_ns);
  }
  launch.correlation = data.correlationId;
  launch.api = static_cast<std::uint16_t>(domain);
  launch.cbid = cbid;
  launch.flags = flags_of(call_class);
  if (call_class == CallClass::kGraph) {
    set_seen(kSawGraph);
    record_graph_launch(data.correlationId, data.contextUid);
  }
  launch.tid = guard.tid();
  launch.op_id = guard.block().open_op;
  hot::record(guard, launch, now_ns);
}

void count(CallClass call_class) {
  (launches_device_work(call_class) ? g_callback_state.device_launches
                                    : g_callback_state.other_calls)
      .fetch_add(1, std::memory_order_relaxed);
  capture_may_begin(call_class);
  hot::count(wire::Counter::kLaunchCallbacks);
}

// Of a thread that makes another call now.
bool never_returned(const hot::PendingApiCall& open) {
  return open.correlation != 0 &&
         open.begun_ns >= g_callback_state.callbacks_on_since_ns.load(std::memory_order_relaxed) &&
         class_of(static_cast<wire::ApiDomain>(open.api), open.cbid) != CallClass::kEvent;
}

void on_call_enter(const Call& call) {
  const auto& [domain, cbid, call_class, data] = call;
  if (data.correlationId == t_last_correlation) return;
  const hot::Guard guard(hot::RingRole::kCallback);
  if (!guard || hot::is_our_thread(guard.tid())) return;
  t_last_correlation = data.correlationId;
  hot::resume_after_fork();
  follow_graphs(guard.block().graphs, call_class);
  if (!hot::on(kCalls)) return;
  const std::uint64_t now_ns = guard.block().clock.now_ns();
  hot::PendingApiCall& open = guard.block().open_call;
  const bool other_is_open = never_returned(open);
  open = {now_ns, data.correlationId, static_cast<std::uint16_t>(cbid),
          static_cast<std::uint16_t>(domain)};
  if (call_class == CallClass::kEvent) return;
  count(call_class);
  if (other_is_open) g_callback_state.unreturned.fetch_add(1, std::memory_order_relaxed);
  if (hot::on(hot::kOnKernelSteps) && data.symbolName != nullptr) {
    // An id newer than our headers that carries a kernel's name launches one.
    if (call_class == CallClass::kKernel || call_class == CallClass::kNone)
      on_kernel_launch(guard, data.symbolName, now_ns);
  }
  if (hot::on(hot::kOnCuda)) record_launch(guard, call, now_ns);
  // The row is the call's own time, not that of its stack.
  if (hot::on(hot::kOnLaunchStacks)) open.begun_ns = guard.block().clock.now_ns();
}

std::int32_t result_of(const CUpti_CallbackData& data) {
  std::int32_t result = 0;
  // A CUresult or a cudaError_t.
  if (data.functionReturnValue != nullptr)
    std::memcpy(&result, data.functionReturnValue, sizeof result);
  return result;
}

// The driver's call inside a runtime call returns under the same correlation id.
void on_call_exit(const Call& call) {
  const auto& [domain, cbid, call_class, data] = call;
  const bool refused = call_class == CallClass::kCapture && result_of(data) != 0;
  if (data.correlationId != t_last_correlation || (!refused && !hot::on(hot::kOnCuda))) return;
  const hot::Guard guard(hot::RingRole::kCallback);
  if (!guard) return;
  if (refused) guard.block().graphs.capturing_in = 0;
  if (!hot::on(hot::kOnCuda)) return;
  hot::PendingApiCall& open = guard.block().open_call;
  if (open.correlation != data.correlationId || open.cbid != cbid ||
      open.api != static_cast<std::uint16_t>(domain))
    return;
  open.correlation = 0;
  if (call_class != CallClass::kEvent)
    g_callback_state.returns.fetch_add(1, std::memory_order_relaxed);
  if (call_class == CallClass::kSync)
    g_callback_state.waits.fetch_add(1, std::memory_order_relaxed);
  follow_capture(call_class, result_of(data));
  if (g_callback_state.drop_api.load(std::memory_order_relaxed)) return;
  const std::uint64_t now_ns = guard.block().clock.now_ns();
  wire::ApiCall row{};
  row.start_ns = open.begun_ns;
  row.end_ns = now_ns;
  row.name_id = api_name_id(guard, domain, cbid, now_ns);
  row.cbid = cbid;
  row.api = static_cast<std::uint32_t>(domain);
  row.correlation = data.correlationId;
  row.tid = guard.tid();
  row.result = result_of(data);
  row.flags = wire::kApiMonotonicClock;
  hot::record(guard, row, now_ns);
}

}  // namespace

void CUPTIAPI api_callback(void*, CUpti_CallbackDomain cupti_domain, CUpti_CallbackId cbid,
                           const void* data) {
  const bool runtime = cupti_domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (!runtime && cupti_domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  if (!hot::on(kAnyUse)) return;
  const auto domain = runtime ? wire::ApiDomain::kRuntime : wire::ApiDomain::kDriver;
  const auto* seen = static_cast<const CUpti_CallbackData*>(data);
  const Call call{domain, cbid, class_of(domain, cbid), *seen};
  if (seen->callbackSite == CUPTI_API_ENTER)
    on_call_enter(call);
  else
    on_call_exit(call);
}

}  // namespace gpuprof::cupti
