// SPDX-License-Identifier: Apache-2.0
//
// Capture, instantiation and launch of graphs.
//
// Context:  application threads
// Owns:     graphs and their nodes until the process ends
// Promises: see graphs.hpp
// Not here: the timing of one node (timeline.cpp)
#include "core/work/graphs.hpp"

#include <algorithm>
#include <utility>

#include <cuda.h>

#include "core/api_scope.hpp"
#include "core/clock.hpp"
#include "core/driver.hpp"
#include "core/hooks.hpp"
#include "core/truth.hpp"
#include "core/work/stream_queue.hpp"
#include "core/work/timeline.hpp"

namespace gpusim {
namespace {

constexpr double kNodeGapNs = 700;

void report(const ResourceEvent& event) {
  if (const ToolHooks* h = hooks()) h->resource(event);
}

GraphNode* clone(const GraphNode& from, Graph* graph, std::uint32_t exec_id, std::uint32_t shift) {
  auto* n = new GraphNode(from);
  n->graph = graph;
  n->id = (static_cast<std::uint64_t>(exec_id) << 32) | driver().next_node_id.fetch_add(1);
  for (std::uint32_t& d : n->dependencies) d += shift;
  return n;
}

/// Copies `graph` into `exec`, as often as the graph-2000 scenario wants.
void clone_nodes(Graph* graph, GraphExec* exec) {
  std::size_t wanted = graph->nodes.size();
  if (on(Scenario::kGraph2000) && wanted > 0)
    wanted = std::max(wanted, static_cast<std::size_t>(argument(Scenario::kGraph2000)));
  while (exec->nodes.size() < wanted) {
    const auto shift = static_cast<std::uint32_t>(exec->nodes.size());
    for (GraphNode* n : graph->nodes) {
      GraphNode* copy = clone(*n, graph, exec->id, shift);
      if (shift > 0 && copy->dependencies.empty()) copy->dependencies.push_back(shift - 1);
      exec->nodes.push_back(copy);
      report({.id = ResourceId::kGraphNodeCloned,
              .graph = graph,
              .original_graph = graph,
              .node = copy,
              .original_node = n,
              .graph_exec = exec,
              .node_type = node_type(*n)});
    }
  }
}

/// A graph on its way through a stream.
struct Launch {
  std::vector<DeviceOp> ops;
  std::vector<Effect> effects;
  std::vector<HostFunction> functions;
  GraphLaunchOp whole{};
  std::uint64_t ready_ns = 0, length_ns = 0;
};

/// Start and end of every node, relative to the start of the launch.
std::uint64_t schedule(const GraphExec& exec, const DeviceModel& model,
                       std::vector<DeviceOp>& ops) {
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < exec.nodes.size(); ++i) {
    const GraphNode& n = *exec.nodes[i];
    std::uint64_t ready = 0;
    for (const std::uint32_t d : n.dependencies)
      ready = std::max(ready, ops[d].end_ns + scaled(kNodeGapNs));
    ops[i] = n.op;
    ops[i].start_ns = ready;
    ops[i].end_ns =
        ready + std::max<std::uint64_t>(1, scaled(static_cast<double>(duration_ns(model, n.op))));
    last = std::max(last, ops[i].end_ns);
  }
  return last;
}

void identify(const GraphExec& exec, const Stream& stream, std::uint32_t correlation,
              std::vector<DeviceOp>& ops) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    DeviceOp& op = ops[i];
    op.device = static_cast<std::uint32_t>(stream.context->device->ordinal);
    op.context = stream.context->id;
    op.stream = stream.id;
    op.correlation = correlation;
    op.graph_id = exec.id;
    op.graph_node_id = exec.nodes[i]->id;
    op.async = true;
    if (op.kind == OpKind::kKernel) op.grid_id = driver().next_grid_id.fetch_add(1);
  }
}

/// Fixes the times. The device mutex is held.
void place_launch(Stream* stream, Launch& launch) {
  DeviceOp span{};
  place(stream, span, launch.ready_ns, launch.length_ns);
  for (DeviceOp& op : launch.ops) {
    op.start_ns += span.start_ns;
    op.end_ns += span.start_ns;
  }
  launch.whole.start_ns = span.start_ns;
  launch.whole.end_ns = span.end_ns;
}

/// Does what the nodes do, in their order, and announces them.
void finish_launch(const Launch& launch) {
  for (std::size_t i = 0; i < launch.ops.size(); ++i) {
    apply(launch.effects[i]);
    if (launch.functions[i].call != nullptr)
      run_host_function(launch.functions[i], launch.ops[i].start_ns,
                        std::make_shared<std::atomic<std::uint64_t>>(0));
    announce(launch.ops[i]);
  }
  if (const ToolHooks* h = hooks()) h->graph_launched(launch.whole);
  if (truth_on()) truth_graph(launch.whole);
}

struct LaunchItem : QueueItem {
  explicit LaunchItem(Launch l) : launch(std::move(l)) {}
  bool place(Stream* stream) override {
    place_launch(stream, launch);
    return true;
  }
  void finish() override { finish_launch(launch); }
  Launch launch;
};

