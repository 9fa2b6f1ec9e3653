// SPDX-License-Identifier: Apache-2.0
//
// Driver API: stream capture and graphs.
//
// Context:  application threads
// Owns:     nothing; objects live in core
// Promises: capturing the legacy stream is refused
// Not here: the replay (core/work/graphs.cpp)
#include "core/work/graphs.hpp"

#include "cuda/api.hpp"

using namespace gpusim;

namespace {

template <typename T, typename Handle>
T* as(Handle handle) {
  auto* p = reinterpret_cast<T*>(handle);
  return live(p) ? p : nullptr;
}

int make_exec(CUgraphExec* out, CUgraph handle) {
  Graph* g = as<Graph>(handle);
  if (out == nullptr || g == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUgraphExec>(instantiate(g));
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
  GPUSIM_DRIVER_API(cuStreamBeginCapture_v2, hStream, mode);
  Stream* s = stream_of(hStream);
  return GPUSIM_DONE(s != nullptr ? begin_capture(s) : stream_error());
}

CUresult CUDAAPI cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
  GPUSIM_DRIVER_API(cuStreamEndCapture, hStream, phGraph);
  Stream* s = stream_of(hStream);
  if (phGraph == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  if (s == nullptr) return GPUSIM_DONE(stream_error());
  Graph* g = nullptr;
  const int result = end_capture(s, &g);
  *phGraph = reinterpret_cast<CUgraph>(g);
  return GPUSIM_DONE(result);
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  GPUSIM_DRIVER_API(cuStreamIsCapturing, hStream, captureStatus);
  if (captureStatus == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  const Stream* s = stream_of(hStream);
  if (s == nullptr) return GPUSIM_DONE(stream_error());
  *captureStatus =
      s->capture != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  GPUSIM_DRIVER_API(cuThreadExchangeStreamCaptureMode, mode);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphCreate(CUgraph* phGraph, unsigned int flags) {
  GPUSIM_DRIVER_API(cuGraphCreate, phGraph, flags);
  if (phGraph == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *phGraph = reinterpret_cast<CUgraph>(create_graph());
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphDestroy(CUgraph hGraph) {
  GPUSIM_DRIVER_API(cuGraphDestroy, hGraph);
  Graph* g = as<Graph>(hGraph);
  if (g == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  destroy_graph(g);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes) {
  GPUSIM_DRIVER_API(cuGraphGetNodes, hGraph, nodes, numNodes);
  const Graph* g = as<Graph>(hGraph);
  if (g == nullptr || numNodes == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  for (size_t i = 0; nodes != nullptr && i < *numNodes; ++i)
    nodes[i] = i < g->nodes.size() ? reinterpret_cast<CUgraphNode>(g->nodes[i]) : nullptr;
  *numNodes = g->nodes.size();
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph,
                                             unsigned long long flags) {
  GPUSIM_DRIVER_API(cuGraphInstantiateWithFlags, phGraphExec, hGraph, flags);
  return GPUSIM_DONE(make_exec(phGraphExec, hGraph));
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph,
                                       CUgraphNode* phErrorNode, char* logBuffer,
                                       size_t bufferSize) {
  GPUSIM_DRIVER_API(cuGraphInstantiate_v2, phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
  return GPUSIM_DONE(make_exec(phGraphExec, hGraph));
}

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  GPUSIM_DRIVER_API(cuGraphInstantiateWithParams, phGraphExec, hGraph, instantiateParams);
  return GPUSIM_DONE(make_exec(phGraphExec, hGraph));
}

CUresult CUDAAPI cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream) {
  GPUSIM_DRIVER_API(cuGraphUpload, hGraphExec, hStream);
  return GPUSIM_DONE(as<GraphExec>(hGraphExec) != nullptr ? CUDA_SUCCESS
                                                          : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) {
  GPUSIM_DRIVER_API(cuGraphLaunch, hGraphExec, hStream);
  GraphExec* e = as<GraphExec>(hGraphExec);
  Stream* s = stream_of(hStream);
  if (e == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  return GPUSIM_DONE(s != nullptr ? launch_graph(e, s) : stream_error());
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec) {
  GPUSIM_DRIVER_API(cuGraphExecDestroy, hGraphExec);
  GraphExec* e = as<GraphExec>(hGraphExec);
  if (e == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  destroy_graph_exec(e);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

}  // extern "C"
