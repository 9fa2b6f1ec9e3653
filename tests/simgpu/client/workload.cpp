// SPDX-License-Identifier: Apache-2.0
//
// Driver-API calls of the test client.
//
// Context:  test program
// Owns:     what it created on the device, until the process ends
// Promises: a failing call is named on stderr
// Not here: tracing
#include "client/workload.hpp"

#include <cuda.h>

#include <cstdio>

namespace client {
namespace {

bool ok(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) std::fprintf(stderr, "sim_client: %s gave %d\n", what, result);
  return result == CUDA_SUCCESS;
}
#define OK(call) ok(call, #call)

constexpr std::size_t kBytes = 1 << 20;

}  // namespace

struct Workload::Parts {
  CUcontext context, peer;
  CUstream streams[2];
  CUfunction functions[2];
  CUdeviceptr a, b, remote;
  void* pinned;
};

bool Workload::set_up() {
  int count = 0;
  CUmodule module{};
  parts_ = new Parts{};
  Parts& p = *parts_;
  if (!OK(cuInit(0)) || !OK(cuDeviceGetCount(&count))) return false;
  if (count > 1 && !(OK(cuDevicePrimaryCtxRetain(&p.peer, 1)) && OK(cuCtxSetCurrent(p.peer)) &&
                     OK(cuMemAlloc(&p.remote, kBytes))))
    return false;
  return OK(cuDevicePrimaryCtxRetain(&p.context, 0)) && OK(cuCtxSetCurrent(p.context)) &&
         OK(cuStreamCreate(&p.streams[0], CU_STREAM_NON_BLOCKING)) &&
         OK(cuStreamCreate(&p.streams[1], CU_STREAM_DEFAULT)) &&
         OK(cuModuleLoadData(&module, "simulated")) &&
         OK(cuModuleGetFunction(&p.functions[0], module, "_ZN6client5firstEPfi")) &&
         OK(cuModuleGetFunction(&p.functions[1], module, "_ZN6client6secondEPfi")) &&
         OK(cuMemAlloc(&p.a, kBytes)) && OK(cuMemAlloc(&p.b, kBytes)) &&
         OK(cuMemHostAlloc(&p.pinned, kBytes, 0));
}

bool Workload::enter() { return OK(cuCtxSetCurrent(parts_->context)); }

bool Workload::launch(int count) {
  for (int i = 0; i < count; ++i)
    if (!OK(cuLaunchKernel(parts_->functions[i % 2], 64, 2, 1, 128, 1, 1, 0, parts_->streams[i % 2],
                           nullptr, nullptr)))
      return false;
  return true;
}

bool Workload::copies() {
  static char pageable[4096];
  Parts& p = *parts_;
  if (p.peer != nullptr &&
      !OK(cuMemcpyPeerAsync(p.remote, p.peer, p.a, p.context, kBytes, p.streams[0])))
    return false;
  return OK(cuMemcpyHtoD(p.a, pageable, sizeof pageable)) &&
         OK(cuMemcpyHtoDAsync(p.a, p.pinned, kBytes, p.streams[0])) &&
         OK(cuMemcpyDtoDAsync(p.b, p.a, kBytes, p.streams[0])) &&
         OK(cuMemsetD32Async(p.b, 7, 1024, p.streams[0])) &&
         OK(cuMemcpyDtoHAsync(p.pinned, p.b, kBytes, p.streams[0])) &&
         OK(cuStreamSynchronize(p.streams[0]));
}

bool Workload::graph(int nodes, int times) {
  Parts& p = *parts_;
  CUgraph graph{};
  CUgraphExec exec{};
  if (!OK(cuStreamBeginCapture(p.streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL))) return false;
  for (int i = 0; i < nodes; ++i)
    if (!OK(cuLaunchKernel(p.functions[i % 2], 8, 1, 1, 64, 1, 1, 0, p.streams[0], nullptr,
                           nullptr)))
      return false;
  if (!OK(cuStreamEndCapture(p.streams[0], &graph)) || !OK(cuGraphInstantiate(&exec, graph, 0)))
    return false;
  for (int i = 0; i < times; ++i)
    if (!OK(cuGraphLaunch(exec, p.streams[0]))) return false;
  return OK(cuGraphExecDestroy(exec)) && OK(cuGraphDestroy(graph));
}

bool Workload::synchronize() { return OK(cuCtxSynchronize()); }

}  // namespace client
