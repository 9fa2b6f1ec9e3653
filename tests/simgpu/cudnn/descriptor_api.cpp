// SPDX-License-Identifier: Apache-2.0
//
// Simulated cuDNN: descriptors of convolutions, activations, pooling, dropout, losses.
//
// Context:  application threads
// Owns:     descriptors until the program destroys them
// Promises: what was set is what is given back
// Not here: tensors and filters (tensor_api.cpp), RNNs (rnn_api.cpp)
#include <algorithm>

#include "cudnn/api.hpp"
#include "cudnn/kernels.hpp"

using namespace gpusim;

namespace {

bool rank_ok(int dims) { return dims >= 0 && dims <= kMaxDims; }

void take(int* to, const int* from, int count) {
  if (from != nullptr) std::copy(from, from + count, to);
}

void hand(int* to, const int* from, int wanted, int have) {
  if (to != nullptr) std::copy(from, from + std::clamp(wanted, 0, have), to);
}

}  // namespace

extern "C" {

// --- convolution -----------------------------------------------------------------------------

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* out) {
  return create(out, __func__);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t d) {
  return destroy(d);
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t d, int dims,
                                              const int padding[], const int stride[],
                                              const int dilation[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
  if (d == nullptr) return null_pointer(__func__);
  if (!rank_ok(dims)) return failed(CUDNN_STATUS_BAD_PARAM, __func__);
  d->dims = dims;
  take(d->padding, padding, dims);
  take(d->stride, stride, dims);
  take(d->dilation, dilation, dims);
  d->mode = mode;
  d->compute = compute;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t d, int pad_h, int pad_w,
                                              int u, int v, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
  const int padding[] = {pad_h, pad_w}, stride[] = {u, v}, dilation[] = {dilation_h, dilation_w};
  return cudnnSetConvolutionNdDescriptor(d, 2, padding, stride, dilation, mode, compute);
}

cudnnStatus_t cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t d, int wanted,
                                              int* dims, int padding[], int stride[],
                                              int dilation[], cudnnConvolutionMode_t* mode,
                                              cudnnDataType_t* compute) {
  if (d == nullptr) return null_pointer(__func__);
  store_result(dims, d->dims);
  hand(padding, d->padding, wanted, d->dims);
  hand(stride, d->stride, wanted, d->dims);
  hand(dilation, d->dilation, wanted, d->dims);
  store_result(mode, d->mode);
  store_result(compute, d->compute);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t d, cudnnMathType_t math) {
  if (d == nullptr) return null_pointer(__func__);
  d->math = math;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t d, cudnnMathType_t* math) {
  if (d == nullptr) return null_pointer(__func__);
  store_result(math, d->math);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t d, int groups) {
  if (d == nullptr) return null_pointer(__func__);
  if (groups < 1) return failed(CUDNN_STATUS_BAD_PARAM, __func__);
  d->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionGroupCount(cudnnConvolutionDescriptor_t d, int* groups) {
  if (d == nullptr) return null_pointer(__func__);
  store_result(groups, d->groups);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionReorderType(cudnnConvolutionDescriptor_t d,
                                             cudnnReorderType_t reorder) {
  if (d == nullptr) return null_pointer(__func__);
  d->reorder = reorder;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionReorderType(cudnnConvolutionDescriptor_t d,
                                             cudnnReorderType_t* reorder) {
  if (d == nullptr) return null_pointer(__func__);
  store_result(reorder, d->reorder);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t d,
                                                    const cudnnTensorDescriptor_t x,
                                                    const cudnnFilterDescriptor_t w, int dims,
                                                    int out[]) {
  if (d == nullptr || x == nullptr || w == nullptr || out == nullptr) return null_pointer(__func__);
  if (dims != x->dims || dims != w->dims || d->dims != dims - 2)
    return failed(CUDNN_STATUS_BAD_PARAM, __func__);
  out[0] = static_cast<int>(x->dim[0]);
  out[1] = static_cast<int>(w->dim[0]);
  for (int i = 0; i < d->dims; ++i) {
    const int reach = d->dilation[i] * (static_cast<int>(w->dim[i + 2]) - 1) + 1;
    const int room = static_cast<int>(x->dim[i + 2]) + 2 * d->padding[i] - reach;
    out[i + 2] = 1 + room / std::max(1, d->stride[i]);
  }
  return CUDNN_STATUS_SUCCESS;
}

// --- activation ------------------------------------------------------------------------------

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* out) {
  return create(out, __func__);
}
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t d) { return destroy(d); }
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t d,
                                           cudnnActivationMode_t mode, cudnnNanPropagation_t nan,
                                           double coefficient) {
  if (d == nullptr) return null_pointer(__func__);
  d->mode = mode;
  d->nan = nan;
  d->coefficient = coefficient;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t d,
                                           cudnnActivationMode_t* mode, cudnnNanPropagation_t* nan,
                                           double* coefficient) {
  if (d == nullptr) return null_pointer(__func__);
  store_result(mode, d->mode);
  store_result(nan, d->nan);
  store_result(coefficient, d->coefficient);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t d, double beta) {
  if (d == nullptr) return null_pointer(__func__);
  d->swish_beta = beta;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t d, double* beta) {
  if (d == nullptr) return null_pointer(__func__);
  store_result(beta, d->swish_beta);
  return CUDNN_STATUS_SUCCESS;
}

