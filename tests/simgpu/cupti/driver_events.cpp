// SPDX-License-Identifier: Apache-2.0
//
// What the simulated CUPTI does when the simulated driver reports something.
//
// Context:  application threads, inside API calls
// Owns:     nothing
// Promises: callbacks come before and after the call on the calling thread; record kinds are
// decided here, at enqueue Not here: delivery (delivery.cpp)
#include <mutex>
#include <unordered_set>

#include <cupti.h>

#include "core/clock.hpp"
#include "core/config.hpp"
#include "core/driver.hpp"
#include "core/hooks.hpp"
#include "cupti/buffers.hpp"
#include "cupti/call.hpp"
#include "cupti/delivery.hpp"
#include "cupti/scenario.hpp"
#include "cupti/state.hpp"

namespace gpusim {
namespace {

CUpti_CallbackDomain domain_of(const ApiCall& call) {
  return call.domain == ApiDomain::kDriver ? CUPTI_CB_DOMAIN_DRIVER_API
                                           : CUPTI_CB_DOMAIN_RUNTIME_API;
}

void report_call(ApiCall& call, CUpti_ApiCallbackSite site) {
  const CUpti_CallbackDomain domain = domain_of(call);
  if (state().callback_on[domain][call.cbid].load(std::memory_order_relaxed) == 0) return;
  CUpti_CallbackData d{};
  d.callbackSite = site;
  d.functionName = call.name;
  d.functionParams = call.params;
  d.functionReturnValue = site == CUPTI_API_EXIT ? &call.result : nullptr;
  d.symbolName = call.symbol;
  d.context = static_cast<CUcontext>(call.context);
  d.contextUid = call.context_uid;
  d.correlationData = &call.tool_data;
  d.correlationId = call.correlation;
  call_client(domain, call.cbid, &d);
}

/// The first launch of each kernel loads it, which the real library reports as overhead.
bool first_launch(const char* symbol) {
  static auto* const mutex = new std::mutex;
  static auto* const seen = new std::unordered_set<const void*>;
  const std::lock_guard<std::mutex> lock(*mutex);
  return seen->insert(symbol).second;
}

void on_enter(ApiCall& call) { report_call(call, CUPTI_API_ENTER); }

void on_exit(ApiCall& call) {
  report_call(call, CUPTI_API_EXIT);
  if (call.symbol != nullptr && kind_on(CUPTI_ACTIVITY_KIND_OVERHEAD) &&
      first_launch(call.symbol)) {
    constexpr std::uint32_t kLazyFunctionLoading = 5u << 16;
    const Record r = make_overhead(kLazyFunctionLoading, call.start_ns,
                                   call.start_ns + (call.end_ns - call.start_ns) / 2,
                                   call.correlation, record_thread_id());
    append(Lane::kThread, &r, 1);
  }
  if (api_recorded(call.domain, call.cbid)) deliver_api(call);
}

void on_admit(DeviceOp& op) {
  if (op.graph_id != 0 && kind_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) return;
  const std::uint32_t kind = kind_of(op);
  // MEMCPY also yields peer copies in the v1 interface.
  const bool wanted =
      kind_on(kind) || (kind == CUPTI_ACTIVITY_KIND_MEMCPY2 && kind_on(CUPTI_ACTIVITY_KIND_MEMCPY));
  if (kind == 0 || !wanted) return;
  op.wanted_by = 1;
  prepare_device_buffer();
}

void on_admit_graph(GraphLaunchOp& op) {
  if (!kind_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) return;
  op.wanted_by = 1;
  prepare_device_buffer();
}

void on_enqueued(const DeviceOp& op) {
  if (op.wanted_by != 0) hold_operation(op, kind_of(op));
}

void on_graph(const GraphLaunchOp& op) {
  if (op.wanted_by != 0) hold_graph(op);
}

void on_synchronized(const SyncOp& op) {
  if (kind_on(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) {
    const Record r = make_sync(op);
    append(Lane::kThread, &r, 1);
  }
  CUpti_SynchronizeData d{};
  if (op.kind == SyncKind::kStream)
    call_client(CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, &d);
  if (op.kind == SyncKind::kContext)
    call_client(CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, &d);
}

void record_resource(const ResourceEvent& e) {
  if (e.id == ResourceId::kContextCreated && kind_on(CUPTI_ACTIVITY_KIND_CONTEXT)) {
    const Record r = make_context(*static_cast<const Context*>(e.context));
    append(Lane::kThread, &r, 1);
  }
  if (e.id == ResourceId::kStreamCreated && kind_on(CUPTI_ACTIVITY_KIND_STREAM)) {
    const Record r =
        make_stream(*static_cast<const Stream*>(e.stream), driver().next_correlation.load() - 1);
    append(Lane::kThread, &r, 1);
  }
  if (e.id == ResourceId::kInitFinished && kind_on(CUPTI_ACTIVITY_KIND_DEVICE)) {
    for (int i = 0; i < driver().device_count; ++i) {
      const Record r = make_device(*driver().devices[i]);
      append(Lane::kThread, &r, 1);
    }
  }
}

void on_resource(const ResourceEvent& e) {
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

void on_driver_gone() {
  state().driver_gone.store(true);
  close_call_log();
}

constexpr ToolHooks kHooks{on_enter, on_exit,         on_admit,    on_admit_graph, on_enqueued,
                           on_graph, on_synchronized, on_resource, on_driver_gone};

}  // namespace

void attach_to_driver() { install_hooks(&kHooks); }

}  // namespace gpusim
