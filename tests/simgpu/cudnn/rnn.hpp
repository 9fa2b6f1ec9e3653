// SPDX-License-Identifier: Apache-2.0
//
// Recurrent networks of the simulated cuDNN: descriptors, where each parameter lies, what a pass
// launches.
//
// Context:  application threads
// Owns:     nothing
// Promises: the weight space is exactly as large as the parameters; matrices of one kind lie side
//           by side, all biases behind all matrices
// Not here: the exported functions (rnn_api.cpp)
#pragma once

#include <cudnn.h>

#include <cstdint>

struct cudnnRNNStruct {
  cudnnRNNAlgo_t algo = CUDNN_RNN_ALGO_STANDARD;
  cudnnRNNMode_t mode = CUDNN_RNN_TANH;
  cudnnRNNBiasMode_t bias = CUDNN_RNN_DOUBLE_BIAS;
  cudnnDirectionMode_t direction = CUDNN_UNIDIRECTIONAL;
  cudnnRNNInputMode_t input_mode = CUDNN_LINEAR_INPUT;
  cudnnDataType_t type = CUDNN_DATA_FLOAT, math_type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  std::int32_t input = 0, hidden = 0, projected = 0, layers = 0;
  cudnnDropoutDescriptor_t dropout = nullptr;
  std::uint32_t flags = 0;
  cudnnRNNClipMode_t clip = CUDNN_RNN_CLIP_NONE;
  double clip_low = 0, clip_high = 0;
};

struct cudnnRNNDataStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  int max_length = 0, batch = 0, vector = 0;
  double steps = 0;  ///< time steps of all sequences together
};

namespace gpusim {

struct Stream;

/// A matrix or bias inside the weight space, in elements. `rows` is 0 where there is none.
struct Parameter {
  std::int64_t offset = 0, rows = 0, columns = 0;
};

int gates(const cudnnRNNStruct& rnn);
int directions(const cudnnRNNStruct& rnn);
/// Elements of the weight space.
std::int64_t parameter_count(const cudnnRNNStruct& rnn);
/// Matrix `id` of a pseudo layer: input gates, recurrent gates, then the projection.
Parameter matrix_of(const cudnnRNNStruct& rnn, int pseudo_layer, int id);
Parameter bias_of(const cudnnRNNStruct& rnn, int pseudo_layer, int id);

enum class RnnPass : std::uint8_t { kForward, kData, kWeights };

/// Launches one pass over a batch.
cudnnStatus_t launch(Stream* stream, const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& data,
                     RnnPass pass);

}  // namespace gpusim
