// SPDX-License-Identifier: Apache-2.0
//
// What every entry point of the simulated cuDNN shares: the handle, its stream, refusals, the
// descriptors behind the opaque pointers.
//
// Context:  application threads
// Owns:     nothing; handles and descriptors belong to the program
// Promises: a missing pointer gives an error code, never a crash
// Not here: backend descriptors (backend.hpp), what is launched (kernels.hpp)
#pragma once

#include <cudnn.h>

#include "cudnn/tensor.hpp"

struct cudnnContext {
  cudaStream_t stream;
};

struct cudnnTensorStruct : gpusim::Tensor {};
struct cudnnFilterStruct : gpusim::Tensor {};

struct cudnnConvolutionStruct {
  int dims = 0;
  int padding[gpusim::kMaxDims] = {}, stride[gpusim::kMaxDims] = {},
      dilation[gpusim::kMaxDims] = {};
  int groups = 1;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  cudnnReorderType_t reorder = CUDNN_DEFAULT_REORDER;
};

struct cudnnDropoutStruct {
  float probability = 0;
  void* states = nullptr;
  unsigned long long seed = 0;
};

struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  double coefficient = 0;
  double swish_beta = 1;
};

struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  int dims = 0;
  int window[gpusim::kMaxDims] = {}, padding[gpusim::kMaxDims] = {}, stride[gpusim::kMaxDims] = {};
};

struct cudnnCTCLossStruct {
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  int max_label_length = 0;
};

struct cudnnSpatialTransformerStruct : gpusim::Tensor {};

namespace gpusim {

struct Stream;

/// The stream a call on `handle` works on, or null. Makes the runtime's context current, as the
/// real library does.
Stream* stream_of_handle(cudnnHandle_t handle);

/// Remembers `what` for cudnnGetLastErrorString and returns `status`.
cudnnStatus_t failed(cudnnStatus_t status, const char* what);
/// The same for a null pointer among the arguments of function `name`.
cudnnStatus_t null_pointer(const char* name);
/// Names a use that the simulated GPU does not know, and refuses it.
cudnnStatus_t not_supported(const char* use);

/// Writes `value` where the caller wants it.
template <typename T, typename V>
void store_result(T* out, const V& value) {
  if (out != nullptr) *out = static_cast<T>(value);
}

/// Creates a descriptor for the caller.
template <typename T>
cudnnStatus_t create(T** out, const char* name) {
  if (out == nullptr) return null_pointer(name);
  *out = new T;
  return CUDNN_STATUS_SUCCESS;
}

/// Frees a descriptor; null is allowed.
template <typename T>
cudnnStatus_t destroy(T* descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace gpusim
