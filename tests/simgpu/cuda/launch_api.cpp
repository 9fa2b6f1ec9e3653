// SPDX-License-Identifier: Apache-2.0
//
// Driver API: launches of kernels and host functions.
//
// Context:  application threads
// Owns:     nothing
// Promises: a launch is checked like the real one before it is placed
// Not here: checks (core/work/kernels.cpp), times (core/work/timeline.cpp)
#include "core/work/kernels.hpp"
#include "core/work/timeline.hpp"
#include "cuda/api.hpp"

using namespace gpusim;

namespace {

const char* symbol(CUfunction handle) {
  const Function* f = function_of(handle);
  return f != nullptr ? f->name : nullptr;
}

int launch(const Function* f, Stream* stream, const LaunchShape& shape) {
  if (f == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream == nullptr) return stream_error();
  const int wrong = check_launch(*f, stream->context->device->model, shape);
  // The runtime has a code of its own for shapes; the others are the same numbers in both.
  constexpr int kInvalidConfiguration = 9;
  if (wrong == kInvalidConfiguration) return CUDA_ERROR_INVALID_VALUE;
  return wrong != 0 ? wrong : launch_function(*f, stream, shape);
}

LaunchShape shape_of(const CUlaunchConfig& c) {
  LaunchShape s{{c.gridDimX, c.gridDimY, c.gridDimZ},
                {c.blockDimX, c.blockDimY, c.blockDimZ},
                {},
                c.sharedMemBytes,
                false};
  for (unsigned i = 0; i < c.numAttrs; ++i) {
    const CUlaunchAttribute& a = c.attrs[i];
    if (a.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) s.cooperative = a.value.cooperative != 0;
    if (a.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    s.cluster[0] = a.value.clusterDim.x;
    s.cluster[1] = a.value.clusterDim.y;
    s.cluster[2] = a.value.clusterDim.z;
  }
  return s;
}

/// A stream callback with what it is called with.
struct Callback {
  CUstreamCallback function;
  CUstream stream;
  void* user;
};

void run_callback(void* p) {
  auto* c = static_cast<Callback*>(p);
  c->function(c->stream, CUDA_SUCCESS, c->user);
  delete c;
}

int add_callback(Stream* stream, const Callback& callback) {
  if (callback.function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream == nullptr) return stream_error();
  // A replayed graph would call it again after it was freed.
  if (stream->capture != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return enqueue_host_function(stream, run_callback, new Callback(callback));
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                unsigned int gridDimZ, unsigned int blockDimX,
                                unsigned int blockDimY, unsigned int blockDimZ,
                                unsigned int sharedMemBytes, CUstream hStream, void** kernelParams,
                                void** extra) {
  const cuLaunchKernel_params p{f,         gridDimX,     gridDimY,  gridDimZ,
                                blockDimX, blockDimY,    blockDimZ, sharedMemBytes,
                                hStream,   kernelParams, extra};
  GPUSIM_DRIVER_FRAME(cuLaunchKernel, &p, symbol(f));
  return GPUSIM_DONE(launch(function_of(f), stream_of(hStream),
                            {{gridDimX, gridDimY, gridDimZ},
                             {blockDimX, blockDimY, blockDimZ},
                             {},
                             sharedMemBytes,
                             false}));
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams,
                                  void** extra) {
  const cuLaunchKernelEx_params p{config, f, kernelParams, extra};
  GPUSIM_DRIVER_FRAME(cuLaunchKernelEx, &p, symbol(f));
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr))
    return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  return GPUSIM_DONE(launch(function_of(f), stream_of(config->hStream), shape_of(*config)));
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                           unsigned int gridDimY, unsigned int gridDimZ,
                                           unsigned int blockDimX, unsigned int blockDimY,
                                           unsigned int blockDimZ, unsigned int sharedMemBytes,
                                           CUstream hStream, void** kernelParams) {
  const cuLaunchCooperativeKernel_params p{f,         gridDimX,    gridDimY,  gridDimZ,
                                           blockDimX, blockDimY,   blockDimZ, sharedMemBytes,
                                           hStream,   kernelParams};
  GPUSIM_DRIVER_FRAME(cuLaunchCooperativeKernel, &p, symbol(f));
  return GPUSIM_DONE(launch(function_of(f), stream_of(hStream),
                            {{gridDimX, gridDimY, gridDimZ},
                             {blockDimX, blockDimY, blockDimZ},
                             {},
                             sharedMemBytes,
                             true}));
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  GPUSIM_DRIVER_API(cuLaunchHostFunc, hStream, fn, userData);
  Stream* s = stream_of(hStream);
  if (fn == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  return GPUSIM_DONE(s != nullptr ? enqueue_host_function(s, fn, userData) : stream_error());
}

CUresult CUDAAPI cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void* userData,
                                     unsigned int flags) {
  GPUSIM_DRIVER_API(cuStreamAddCallback, hStream, callback, userData, flags);
  return GPUSIM_DONE(add_callback(stream_of(hStream), {callback, hStream, userData}));
}

}  // extern "C"
