// SPDX-License-Identifier: Apache-2.0
//
// Simulated cuDNN: softmax, pooling, activation, dropout, CTC loss, spatial transformers.
//
// Context:  application threads
// Owns:     nothing
// Promises: each call launches what the table says and touches no data
// Not here: batch normalisation (norm_api.cpp), kernel names (kernels.cpp)
#include <cmath>

#include "core/handles.hpp"
#include "cudnn/api.hpp"
#include "cudnn/kernels.hpp"

using namespace gpusim;

namespace {

cudnnStatus_t run(cudnnHandle_t handle, Kernel kernel, const Tensor* tensor, double passes,
                  const char* name) {
  if (tensor == nullptr) return null_pointer(name);
  return launch(stream_of_handle(handle), kernel, elementwise(*tensor, passes));
}

/// Work for one pixel grid of a spatial transformer: N x H x W points of two coordinates.
cudnnStatus_t run_grid(cudnnHandle_t handle, Kernel kernel, const Tensor* t, const char* name) {
  if (t == nullptr) return null_pointer(name);
  const double points = static_cast<double>(t->dim[0]) * t->spatial();
  return launch(stream_of_handle(handle), kernel,
                {.type = t->type,
                 .elements = points,
                 .flops = 8 * points,
                 .bytes = 2 * points * Tensor::type_bits(t->type) / 8});
}

cudnnStatus_t ctc(cudnnHandle_t handle, const Tensor* probabilities, const void* gradients,
                  const char* name) {
  if (probabilities == nullptr) return null_pointer(name);
  Stream* stream = stream_of_handle(handle);
  const cudnnStatus_t status = launch(stream, Kernel::kCtcAlpha, elementwise(*probabilities, 2));
  if (status != CUDNN_STATUS_SUCCESS || gradients == nullptr) return status;
  return launch(stream, Kernel::kCtcGradient, elementwise(*probabilities, 2));
}

cudnnStatus_t ctc_workspace(const Tensor* probabilities, size_t* bytes, const char* name) {
  if (probabilities == nullptr || bytes == nullptr) return null_pointer(name);
  *bytes = static_cast<size_t>(std::ceil(2 * probabilities->bytes()));
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t h, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t,
                                  const void*, const cudnnTensorDescriptor_t x, const void*,
                                  const void*, const cudnnTensorDescriptor_t, void*) {
  return run(h, Kernel::kSoftmaxForward, x, 3, __func__);
}
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t h, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t,
                                   const void*, const cudnnTensorDescriptor_t y, const void*,
                                   const cudnnTensorDescriptor_t, const void*, const void*,
                                   const cudnnTensorDescriptor_t, void*) {
  return run(h, Kernel::kSoftmaxBackward, y, 3, __func__);
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t h, const cudnnPoolingDescriptor_t, const void*,
                                  const cudnnTensorDescriptor_t x, const void*, const void*,
                                  const cudnnTensorDescriptor_t, void*) {
  return run(h, Kernel::kPoolingForward, x, 1.25, __func__);
}
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t h, const cudnnPoolingDescriptor_t, const void*,
                                   const cudnnTensorDescriptor_t, const void*,
                                   const cudnnTensorDescriptor_t, const void*,
                                   const cudnnTensorDescriptor_t x, const void*, const void*,
                                   const cudnnTensorDescriptor_t, void*) {
  return run(h, Kernel::kPoolingBackward, x, 2.5, __func__);
}

cudnnStatus_t cudnnActivationForward(cudnnHandle_t h, cudnnActivationDescriptor_t, const void*,
                                     const cudnnTensorDescriptor_t x, const void*, const void*,
                                     const cudnnTensorDescriptor_t, void*) {
  return run(h, Kernel::kActivationForward, x, 2, __func__);
}
cudnnStatus_t cudnnActivationBackward(cudnnHandle_t h, cudnnActivationDescriptor_t, const void*,
                                      const cudnnTensorDescriptor_t y, const void*,
                                      const cudnnTensorDescriptor_t, const void*,
                                      const cudnnTensorDescriptor_t, const void*, const void*,
                                      const cudnnTensorDescriptor_t, void*) {
  return run(h, Kernel::kActivationBackward, y, 3, __func__);
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t h, const void*, const cudnnTensorDescriptor_t,
                             const void*, const void*, const cudnnTensorDescriptor_t c, void*) {
  return run(h, Kernel::kAddTensor, c, 2, __func__);
}
cudnnStatus_t cudnnTransformTensor(cudnnHandle_t h, const void*, const cudnnTensorDescriptor_t x,
                                   const void*, const void*, const cudnnTensorDescriptor_t, void*) {
  return run(h, Kernel::kTransform, x, 2, __func__);
}

cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t h, size_t* bytes) {
  const Stream* stream = stream_of_handle(h);
  if (stream == nullptr || bytes == nullptr) return null_pointer(__func__);
  const DeviceModel& model = stream->context->device->model;
  // A generator of 48 bytes for each thread that can be resident: invented.
  *bytes = 48 * static_cast<size_t>(model.sm_count) * static_cast<size_t>(model.max_threads_per_sm);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t x, size_t* bytes) {
  if (x == nullptr || bytes == nullptr) return null_pointer(__func__);
  *bytes = static_cast<size_t>(std::ceil(x->elements() / 8));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDropoutForward(cudnnHandle_t h, const cudnnDropoutDescriptor_t,
                                  const cudnnTensorDescriptor_t x, const void*,
                                  const cudnnTensorDescriptor_t, void*, void*, size_t) {
  return run(h, Kernel::kDropoutForward, x, 2, __func__);
}
cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t h, const cudnnDropoutDescriptor_t,
                                   const cudnnTensorDescriptor_t dy, const void*,
                                   const cudnnTensorDescriptor_t, void*, void*, size_t) {
  return run(h, Kernel::kDropoutBackward, dy, 2, __func__);
}

cudnnStatus_t cudnnGetCTCLossWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t p,
                                           const cudnnTensorDescriptor_t, const int*, const int*,
                                           const int*, cudnnCTCLossAlgo_t, cudnnCTCLossDescriptor_t,
                                           size_t* bytes) {
  return ctc_workspace(p, bytes, __func__);
}
cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t, cudnnCTCLossAlgo_t,
                                              cudnnCTCLossDescriptor_t,
                                              const cudnnTensorDescriptor_t p,
                                              const cudnnTensorDescriptor_t, size_t* bytes) {
  return ctc_workspace(p, bytes, __func__);
}
cudnnStatus_t cudnnCTCLoss(cudnnHandle_t h, const cudnnTensorDescriptor_t p, const void*,
                           const int*, const int*, const int*, void*, const cudnnTensorDescriptor_t,
                           void* gradients, cudnnCTCLossAlgo_t, cudnnCTCLossDescriptor_t, void*,
                           size_t) {
  return ctc(h, p, gradients, __func__);
}
cudnnStatus_t cudnnCTCLoss_v8(cudnnHandle_t h, cudnnCTCLossAlgo_t, cudnnCTCLossDescriptor_t,
                              const cudnnTensorDescriptor_t p, const void*, const int*, const int*,
                              const int*, void*, const cudnnTensorDescriptor_t, void* gradients,
                              size_t, void*) {
  return ctc(h, p, gradients, __func__);
}

cudnnStatus_t cudnnSpatialTfGridGeneratorForward(cudnnHandle_t h,
                                                 const cudnnSpatialTransformerDescriptor_t d,
                                                 const void*, void*) {
  return run_grid(h, Kernel::kGridGenerator, d, __func__);
}
cudnnStatus_t cudnnSpatialTfGridGeneratorBackward(cudnnHandle_t h,
                                                  const cudnnSpatialTransformerDescriptor_t d,
                                                  const void*, void*) {
  return run_grid(h, Kernel::kGridGeneratorBackward, d, __func__);
}
cudnnStatus_t cudnnSpatialTfSamplerForward(cudnnHandle_t h, cudnnSpatialTransformerDescriptor_t,
                                           const void*, const cudnnTensorDescriptor_t, const void*,
                                           const void*, const void*, cudnnTensorDescriptor_t y,
                                           void*) {
  return run(h, Kernel::kSampler, y, 5, __func__);
}
cudnnStatus_t cudnnSpatialTfSamplerBackward(cudnnHandle_t h, cudnnSpatialTransformerDescriptor_t,
                                            const void*, const cudnnTensorDescriptor_t, const void*,
                                            const void*, const cudnnTensorDescriptor_t, void*,
                                            const void*, const cudnnTensorDescriptor_t dy,
                                            const void*, const void*, const void*, void*) {
  return run(h, Kernel::kSamplerBackward, dy, 9, __func__);
}
}
