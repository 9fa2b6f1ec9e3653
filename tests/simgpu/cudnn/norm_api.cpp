// SPDX-License-Identifier: Apache-2.0
//
// Simulated cuDNN: batch normalisation.
//
// Context:  application threads
// Owns:     nothing
// Promises: needs neither workspace nor reserve space; one kernel a call
// Not here: the graph API's normalisations (backend_execute.cpp)
#include "cudnn/api.hpp"
#include "cudnn/kernels.hpp"

using namespace gpusim;

namespace {

/// Launches the kernel for the layout of `x`, which is read and written `passes` times in all.
cudnnStatus_t normalise(cudnnHandle_t handle, const cudnnTensorStruct* x, Kernel nchw, Kernel nhwc,
                        double passes, const char* name) {
  if (x == nullptr) return null_pointer(name);
  return launch(stream_of_handle(handle), x->channels_last() ? nhwc : nchw,
                elementwise(*x, passes));
}

cudnnStatus_t nothing(size_t* bytes, const char* name) {
  if (bytes == nullptr) return null_pointer(name);
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived,
                                            const cudnnTensorDescriptor_t x,
                                            cudnnBatchNormMode_t mode) {
  if (derived == nullptr || x == nullptr) return null_pointer(__func__);
  *derived = *x;
  derived->dim[0] = 1;
  for (int i = 2; mode != CUDNN_BATCHNORM_PER_ACTIVATION && i < x->dims; ++i) derived->dim[i] = 1;
  if (x->type == CUDNN_DATA_HALF || x->type == CUDNN_DATA_BFLOAT16)
    derived->type = CUDNN_DATA_FLOAT;
  pack(*derived, CUDNN_TENSOR_NCHW);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t, size_t* bytes) {
  return nothing(bytes, __func__);
}

cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t,
    size_t* bytes) {
  return nothing(bytes, __func__);
}

cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnActivationDescriptor_t,
    const cudnnTensorDescriptor_t, size_t* bytes) {
  return nothing(bytes, __func__);
}

cudnnStatus_t cudnnBatchNormalizationForwardTraining(cudnnHandle_t h, cudnnBatchNormMode_t,
                                                     const void*, const void*,
                                                     const cudnnTensorDescriptor_t x, const void*,
                                                     const cudnnTensorDescriptor_t, void*,
                                                     const cudnnTensorDescriptor_t, const void*,
                                                     const void*, double, void*, void*, double,
                                                     void*, void*) {
  return normalise(h, x, Kernel::kBnForward, Kernel::kBnForwardNhwc, 3, __func__);
}

cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t h, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void*, const void*,
    const cudnnTensorDescriptor_t x, const void*, const cudnnTensorDescriptor_t, const void*,
    const cudnnTensorDescriptor_t, void*, const cudnnTensorDescriptor_t, const void*, const void*,
    double, void*, void*, double, void*, void*, cudnnActivationDescriptor_t, void*, size_t, void*,
    size_t) {
  return normalise(h, x, Kernel::kBnForward, Kernel::kBnForwardNhwc, 3, __func__);
}

cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t h, cudnnBatchNormMode_t, const void*, const void*,
    const cudnnTensorDescriptor_t x, const void*, const cudnnTensorDescriptor_t, void*,
    const cudnnTensorDescriptor_t, const void*, const void*, const void*, const void*, double) {
  return normalise(h, x, Kernel::kBnInference, Kernel::kBnInference, 2, __func__);
}

cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t h, cudnnBatchNormMode_t, const void*,
                                              const void*, const void*, const void*,
                                              const cudnnTensorDescriptor_t x, const void*,
                                              const cudnnTensorDescriptor_t, const void*,
                                              const cudnnTensorDescriptor_t, void*,
                                              const cudnnTensorDescriptor_t, const void*, void*,
                                              void*, double, const void*, const void*) {
  return normalise(h, x, Kernel::kBnBackward, Kernel::kBnBackwardNhwc, 5, __func__);
}

cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t h, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void*, const void*,
    const void*, const void*, const cudnnTensorDescriptor_t x, const void*,
    const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t, const void*,
    const cudnnTensorDescriptor_t, void*, const cudnnTensorDescriptor_t, void*,
    const cudnnTensorDescriptor_t, const void*, const void*, void*, void*, double, const void*,
    const void*, cudnnActivationDescriptor_t, void*, size_t, void*, size_t) {
  return normalise(h, x, Kernel::kBnBackward, Kernel::kBnBackwardNhwc, 5, __func__);
}
}
