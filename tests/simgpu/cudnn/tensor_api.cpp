// SPDX-License-Identifier: Apache-2.0
//
// Simulated cuDNN: tensor and filter descriptors.
//
// Context:  application threads
// Owns:     descriptors until the program destroys them
// Promises: what was set is what is given back
// Not here: other descriptors (descriptor_api.cpp)
#include "cudnn/tensor.hpp"

#include <algorithm>
#include <cmath>

#include "cudnn/api.hpp"

using namespace gpusim;

namespace gpusim {

int Tensor::type_bits(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
    case CUDNN_DATA_COMPLEX_FP32:
      return 64;
    case CUDNN_DATA_COMPLEX_FP64:
      return 128;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 16;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
    case CUDNN_DATA_UINT32:
    case CUDNN_DATA_FAST_FLOAT_FOR_FP8:
      return 32;
    case CUDNN_DATA_BOOLEAN:
      return 1;
    case CUDNN_DATA_FP4_E2M1:
    case CUDNN_DATA_INT4:
    case CUDNN_DATA_UINT4:
      return 4;
    default:
      return 8;
  }
}

void pack(Tensor& t, cudnnTensorFormat_t format) {
  t.format = format;
  std::int64_t step = 1;
  const bool last = format == CUDNN_TENSOR_NHWC && t.dims > 2;
  if (last) {
    t.stride[1] = 1;
    step = t.dim[1];
  }
  for (int i = t.dims - 1; i >= 0; --i) {
    if (last && i == 1) continue;
    t.stride[i] = step;
    step *= std::max<std::int64_t>(1, t.dim[i]);
  }
}

}  // namespace gpusim

namespace {

bool usable(int dims, const int* dim) {
  return dims > 0 && dims <= kMaxDims && dim != nullptr &&
         std::all_of(dim, dim + dims, [](int d) { return d >= 0; });
}

cudnnStatus_t describe(Tensor* t, cudnnDataType_t type, int dims, const int* dim,
                       cudnnTensorFormat_t format, const char* name) {
  if (t == nullptr) return null_pointer(name);
  if (!usable(dims, dim)) return failed(CUDNN_STATUS_BAD_PARAM, name);
  t->type = type;
  t->dims = dims;
  std::copy(dim, dim + dims, t->dim);
  pack(*t, format);
  return CUDNN_STATUS_SUCCESS;
}

/// Gives the four dimensions and strides of a four-dimensional descriptor; all may be null.
void give4(const Tensor& t, int* dim[4], int* stride[4]) {
  for (int i = 0; i < 4; ++i) {
    if (dim[i] != nullptr) *dim[i] = static_cast<int>(t.dim[i]);
    if (stride != nullptr && stride[i] != nullptr) *stride[i] = static_cast<int>(t.stride[i]);
  }
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* out) {
  return create(out, __func__);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d) { return destroy(d); }
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* out) {
  return create(out, __func__);
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t d) { return destroy(d); }

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t d, cudnnDataType_t type, int dims,
                                         const int dim[], const int stride[]) {
  const cudnnStatus_t status = describe(d, type, dims, dim, CUDNN_TENSOR_NCHW, __func__);
  if (status == CUDNN_STATUS_SUCCESS && stride != nullptr)
    std::copy(stride, stride + dims, d->stride);
  return status;
}

cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t d, cudnnTensorFormat_t format,
                                           cudnnDataType_t type, int dims, const int dim[]) {
  return describe(d, type, dims, dim, format, __func__);
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t d, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  const int dim[] = {n, c, h, w};
  return describe(d, type, 4, dim, format, __func__);
}

cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t d, cudnnDataType_t type, int n,
                                           int c, int h, int w, int n_stride, int c_stride,
                                           int h_stride, int w_stride) {
  const int dim[] = {n, c, h, w};
  const int stride[] = {n_stride, c_stride, h_stride, w_stride};
  return cudnnSetTensorNdDescriptor(d, type, 4, dim, stride);
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t d, int wanted,
                                         cudnnDataType_t* type, int* dims, int dim[],
                                         int stride[]) {
  if (d == nullptr) return null_pointer(__func__);
  store_result(type, d->type);
  store_result(dims, d->dims);
  for (int i = 0; i < std::min(wanted, d->dims); ++i) {
    if (dim != nullptr) dim[i] = static_cast<int>(d->dim[i]);
    if (stride != nullptr) stride[i] = static_cast<int>(d->stride[i]);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t d, cudnnDataType_t* type,
                                         int* n, int* c, int* h, int* w, int* n_stride,
                                         int* c_stride, int* h_stride, int* w_stride) {
  if (d == nullptr) return null_pointer(__func__);
  store_result(type, d->type);
  int* dim[] = {n, c, h, w};
  int* stride[] = {n_stride, c_stride, h_stride, w_stride};
  give4(*d, dim, stride);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t d, size_t* bytes) {
  if (d == nullptr || bytes == nullptr) return null_pointer(__func__);
  std::int64_t last = 0;
  for (int i = 0; i < d->dims; ++i) last += std::max<std::int64_t>(0, d->dim[i] - 1) * d->stride[i];
  const bool empty = d->elements() <= 0;
  *bytes = empty ? 0 : static_cast<size_t>((last + 1) * Tensor::type_bits(d->type) + 7) / 8;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int dims, const int dim[]) {
  return describe(d, type, dims, dim, format, __func__);
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  const int dim[] = {k, c, h, w};
  return describe(d, type, 4, dim, format, __func__);
}

cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t d, int wanted,
                                         cudnnDataType_t* type, cudnnTensorFormat_t* format,
                                         int* dims, int dim[]) {
  if (d == nullptr) return null_pointer(__func__);
  store_result(type, d->type);
  store_result(format, d->format);
  store_result(dims, d->dims);
  for (int i = 0; dim != nullptr && i < std::min(wanted, d->dims); ++i)
    dim[i] = static_cast<int>(d->dim[i]);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t d, cudnnDataType_t* type,
                                         cudnnTensorFormat_t* format, int* k, int* c, int* h,
                                         int* w) {
  if (d == nullptr) return null_pointer(__func__);
  store_result(type, d->type);
  store_result(format, d->format);
  int* dim[] = {k, c, h, w};
  give4(*d, dim, nullptr);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t d, size_t* bytes) {
  if (d == nullptr || bytes == nullptr) return null_pointer(__func__);
  *bytes = static_cast<size_t>(std::ceil(d->bytes()));
  return CUDNN_STATUS_SUCCESS;
}
}
