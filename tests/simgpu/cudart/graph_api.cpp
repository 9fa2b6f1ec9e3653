// SPDX-License-Identifier: Apache-2.0
//
// Runtime API: stream capture, executable graphs.
//
// Context:  application threads
// Owns:     the capture mode of each thread (plain data)
// Promises: capturing the legacy stream is refused
// Not here: the replay (core/work/graphs.cpp), single nodes (graph_node_api.cpp)
#include "core/work/graphs.hpp"

#include "cudart/api.hpp"

using namespace gpusim;

namespace {

thread_local int t_capture_mode;

cudaStreamCaptureStatus status_of(const Stream& s) {
  return s.capture != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
}

int capture_end(cudaStream_t handle, cudaGraph_t* out) {
  int error = cudaSuccess;
  Stream* s = runtime_stream(handle, &error);
  if (s == nullptr) return error;
  if (out == nullptr) return cudaErrorInvalidValue;
  Graph* g = nullptr;
  error = end_capture(s, &g);
  *out = reinterpret_cast<cudaGraph_t>(g);
  return error;
}

int make_exec(cudaGraphExec_t* out, cudaGraph_t handle) {
  Graph* g = object<Graph>(handle);
  if (out == nullptr || g == nullptr) return cudaErrorInvalidValue;
  *out = reinterpret_cast<cudaGraphExec_t>(instantiate(g));
  return cudaSuccess;
}

/// Nodes a capture goes on from, as handles that stay valid until the thread asks again.
int capture_tail(const Stream& s, const cudaGraphNode_t** out, size_t* count) {
  static auto* const mutex = new std::mutex;
  static auto* const lists = new std::vector<std::vector<cudaGraphNode_t>*>;
  auto* nodes = new std::vector<cudaGraphNode_t>;
  for (const std::uint32_t at : s.capture_tail)
    nodes->push_back(reinterpret_cast<cudaGraphNode_t>(s.capture->graph->nodes[at]));
  const std::lock_guard<std::mutex> lock(*mutex);
  lists->push_back(nodes);
  if (out != nullptr) *out = nodes->data();
  if (count != nullptr) *count = nodes->size();
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  GPUSIM_RUNTIME_API(cudaStreamBeginCapture, stream, mode);
  int error = cudaSuccess;
  Stream* s = runtime_stream(stream, &error);
  return GPUSIM_DONE(s != nullptr ? begin_capture(s) : error);
}

cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* pGraph) {
  GPUSIM_RUNTIME_API(cudaStreamEndCapture, stream, pGraph);
  return GPUSIM_DONE(capture_end(stream, pGraph));
}

cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t stream,
                                            cudaStreamCaptureStatus* pCaptureStatus) {
  GPUSIM_RUNTIME_API(cudaStreamIsCapturing, stream, pCaptureStatus);
  int error = cudaSuccess;
  const Stream* s = runtime_stream(stream, &error);
  if (s == nullptr) return GPUSIM_DONE(error);
  if (pCaptureStatus == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  *pCaptureStatus = status_of(*s);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaStreamGetCaptureInfo(cudaStream_t stream,
                                               cudaStreamCaptureStatus* captureStatus_out,
                                               unsigned long long* id_out, cudaGraph_t* graph_out,
                                               const cudaGraphNode_t** dependencies_out,
                                               const cudaGraphEdgeData** edgeData_out,
                                               size_t* numDependencies_out) {
  GPUSIM_RUNTIME_API(cudaStreamGetCaptureInfo, stream, captureStatus_out, id_out, graph_out,
                     dependencies_out, edgeData_out, numDependencies_out);
  int error = cudaSuccess;
  const Stream* s = runtime_stream(stream, &error);
  if (s == nullptr) return GPUSIM_DONE(error);
  if (captureStatus_out == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  *captureStatus_out = status_of(*s);
  if (edgeData_out != nullptr) *edgeData_out = nullptr;
  if (numDependencies_out != nullptr) *numDependencies_out = 0;
  if (s->capture == nullptr) return GPUSIM_DONE(cudaSuccess);
  if (id_out != nullptr) *id_out = s->capture->id;
  if (graph_out != nullptr) *graph_out = reinterpret_cast<cudaGraph_t>(s->capture->graph);
  if (dependencies_out == nullptr && numDependencies_out == nullptr)
    return GPUSIM_DONE(cudaSuccess);
  return GPUSIM_DONE(capture_tail(*s, dependencies_out, numDependencies_out));
}

cudaError_t CUDARTAPI cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  GPUSIM_RUNTIME_API(cudaThreadExchangeStreamCaptureMode, mode);
  if (mode == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  const int before = t_capture_mode;
  t_capture_mode = *mode;
  *mode = static_cast<cudaStreamCaptureMode>(before);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaGraphCreate(cudaGraph_t* pGraph, unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaGraphCreate, pGraph, flags);
  if (pGraph == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  *pGraph = reinterpret_cast<cudaGraph_t>(create_graph());
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph) {
  GPUSIM_RUNTIME_API(cudaGraphDestroy, graph);
  Graph* g = object<Graph>(graph);
  if (g == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  destroy_graph(g);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                           unsigned long long flags) {
  GPUSIM_RUNTIME_API(cudaGraphInstantiate, pGraphExec, graph, flags);
  return GPUSIM_DONE(make_exec(pGraphExec, graph));
}

cudaError_t CUDARTAPI cudaGraphInstantiateWithFlags(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                                    unsigned long long flags) {
  GPUSIM_RUNTIME_API(cudaGraphInstantiateWithFlags, pGraphExec, graph, flags);
  return GPUSIM_DONE(make_exec(pGraphExec, graph));
}

cudaError_t CUDARTAPI cudaGraphInstantiateWithParams(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                                     cudaGraphInstantiateParams* params) {
  GPUSIM_RUNTIME_API(cudaGraphInstantiateWithParams, pGraphExec, graph, params);
  if (params == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  const int result = make_exec(pGraphExec, graph);
  params->errNode_out = nullptr;
  params->result_out =
      result == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return GPUSIM_DONE(result);
}

cudaError_t CUDARTAPI cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaGraphUpload, graphExec, stream);
  return GPUSIM_DONE(object<GraphExec>(graphExec) != nullptr ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaGraphLaunch, graphExec, stream);
  int error = cudaSuccess;
  GraphExec* e = object<GraphExec>(graphExec);
  if (e == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  Stream* s = runtime_stream(stream, &error);
  return GPUSIM_DONE(s != nullptr ? launch_graph(e, s) : error);
}

cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
  GPUSIM_RUNTIME_API(cudaGraphExecDestroy, graphExec);
  GraphExec* e = object<GraphExec>(graphExec);
  if (e == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  destroy_graph_exec(e);
  return GPUSIM_DONE(cudaSuccess);
}

}  // extern "C"