/// Everything about a launch but its times, and what the tool wants of it.
Launch prepare_launch(const GraphExec& exec, const Stream& stream) {
  Launch l;
  const std::uint32_t correlation = current_correlation();
  l.ops.resize(exec.nodes.size());
  l.length_ns = schedule(exec, stream.context->device->model, l.ops);
  identify(exec, stream, correlation, l.ops);
  for (const GraphNode* n : exec.nodes) {
    l.effects.push_back(n->effect);
    l.functions.push_back(n->function);
  }
  l.whole.device = static_cast<std::uint32_t>(stream.context->device->ordinal);
  l.whole.context = stream.context->id;
  l.whole.stream = stream.id;
  l.whole.correlation = correlation;
  l.whole.graph_id = exec.id;
  if (const ToolHooks* h = hooks()) {
    for (DeviceOp& op : l.ops) h->select_op(op);
    h->admit_graph(l.whole);
  }
  return l;
}

}  // namespace

int node_type(const GraphNode& node) {
  switch (node.op.kind) {
    case OpKind::kKernel:
      return CU_GRAPH_NODE_TYPE_KERNEL;
    case OpKind::kMemset:
      return CU_GRAPH_NODE_TYPE_MEMSET;
    case OpKind::kHostFunction:
      return CU_GRAPH_NODE_TYPE_HOST;
    default:
      return CU_GRAPH_NODE_TYPE_MEMCPY;
  }
}

Graph* create_graph() {
  auto* g = new Graph;
  g->id = driver().next_graph_id.fetch_add(1);
  report({.id = ResourceId::kGraphCreated, .graph = g});
  return g;
}

GraphNode* add_node(Graph* graph, const DeviceOp& op,
                    const std::vector<std::uint32_t>& dependencies) {
  auto* n = new GraphNode;
  n->graph = graph;
  n->id = (static_cast<std::uint64_t>(graph->id) << 32) | driver().next_node_id.fetch_add(1);
  n->op = op;
  n->dependencies = dependencies;
  graph->nodes.push_back(n);
  report(
      {.id = ResourceId::kGraphNodeCreated, .graph = graph, .node = n, .node_type = node_type(*n)});
  return n;
}

int begin_capture(Stream* stream) {
  if (stream == &stream->context->null_stream) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto* c =
      new Capture{create_graph(), stream, driver().next_capture_id.fetch_add(1), {stream}, false};
  const std::lock_guard<std::mutex> lock(stream->context->device->mutex);
  stream->capture = c;
  stream->capture_tail.clear();
  return CUDA_SUCCESS;
}

int end_capture(Stream* stream, Graph** graph) {
  *graph = nullptr;
  const std::lock_guard<std::mutex> lock(stream->context->device->mutex);
  Capture* c = stream->capture;
  if (c == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (c->origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  *graph = c->graph;
  c->ended = true;
  for (Stream* s : c->members) {
    s->capture = nullptr;
    s->capture_tail.clear();
  }
  return CUDA_SUCCESS;
}

void capture_op(Stream* stream, const DeviceOp& op, const Effect& effect,
                const HostFunction& function) {
  GraphNode* n = add_node(stream->capture->graph, op, stream->capture_tail);
  n->effect = effect;
  n->function = function;
  stream->capture_tail.assign(1,
                              static_cast<std::uint32_t>(stream->capture->graph->nodes.size() - 1));
}

int join_capture(Stream* stream, const Event* event) {
  if (event->capture->ended) return CUDA_ERROR_CAPTURED_EVENT;
  if (stream->capture != nullptr && stream->capture != event->capture)
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  if (stream->capture == nullptr) {
    stream->capture = event->capture;
    stream->capture->members.push_back(stream);
    stream->capture_tail.clear();
  }
  for (const std::uint32_t d : event->capture_tail) stream->capture_tail.push_back(d);
  return CUDA_SUCCESS;
}

GraphExec* instantiate(Graph* graph) {
  auto* e = new GraphExec;
  e->id = driver().next_graph_id.fetch_add(1);
  report({.id = ResourceId::kGraphExecCreateStarting, .graph = graph});
  clone_nodes(graph, e);
  e->holds = graph->holds;
  report({.id = ResourceId::kGraphExecCreated, .graph = graph, .graph_exec = e});
  return e;
}

int launch_graph(GraphExec* exec, Stream* stream) {
  std::unique_lock<std::mutex> lock(stream->context->device->mutex);
  if (stream->capture != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  wait_for_room(stream, lock);
  lock.unlock();
  Launch launch = prepare_launch(*exec, *stream);
  lock.lock();
  launch.ready_ns = now_ns() + launch_latency_ns();
  if (must_queue(stream)) {
    append(stream, std::make_unique<LaunchItem>(std::move(launch)));
    lock.unlock();
    pump();
    return CUDA_SUCCESS;
  }
  place_launch(stream, launch);
  lock.unlock();
  finish_launch(launch);
  return CUDA_SUCCESS;
}

void destroy_graph(Graph* graph) {
  report({.id = ResourceId::kGraphDestroyStarting, .graph = graph});
  graph->magic = kDead;
  graph->holds.clear();
}

void destroy_graph_exec(GraphExec* exec) {
  report({.id = ResourceId::kGraphExecDestroyStarting, .graph_exec = exec});
  exec->magic = kDead;
  exec->holds.clear();
}

}  // namespace gpusim
