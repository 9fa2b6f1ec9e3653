// SPDX-License-Identifier: Apache-2.0
//
// What the simulated CUPTI does when the simulated driver reports something.
//
// Context:  application threads, inside API calls
// Owns:     nothing
// Promises: callbacks come before and after the call on the calling thread; record kinds are
//           decided here, at enqueue; every client is served on its own
// Not here: delivery (delivery.cpp)
#include <mutex>
#include <unordered_set>

#include <cuda.h>
#include <cupti.h>

#include "core/clock.hpp"
#include "core/config.hpp"
#include "core/driver.hpp"
#include "core/hooks.hpp"
#include "cupti/api/call.hpp"
#include "cupti/buffers.hpp"
#include "cupti/clients.hpp"
#include "cupti/delivery.hpp"
#include "cupti/scenario.hpp"
#include "cupti/state.hpp"

namespace gpusim {
namespace {

CUpti_CallbackDomain domain_of(const ApiCall& call) {
  return call.domain == ApiDomain::kDriver ? CUPTI_CB_DOMAIN_DRIVER_API
                                           : CUPTI_CB_DOMAIN_RUNTIME_API;
}

/// What belongs to a call from entry to exit where the core's one slot is not enough.
struct CallExtra {
  std::uint64_t data[kMaxClients];
  ApiCall inner;  ///< the driver's launch inside the runtime's (nested-driver)
  bool nested;
};

CallExtra* extra_of(const ApiCall& call) {
  const bool has = config().cupti_per_client || on(Scenario::kNestedDriver);
  return has ? reinterpret_cast<CallExtra*>(call.tool_data) : nullptr;
}

void report_call(ApiCall& call, std::uint64_t* data, CUpti_ApiCallbackSite site) {
  const CUpti_CallbackDomain domain = domain_of(call);
  if (state().callback_on[domain][call.cbid].load(std::memory_order_relaxed) == 0) return;
  if (!should_call_back() || (site == CUPTI_API_EXIT && !should_report_return())) return;
  CUpti_CallbackData d{};
  d.callbackSite = site;
  d.functionName = call.name;
  d.functionParams = call.params;
  d.functionReturnValue = site == CUPTI_API_EXIT ? &call.result : nullptr;
  d.symbolName = call.symbol;
  d.context = static_cast<CUcontext>(call.context);
  d.contextUid = call.context_uid;
  d.correlationData = data;
  d.correlationId = call.correlation;
  call_client(domain, call.cbid, &d);
}

/// Whether a kernel has not been launched before (since CUPTI was first used).
bool first_launch(const char* symbol) {
  static auto* const mutex = new std::mutex;
  static auto* const seen = new std::unordered_set<const void*>;
  const std::lock_guard<std::mutex> lock(*mutex);
  return seen->insert(symbol).second;
}

/// The first launch of each kernel loads it, which the real library reports as overhead.
void record_loading(const ApiCall& call) {
  if (!kind_on(CUPTI_ACTIVITY_KIND_OVERHEAD)) return;
  constexpr std::uint32_t kLazyFunctionLoading = 5u << 16;
  const Record r = make_overhead(kLazyFunctionLoading, call.start_ns,
                                 call.start_ns + (call.end_ns - call.start_ns) / 2,
                                 call.correlation, record_thread_id());
  append(BufferOwner::kThread, &r, 1);
}

/// The driver's launch that the real runtime makes inside its own, under the same correlation id.
void nest(const ApiCall& call, CallExtra& extra) {
  static const cuLaunchKernel_params kNoParams{};
  extra.nested = call.domain == ApiDomain::kRuntime && call.symbol != nullptr;
  extra.inner = call;
  extra.inner.domain = ApiDomain::kDriver;
  extra.inner.cbid = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
  extra.inner.name = "cuLaunchKernel";
  extra.inner.params = &kNoParams;
  extra.inner.tool_data = 0;
}

void on_enter(ApiCall& call) {
  if (config().cupti_per_client || on(Scenario::kNestedDriver)) {
    auto* const made = new CallExtra{};
    call.tool_data = reinterpret_cast<std::uintptr_t>(made);
    if (on(Scenario::kNestedDriver)) nest(call, *made);
  }
  CallExtra* const extra = extra_of(call);
  for_each_client([&] {
    report_call(call, extra != nullptr ? &extra->data[current_client()] : &call.tool_data,
                CUPTI_API_ENTER);
    if (extra != nullptr && extra->nested)
      report_call(extra->inner, &extra->inner.tool_data, CUPTI_API_ENTER);
  });
}

void finish_inner(const ApiCall& call, CallExtra& extra) {
  const std::uint64_t margin = (call.end_ns - call.start_ns) / 8;
  extra.inner.start_ns = call.start_ns + margin;
  extra.inner.end_ns = call.end_ns - margin;
  extra.inner.result = call.result;
  report_call(extra.inner, &extra.inner.tool_data, CUPTI_API_EXIT);
  if (api_recorded(extra.inner.domain, extra.inner.cbid)) deliver_api(extra.inner);
}

void on_exit(ApiCall& call) {
  CallExtra* const extra = extra_of(call);
  const bool loads = call.symbol != nullptr && first_launch(call.symbol);
  for_each_client([&] {
    if (extra != nullptr && extra->nested) finish_inner(call, *extra);
    report_call(call, extra != nullptr ? &extra->data[current_client()] : &call.tool_data,
                CUPTI_API_EXIT);
    if (loads) record_loading(call);
    if (api_recorded(call.domain, call.cbid)) deliver_api(call);
  });
  delete extra;
}

/// Bit of `wanted_by` for the current client: it wants a record.
std::uint32_t wanted_bit() { return 1u << current_client(); }
/// Bit of `wanted_by` for the current client: the record is of kind KERNEL, not CONCURRENT_KERNEL.
std::uint32_t serial_bit() { return 1u << (kMaxClients + current_client()); }

void on_admit(DeviceOp& op) {
  op.wanted_by = 0;
  for_each_client([&] {
    if (op.graph_id != 0 && kind_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) return;
    const std::uint32_t kind = kind_of(op);
    // MEMCPY also yields peer copies in the v1 interface.
    const bool wanted = kind_on(kind) || (kind == CUPTI_ACTIVITY_KIND_MEMCPY2 &&
                                          kind_on(CUPTI_ACTIVITY_KIND_MEMCPY));
    if (kind == 0 || !wanted) return;
    op.wanted_by |= wanted_bit();
    if (kind == CUPTI_ACTIVITY_KIND_KERNEL) op.wanted_by |= serial_bit();
    prepare_device_buffer();
  });
}

void on_admit_graph(GraphLaunchOp& op) {
  op.wanted_by = 0;
  for_each_client([&] {
    if (!kind_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) return;
    op.wanted_by |= wanted_bit();
    prepare_device_buffer();
  });
}

std::uint32_t decided_kind(const DeviceOp& op) {
  if (op.kind != OpKind::kKernel) return kind_of(op);
  return (op.wanted_by & serial_bit()) != 0 ? CUPTI_ACTIVITY_KIND_KERNEL
                                            : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}

void on_enqueued(const DeviceOp& op) {
  if (op.wanted_by == 0) return;
  for_each_client([&] {
    if ((op.wanted_by & wanted_bit()) != 0) defer_operation(op, decided_kind(op));
  });
}

void on_graph(const GraphLaunchOp& op) {
  if (op.wanted_by == 0) return;
  for_each_client([&] {
    if ((op.wanted_by & wanted_bit()) != 0) defer_graph(op);
  });
}

void report_sync(const SyncOp& op) {
  if (kind_on(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) {
    const Record r = make_sync(op);
    append(BufferOwner::kThread, &r, 1);
  }
  CUpti_SynchronizeData d{};
  if (op.kind == SyncKind::kStream)
    call_client(CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, &d);
  if (op.kind == SyncKind::kContext)
    call_client(CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, &d);
}

void on_synchronized(const SyncOp& op) {
  for_each_client([&] { report_sync(op); });
}

void record_resource(const ResourceEvent& e) {
  if (e.id == ResourceId::kContextCreated && kind_on(CUPTI_ACTIVITY_KIND_CONTEXT)) {
    const Record r = make_context(*static_cast<const Context*>(e.context));
    append(BufferOwner::kThread, &r, 1);
  }
  if (e.id == ResourceId::kStreamCreated && kind_on(CUPTI_ACTIVITY_KIND_STREAM)) {
    const Record r =
        make_stream(*static_cast<const Stream*>(e.stream), driver().next_correlation.load() - 1);
    append(BufferOwner::kThread, &r, 1);
  }
  if (e.id == ResourceId::kInitFinished && kind_on(CUPTI_ACTIVITY_KIND_DEVICE)) {
    for (int i = 0; i < driver().device_count; ++i) {
      const Record r = make_device(*driver().devices[i]);
      append(BufferOwner::kThread, &r, 1);
    }
  }
}

void report_resource(const ResourceEvent& e) {
  record_resource(e);
  CUpti_GraphData graph{};
  graph.graph = static_cast<CUgraph>(e.graph);
  graph.originalGraph = static_cast<CUgraph>(e.original_graph);
  graph.node = static_cast<CUgraphNode>(e.node);
  graph.originalNode = static_cast<CUgraphNode>(e.original_node);
  graph.nodeType = static_cast<CUgraphNodeType>(e.node_type);
  graph.graphExec = static_cast<CUgraphExec>(e.graph_exec);
  CUpti_ModuleResourceData module{};
  CUpti_ResourceData d{};
  d.context = static_cast<CUcontext>(e.context);
  d.resourceHandle.stream = static_cast<CUstream>(e.stream);
  const auto id = static_cast<std::uint32_t>(e.id);
  if (e.id == ResourceId::kModuleLoaded || e.id == ResourceId::kModuleUnloadStarting)
    d.resourceDescriptor = &module;
  else if (id >= CUPTI_CBID_RESOURCE_GRAPH_CREATED)
    d.resourceDescriptor = &graph;
  call_client(CUPTI_CB_DOMAIN_RESOURCE, id, &d);
}

void on_resource(const ResourceEvent& e) {
  for_each_client([&] { report_resource(e); });
}

void on_driver_gone() {
  driver_gone().store(true);
  close_call_log();
}

constexpr ToolHooks kHooks{on_enter, on_exit,         on_admit,    on_admit_graph, on_enqueued,
                           on_graph, on_synchronized, on_resource, on_driver_gone};

}  // namespace

void attach_to_driver() { install_hooks(&kHooks); }

}  // namespace gpusim
