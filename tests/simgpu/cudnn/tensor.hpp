// SPDX-License-Identifier: Apache-2.0
//
// Shape of a tensor as cuDNN describes it: type, dimensions, strides.
//
// Context:  any
// Owns:     nothing
// Promises: trivially copyable
// Not here: the functions that set it (tensor_api.cpp, backend_api.cpp)
#pragma once

#include <cudnn.h>

#include <cstdint>

namespace gpusim {

constexpr int kMaxDims = CUDNN_DIM_MAX;

struct Tensor {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  int dims = 0;
  std::int64_t dim[kMaxDims] = {};
  std::int64_t stride[kMaxDims] = {};

  double elements() const {
    double n = dims > 0 ? 1 : 0;
    for (int i = 0; i < dims; ++i) n *= static_cast<double>(dim[i]);
    return n;
  }
  double bytes() const { return elements() * type_bits(type) / 8; }
  /// Product of the dimensions after batch and channel.
  double spatial() const {
    double n = 1;
    for (int i = 2; i < dims; ++i) n *= static_cast<double>(dim[i]);
    return n;
  }
  /// Whether channels are innermost, or it makes no difference in memory.
  bool channels_last() const { return dims < 3 || stride[1] == 1 || dim[1] == 1 || spatial() <= 1; }

  static int type_bits(cudnnDataType_t type);
};

/// Strides of a packed tensor in the given layout.
void pack(Tensor& tensor, cudnnTensorFormat_t format);

}  // namespace gpusim
