// SPDX-License-Identifier: Apache-2.0
//
// Simulated cuDNN: recurrent networks.
//
// Context:  application threads
// Owns:     descriptors until the program destroys them
// Promises: parameter addresses lie inside the weight space; every out-parameter may be null
// Not here: what a pass launches (rnn_work.cpp)
#include "cudnn/rnn.hpp"

#include <algorithm>

#include "cudnn/api.hpp"

using namespace gpusim;

namespace {

bool sane(const cudnnRNNStruct& r) {
  return r.hidden > 0 && r.input >= 0 && r.layers > 0 && r.projected >= 0 &&
         r.projected <= r.hidden;
}

cudnnStatus_t pass(cudnnHandle_t handle, const cudnnRNNStruct* r, const cudnnRNNDataStruct* x,
                   RnnPass which, const char* name) {
  if (r == nullptr || x == nullptr) return null_pointer(name);
  if (!sane(*r)) return failed(CUDNN_STATUS_BAD_PARAM, name);
  return launch(stream_of_handle(handle), *r, *x, which);
}

/// Tells the caller where a parameter lies; all of it may be unwanted.
void tell(const Parameter& p, cudnnDataType_t type, const void* space, cudnnTensorDescriptor_t d,
          void** address) {
  if (d != nullptr) {
    static_cast<Tensor&>(*d) = Tensor{};
    d->type = type;
    d->dims = p.rows > 0 ? 3 : 0;
    d->dim[0] = 1;
    d->dim[1] = p.rows;
    d->dim[2] = p.columns;
    pack(*d, CUDNN_TENSOR_NCHW);
  }
  if (address == nullptr) return;
  const std::int64_t width = Tensor::type_bits(type) / 8;
  const auto base = reinterpret_cast<std::uintptr_t>(space);
  *address = p.rows > 0
                 ? reinterpret_cast<void*>(base + static_cast<std::uintptr_t>(p.offset * width))
                 : nullptr;
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* out) { return create(out, __func__); }
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t d) { return destroy(d); }
cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* out) {
  return create(out, __func__);
}
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t d) { return destroy(d); }

cudnnStatus_t cudnnSetRNNDescriptor_v8(
    cudnnRNNDescriptor_t d, cudnnRNNAlgo_t algo, cudnnRNNMode_t mode, cudnnRNNBiasMode_t bias,
    cudnnDirectionMode_t direction, cudnnRNNInputMode_t input_mode, cudnnDataType_t type,
    cudnnDataType_t math_type, cudnnMathType_t math, int32_t input, int32_t hidden,
    int32_t projected, int32_t layers, cudnnDropoutDescriptor_t dropout, uint32_t flags) {
  if (d == nullptr) return null_pointer(__func__);
  const cudnnRNNStruct wanted{algo, mode,  bias,   direction, input_mode, type,    math_type,
                              math, input, hidden, projected, layers,     dropout, flags};
  if (!sane(wanted)) return failed(CUDNN_STATUS_BAD_PARAM, __func__);
  *d = wanted;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNSetClip_v9(cudnnRNNDescriptor_t d, cudnnRNNClipMode_t mode, double low,
                                 double high) {
  if (d == nullptr) return null_pointer(__func__);
  d->clip = mode;
  d->clip_low = low;
  d->clip_high = high;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnRNNSetClip_v8(cudnnRNNDescriptor_t d, cudnnRNNClipMode_t mode,
                                 cudnnNanPropagation_t, double low, double high) {
  return cudnnRNNSetClip_v9(d, mode, low, high);
}

cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t layout, int max_length, int batch,
                                        int vector, const int lengths[], void*) {
  if (d == nullptr || lengths == nullptr) return null_pointer(__func__);
  if (max_length < 1 || batch < 1 || vector < 0) return failed(CUDNN_STATUS_BAD_PARAM, __func__);
  *d = {type, layout, max_length, batch, vector, 0};
  for (int i = 0; i < batch; ++i) d->steps += std::clamp(lengths[i], 0, max_length);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t* type,
                                        cudnnRNNDataLayout_t* layout, int* max_length, int* batch,
                                        int* vector, int, int[], void*) {
  if (d == nullptr) return null_pointer(__func__);
  store_result(type, d->type);
  store_result(layout, d->layout);
  store_result(max_length, d->max_length);
  store_result(batch, d->batch);
  store_result(vector, d->vector);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t d,
                                        cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x,
                                        size_t* workspace, size_t* reserve) {
  if (d == nullptr || x == nullptr) return null_pointer(__func__);
  const auto width = static_cast<std::size_t>(Tensor::type_bits(d->type)) / 8;
  const auto cells = static_cast<std::size_t>(x->max_length) * static_cast<std::size_t>(x->batch) *
                     static_cast<std::size_t>(d->hidden) * static_cast<std::size_t>(directions(*d));
  // The gates of one layer, and for the backward pass gates and cells of every layer.
  store_result(workspace, cells * static_cast<std::size_t>(gates(*d)) * width);
  const auto kept =
      cells * static_cast<std::size_t>(gates(*d) + 2) * static_cast<std::size_t>(d->layers) * width;
  store_result(reserve, mode == CUDNN_FWD_MODE_TRAINING ? kept : 0);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t d, size_t* bytes) {
  if (d == nullptr || bytes == nullptr) return null_pointer(__func__);
  if (!sane(*d)) return failed(CUDNN_STATUS_BAD_PARAM, __func__);
  *bytes = static_cast<std::size_t>(parameter_count(*d) * Tensor::type_bits(d->type) / 8);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t d, int32_t pseudo_layer,
                                      size_t, const void* space, int32_t id,
                                      cudnnTensorDescriptor_t matrix, void** matrix_address,
                                      cudnnTensorDescriptor_t bias, void** bias_address) {
  if (d == nullptr) return null_pointer(__func__);
  if (!sane(*d) || pseudo_layer < 0 || pseudo_layer >= d->layers * directions(*d) || id < 0)
    return failed(CUDNN_STATUS_BAD_PARAM, __func__);
  tell(matrix_of(*d, pseudo_layer, id), d->type, space, matrix, matrix_address);
  tell(bias_of(*d, pseudo_layer, id), d->type, space, bias, bias_address);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t h, cudnnRNNDescriptor_t d, cudnnForwardMode_t,
                              const int32_t[], cudnnRNNDataDescriptor_t x, const void*,
                              cudnnRNNDataDescriptor_t, void*, cudnnTensorDescriptor_t, const void*,
                              void*, cudnnTensorDescriptor_t, const void*, void*, size_t,
                              const void*, size_t, void*, size_t, void*) {
  return pass(h, d, x, RnnPass::kForward, __func__);
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t h, cudnnRNNDescriptor_t d, const int32_t[],
                                      cudnnRNNDataDescriptor_t, const void*, const void*,
                                      cudnnRNNDataDescriptor_t x, void*, cudnnTensorDescriptor_t,
                                      const void*, const void*, void*, cudnnTensorDescriptor_t,
                                      const void*, const void*, void*, size_t, const void*, size_t,
                                      void*, size_t, void*) {
  return pass(h, d, x, RnnPass::kData, __func__);
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t h, cudnnRNNDescriptor_t d, cudnnWgradMode_t,
                                         const int32_t[], cudnnRNNDataDescriptor_t x, const void*,
                                         cudnnTensorDescriptor_t, const void*,
                                         cudnnRNNDataDescriptor_t, const void*, size_t, void*,
                                         size_t, void*, size_t, void*) {
  return pass(h, d, x, RnnPass::kWeights, __func__);
}
}