// --- pooling ---------------------------------------------------------------------------------

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* out) {
  return create(out, __func__);
}
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t d) { return destroy(d); }

cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t d, const cudnnPoolingMode_t mode,
                                          const cudnnNanPropagation_t nan, int dims,
                                          const int window[], const int padding[],
                                          const int stride[]) {
  if (d == nullptr) return null_pointer(__func__);
  if (!rank_ok(dims)) return failed(CUDNN_STATUS_BAD_PARAM, __func__);
  d->mode = mode;
  d->nan = nan;
  d->dims = dims;
  take(d->window, window, dims);
  take(d->padding, padding, dims);
  take(d->stride, stride, dims);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t d, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int window_h, int window_w,
                                          int pad_h, int pad_w, int stride_h, int stride_w) {
  const int window[] = {window_h, window_w}, padding[] = {pad_h, pad_w};
  const int stride[] = {stride_h, stride_w};
  return cudnnSetPoolingNdDescriptor(d, mode, nan, 2, window, padding, stride);
}

// --- dropout ---------------------------------------------------------------------------------

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* out) {
  return create(out, __func__);
}
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t d) { return destroy(d); }

cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t,
                                            float probability, void* states, size_t,
                                            unsigned long long seed) {
  if (d == nullptr) return null_pointer(__func__);
  *d = {probability, states, seed};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t h,
                                        float probability, void* states, size_t bytes,
                                        unsigned long long seed) {
  const cudnnStatus_t status =
      cudnnRestoreDropoutDescriptor(d, h, probability, states, bytes, seed);
  if (status != CUDNN_STATUS_SUCCESS || states == nullptr) return status;
  const double count = static_cast<double>(bytes) / 48;
  return launch(stream_of_handle(h), Kernel::kDropoutStates,
                {.elements = count, .flops = 8 * count, .bytes = static_cast<double>(bytes)});
}

cudnnStatus_t cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t,
                                        float* probability, void** states,
                                        unsigned long long* seed) {
  if (d == nullptr) return null_pointer(__func__);
  store_result(probability, d->probability);
  store_result(states, d->states);
  store_result(seed, d->seed);
  return CUDNN_STATUS_SUCCESS;
}

// --- losses and spatial transformers ---------------------------------------------------------

cudnnStatus_t cudnnCreateCTCLossDescriptor(cudnnCTCLossDescriptor_t* out) {
  return create(out, __func__);
}
cudnnStatus_t cudnnDestroyCTCLossDescriptor(cudnnCTCLossDescriptor_t d) { return destroy(d); }

cudnnStatus_t cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t d, cudnnDataType_t compute,
                                           cudnnLossNormalizationMode_t, cudnnCTCGradMode_t,
                                           int max_label_length) {
  if (d == nullptr) return null_pointer(__func__);
  *d = {compute, max_label_length};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t d, cudnnDataType_t compute,
                                           cudnnLossNormalizationMode_t mode, cudnnNanPropagation_t,
                                           int max_label_length) {
  return cudnnSetCTCLossDescriptor_v9(d, compute, mode, CUDNN_CTC_ZERO_OOB_GRADIENTS,
                                      max_label_length);
}
cudnnStatus_t cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t d, cudnnDataType_t compute,
                                          cudnnLossNormalizationMode_t mode,
                                          cudnnNanPropagation_t) {
  return cudnnSetCTCLossDescriptor_v9(d, compute, mode, CUDNN_CTC_ZERO_OOB_GRADIENTS, 0);
}
cudnnStatus_t cudnnSetCTCLossDescriptor(cudnnCTCLossDescriptor_t d, cudnnDataType_t compute) {
  if (d == nullptr) return null_pointer(__func__);
  *d = {compute, 0};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateSpatialTransformerDescriptor(cudnnSpatialTransformerDescriptor_t* out) {
  return create(out, __func__);
}
cudnnStatus_t cudnnDestroySpatialTransformerDescriptor(cudnnSpatialTransformerDescriptor_t d) {
  return destroy(d);
}
cudnnStatus_t cudnnSetSpatialTransformerNdDescriptor(cudnnSpatialTransformerDescriptor_t d,
                                                     cudnnSamplerType_t, cudnnDataType_t type,
                                                     const int dims, const int dim[]) {
  if (d == nullptr || dim == nullptr) return null_pointer(__func__);
  if (!rank_ok(dims)) return failed(CUDNN_STATUS_BAD_PARAM, __func__);
  d->type = type;
  d->dims = dims;
  std::copy(dim, dim + dims, d->dim);
  return CUDNN_STATUS_SUCCESS;
}
}
