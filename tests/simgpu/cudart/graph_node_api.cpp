// SPDX-License-Identifier: Apache-2.0
//
// Runtime API: nodes of graphs, and objects a graph keeps alive.
//
// Context:  application threads
// Owns:     nothing
// Promises: counts alone are given where the caller passes no array
// Not here: capture and launch (graph_api.cpp)
#include <algorithm>

#include "core/work/graphs.hpp"
#include "core/work/kernels.hpp"
#include "cudart/api.hpp"
#include "cudart/registry.hpp"

using namespace gpusim;

namespace {

cudaGraphNode_t handle_of(GraphNode* node) { return reinterpret_cast<cudaGraphNode_t>(node); }

/// Copies `found` to a caller's array in the manner of the graph queries.
int give(const std::vector<GraphNode*>& found, cudaGraphNode_t* out, size_t* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  for (size_t i = 0; out != nullptr && i < *count; ++i)
    out[i] = i < found.size() ? handle_of(found[i]) : nullptr;
  *count = out != nullptr ? std::min(*count, found.size()) : found.size();
  return cudaSuccess;
}

/// Node numbers of the given handles; false if one is not of this graph.
bool numbers_of(const Graph& g, const cudaGraphNode_t* nodes, size_t count,
                std::vector<std::uint32_t>* out) {
  for (size_t i = 0; i < count; ++i) {
    const auto it =
        std::find(g.nodes.begin(), g.nodes.end(), reinterpret_cast<GraphNode*>(nodes[i]));
    if (it == g.nodes.end()) return false;
    out->push_back(static_cast<std::uint32_t>(it - g.nodes.begin()));
  }
  return true;
}

int add_kernel(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
               size_t count, const cudaKernelNodeParams* p) {
  Graph* g = object<Graph>(graph);
  std::vector<std::uint32_t> before;
  if (out == nullptr || g == nullptr || p == nullptr ||
      !numbers_of(*g, dependencies, count, &before))
    return cudaErrorInvalidValue;
  const Function* f = function_at(p->func);
  if (f == nullptr) return cudaErrorInvalidDeviceFunction;
  const LaunchShape shape{{p->gridDim.x, p->gridDim.y, p->gridDim.z},
                          {p->blockDim.x, p->blockDim.y, p->blockDim.z},
                          {},
                          p->sharedMemBytes,
                          false};
  const int error = check_launch(*f, device_model(config().model), shape);
  if (error != cudaSuccess) return error;
  *out = handle_of(add_node(g, describe_launch(*f, shape), before));
  return cudaSuccess;
}

int kernel_params(const GraphNode* n, cudaKernelNodeParams* out) {
  if (n == nullptr || out == nullptr || n->op.kind != OpKind::kKernel) return cudaErrorInvalidValue;
  *out = {};
  out->gridDim = {n->op.grid[0], n->op.grid[1], n->op.grid[2]};
  out->blockDim = {n->op.block[0], n->op.block[1], n->op.block[2]};
  out->sharedMemBytes = n->op.dynamic_smem;
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes,
                                        size_t* numNodes) {
  GPUSIM_RUNTIME_API(cudaGraphGetNodes, graph, nodes, numNodes);
  const Graph* g = object<Graph>(graph);
  return GPUSIM_DONE(g != nullptr ? give(g->nodes, nodes, numNodes) : cudaErrorInvalidValue);
}

cudaError_t CUDARTAPI cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* pRootNodes,
                                            size_t* pNumRootNodes) {
  GPUSIM_RUNTIME_API(cudaGraphGetRootNodes, graph, pRootNodes, pNumRootNodes);
  const Graph* g = object<Graph>(graph);
  if (g == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  std::vector<GraphNode*> roots;
  for (GraphNode* n : g->nodes)
    if (n->dependencies.empty()) roots.push_back(n);
  return GPUSIM_DONE(give(roots, pRootNodes, pNumRootNodes));
}

cudaError_t CUDARTAPI cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* pType) {
  GPUSIM_RUNTIME_API(cudaGraphNodeGetType, node, pType);
  const GraphNode* n = object<GraphNode>(node);
  if (n == nullptr || pType == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  *pType = static_cast<cudaGraphNodeType>(node_type(*n));
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaGraphNodeGetDependencies(cudaGraphNode_t node,
                                                   cudaGraphNode_t* pDependencies,
                                                   cudaGraphEdgeData* edgeData,
                                                   size_t* pNumDependencies) {
  GPUSIM_RUNTIME_API(cudaGraphNodeGetDependencies, node, pDependencies, edgeData, pNumDependencies);
  const GraphNode* n = object<GraphNode>(node);
  if (n == nullptr || !live(n->graph)) return GPUSIM_DONE(cudaErrorInvalidValue);
  std::vector<GraphNode*> before;
  for (const std::uint32_t at : n->dependencies) before.push_back(n->graph->nodes[at]);
  return GPUSIM_DONE(give(before, pDependencies, pNumDependencies));
}

cudaError_t CUDARTAPI cudaGraphAddKernelNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                             const cudaGraphNode_t* pDependencies,
                                             size_t numDependencies,
                                             const cudaKernelNodeParams* pNodeParams) {
  GPUSIM_RUNTIME_API(cudaGraphAddKernelNode, pGraphNode, graph, pDependencies, numDependencies,
                     pNodeParams);
  return GPUSIM_DONE(add_kernel(pGraphNode, graph, pDependencies, numDependencies, pNodeParams));
}

cudaError_t CUDARTAPI cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                                   cudaKernelNodeParams* pNodeParams) {
  GPUSIM_RUNTIME_API(cudaGraphKernelNodeGetParams, node, pNodeParams);
  return GPUSIM_DONE(kernel_params(object<GraphNode>(node), pNodeParams));
}

}  // extern "C"
