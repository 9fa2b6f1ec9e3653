// SPDX-License-Identifier: Apache-2.0
//
// Simulated cuDNN: convolutions of the older API.
//
// Context:  application threads
// Owns:     descriptors until the program destroys them
// Promises: every algorithm query has one answer that needs no workspace
// Not here: the graph API (backend_api.cpp), kernels (convolution.cpp)
#include <algorithm>

#include "cudnn/api.hpp"
#include "cudnn/convolution.hpp"
#include "cudnn/kernels.hpp"

using namespace gpusim;

namespace {

/// The convolution of three descriptors, or a failure.
struct Checked {
  Convolution convolution;
  cudnnStatus_t status;
};

Checked check(Direction direction, const Tensor* x, const Tensor* w, const Tensor* y,
              const cudnnConvolutionStruct* d, const char* name) {
  if (x == nullptr || w == nullptr || y == nullptr || d == nullptr) return {{}, null_pointer(name)};
  const Convolution c{direction, *x, *w, *y, d->math == CUDNN_FMA_MATH};
  const bool fits = plausible(c) && c.groups() == d->groups;
  return {c, fits ? CUDNN_STATUS_SUCCESS : failed(CUDNN_STATUS_BAD_PARAM, name)};
}

cudnnStatus_t run(cudnnHandle_t handle, const Checked& c) {
  return c.status != CUDNN_STATUS_SUCCESS ? c.status
                                          : launch(stream_of_handle(handle), c.convolution);
}

/// Fills the one answer of an algorithm query. `search`: the algorithm is run once, as a search
/// does.
template <typename Perf, typename Algo>
cudnnStatus_t answer(cudnnHandle_t handle, const Checked& c, const cudnnConvolutionStruct* d,
                     Algo algo, int wanted, int* returned, Perf* perf, bool search) {
  if (c.status != CUDNN_STATUS_SUCCESS) return c.status;
  if (returned == nullptr || perf == nullptr) return null_pointer("algorithm query");
  *returned = 0;
  if (wanted < 1) return failed(CUDNN_STATUS_BAD_PARAM, "algorithm query");
  Stream* stream = stream_of_handle(handle);
  if (search) {
    const cudnnStatus_t status = launch(stream, c.convolution);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  *perf = {};
  perf->algo = algo;
  perf->status = CUDNN_STATUS_SUCCESS;
  perf->time = search ? estimate_ms(stream, c.convolution) : -1;
  perf->determinism = CUDNN_DETERMINISTIC;
  perf->mathType = d->math;
  *returned = 1;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t no_workspace(size_t* bytes, const char* name) {
  if (bytes == nullptr) return null_pointer(name);
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

constexpr auto kForwardAlgo = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
constexpr auto kDataAlgo = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
constexpr auto kFilterAlgo = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;

}  // namespace

extern "C" {

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t h, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t y, const int wanted,
    int* returned, cudnnConvolutionFwdAlgoPerf_t* perf) {
  return answer(h, check(Direction::kForward, x, w, y, d, __func__), d, kForwardAlgo, wanted,
                returned, perf, false);
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t h, const cudnnTensorDescriptor_t x,
                                                   const cudnnFilterDescriptor_t w,
                                                   const cudnnConvolutionDescriptor_t d,
                                                   const cudnnTensorDescriptor_t y,
                                                   const int wanted, int* returned,
                                                   cudnnConvolutionFwdAlgoPerf_t* perf) {
  return answer(h, check(Direction::kForward, x, w, y, d, __func__), d, kForwardAlgo, wanted,
                returned, perf, true);
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(
    cudnnHandle_t h, const cudnnTensorDescriptor_t x, const void*, const cudnnFilterDescriptor_t w,
    const void*, const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t y, void*,
    const int wanted, int* returned, cudnnConvolutionFwdAlgoPerf_t* perf, void*, size_t) {
  return cudnnFindConvolutionForwardAlgorithm(h, x, w, d, y, wanted, returned, perf);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t h, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t dx, const int wanted,
    int* returned, cudnnConvolutionBwdDataAlgoPerf_t* perf) {
  return answer(h, check(Direction::kData, dx, w, dy, d, __func__), d, kDataAlgo, wanted, returned,
                perf, false);
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(
    cudnnHandle_t h, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t dx, const int wanted,
    int* returned, cudnnConvolutionBwdDataAlgoPerf_t* perf) {
  return answer(h, check(Direction::kData, dx, w, dy, d, __func__), d, kDataAlgo, wanted, returned,
                perf, true);
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t h, const cudnnFilterDescriptor_t w, const void*, const cudnnTensorDescriptor_t dy,
    const void*, const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t dx, void*,
    const int wanted, int* returned, cudnnConvolutionBwdDataAlgoPerf_t* perf, void*, size_t) {
  return cudnnFindConvolutionBackwardDataAlgorithm(h, w, dy, d, dx, wanted, returned, perf);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t h, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t d, const cudnnFilterDescriptor_t dw, const int wanted,
    int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* perf) {
  return answer(h, check(Direction::kFilter, x, dw, dy, d, __func__), d, kFilterAlgo, wanted,
                returned, perf, false);
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(
    cudnnHandle_t h, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t d, const cudnnFilterDescriptor_t dw, const int wanted,
    int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* perf) {
  return answer(h, check(Direction::kFilter, x, dw, dy, d, __func__), d, kFilterAlgo, wanted,
                returned, perf, true);
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t h, const cudnnTensorDescriptor_t x, const void*, const cudnnTensorDescriptor_t dy,
    const void*, const cudnnConvolutionDescriptor_t d, const cudnnFilterDescriptor_t dw, void*,
    const int wanted, int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* perf, void*, size_t) {
  return cudnnFindConvolutionBackwardFilterAlgorithm(h, x, dy, d, dw, wanted, returned, perf);
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t, int* count) {
  store_result(count, 1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithmMaxCount(cudnnHandle_t, int* count) {
  store_result(count, 1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(cudnnHandle_t, int* count) {
  store_result(count, 1);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                      const cudnnFilterDescriptor_t,
                                                      const cudnnConvolutionDescriptor_t,
                                                      const cudnnTensorDescriptor_t,
                                                      cudnnConvolutionFwdAlgo_t, size_t* bytes) {
  return no_workspace(bytes, __func__);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, const cudnnFilterDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t,
    cudnnConvolutionBwdDataAlgo_t, size_t* bytes) {
  return no_workspace(bytes, __func__);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t,
    cudnnConvolutionBwdFilterAlgo_t, size_t* bytes) {
  return no_workspace(bytes, __func__);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t h, const void*, const cudnnTensorDescriptor_t x,
                                      const void*, const cudnnFilterDescriptor_t w, const void*,
                                      const cudnnConvolutionDescriptor_t d,
                                      cudnnConvolutionFwdAlgo_t, void*, size_t, const void*,
                                      const cudnnTensorDescriptor_t y, void*) {
  return run(h, check(Direction::kForward, x, w, y, d, __func__));
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t h, const void*, const cudnnTensorDescriptor_t x, const void*,
    const cudnnFilterDescriptor_t w, const void*, const cudnnConvolutionDescriptor_t d,
    cudnnConvolutionFwdAlgo_t, void*, size_t, const void*, const cudnnTensorDescriptor_t,
    const void*, const cudnnTensorDescriptor_t, const void*, const cudnnActivationDescriptor_t,
    const cudnnTensorDescriptor_t y, void*) {
  return run(h, check(Direction::kForward, x, w, y, d, __func__));
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t h, const void*,
                                           const cudnnFilterDescriptor_t w, const void*,
                                           const cudnnTensorDescriptor_t dy, const void*,
                                           const cudnnConvolutionDescriptor_t d,
                                           cudnnConvolutionBwdDataAlgo_t, void*, size_t,
                                           const void*, const cudnnTensorDescriptor_t dx, void*) {
  return run(h, check(Direction::kData, dx, w, dy, d, __func__));
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t h, const void*,
                                             const cudnnTensorDescriptor_t x, const void*,
                                             const cudnnTensorDescriptor_t dy, const void*,
                                             const cudnnConvolutionDescriptor_t d,
                                             cudnnConvolutionBwdFilterAlgo_t, void*, size_t,
                                             const void*, const cudnnFilterDescriptor_t dw, void*) {
  return run(h, check(Direction::kFilter, x, dw, dy, d, __func__));
}

cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t h, const void*,
                                           const cudnnTensorDescriptor_t dy, const void*,
                                           const void*, const cudnnTensorDescriptor_t, void*) {
  if (dy == nullptr) return null_pointer(__func__);
  return launch(stream_of_handle(h), Kernel::kBiasGradient, elementwise(*dy, 1));
}
}
