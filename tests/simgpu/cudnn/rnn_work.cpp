// SPDX-License-Identifier: Apache-2.0
//
// Layout of RNN parameters and the kernels of a pass.
//
// Context:  application threads
// Owns:     nothing
// Promises: see rnn.hpp
// Not here: kernel names (kernels.cpp)
#include <algorithm>

#include "cudnn/api.hpp"
#include "cudnn/kernels.hpp"
#include "cudnn/rnn.hpp"

namespace gpusim {
namespace {

std::int64_t state_size(const cudnnRNNStruct& r) {
  return r.projected > 0 ? r.projected : r.hidden;
}

std::int64_t input_size(const cudnnRNNStruct& r, int layer) {
  return layer == 0 ? r.input : state_size(r) * directions(r);
}

bool projects(const cudnnRNNStruct& r) { return r.projected > 0 && r.projected < r.hidden; }

/// Elements of all matrices of one pseudo layer.
std::int64_t matrices(const cudnnRNNStruct& r, int layer) {
  const std::int64_t projection = projects(r) ? std::int64_t{r.projected} * r.hidden : 0;
  return gates(r) * r.hidden * (input_size(r, layer) + state_size(r)) + projection;
}

int bias_sets(const cudnnRNNStruct& r) {
  if (r.bias == CUDNN_RNN_NO_BIAS) return 0;
  return r.bias == CUDNN_RNN_DOUBLE_BIAS ? 2 : 1;
}

/// First element of a pseudo layer's matrices.
std::int64_t layer_offset(const cudnnRNNStruct& r, int pseudo_layer) {
  std::int64_t offset = 0;
  for (int i = 0; i < pseudo_layer; ++i) offset += matrices(r, i / directions(r));
  return offset;
}

struct Cell {
  Kernel forward, backward;
};

Cell cell_of(cudnnRNNMode_t mode) {
  if (mode == CUDNN_LSTM) return {Kernel::kLstmForward, Kernel::kLstmBackward};
  if (mode == CUDNN_GRU) return {Kernel::kGruForward, Kernel::kGruBackward};
  return {Kernel::kRnnForward, Kernel::kRnnBackward};
}

/// A matrix product of rows x columns x depth.
KernelWork gemm(const cudnnRNNStruct& r, double rows, double columns, double depth) {
  const double width = Tensor::type_bits(r.type) / 8.0;
  return {.type = r.type,
          .elements = rows * columns,
          .flops = 2 * rows * columns * depth,
          .bytes = width * (rows * depth + depth * columns + rows * columns),
          .math_bits = math_bits(r.type, r.math == CUDNN_FMA_MATH)};
}

/// Launches in order until one fails.
class Launches {
 public:
  explicit Launches(Stream* stream) : stream_(stream) {}
  void add(Kernel kernel, const KernelWork& work) {
    if (status_ == CUDNN_STATUS_SUCCESS) status_ = launch(stream_, kernel, work);
  }
  cudnnStatus_t status() const { return status_; }

 private:
  Stream* stream_;
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
};

/// One layer in one direction, step by step: a recurrent product and a cell each.
void add_steps(Launches& out, const cudnnRNNStruct& r, const cudnnRNNDataStruct& data,
               bool backward) {
  const double all = static_cast<double>(gates(r)) * r.hidden;
  const double batch = data.steps / std::max(1, data.max_length);
  const Cell cell = cell_of(r.mode);
  const double cells = batch * r.hidden;
  const double width = Tensor::type_bits(r.type) / 8.0;
  const KernelWork step{.type = r.type,
                        .elements = cells,
                        .flops = 16 * cells,
                        .bytes = cells * width * (gates(r) + 3)};
  for (int t = 0; t < data.max_length; ++t) {
    out.add(Kernel::kRnnGemm, gemm(r, all, batch, static_cast<double>(state_size(r))));
    out.add(backward ? cell.backward : cell.forward, step);
  }
}

void add_layer(Launches& out, const cudnnRNNStruct& r, const cudnnRNNDataStruct& data, int layer,
               bool backward) {
  const double all = static_cast<double>(gates(r)) * r.hidden;
  const double state = static_cast<double>(state_size(r));
  const KernelWork input = gemm(r, all, data.steps, static_cast<double>(input_size(r, layer)));
  if (!backward) out.add(Kernel::kRnnGemm, input);
  if (r.algo == CUDNN_RNN_ALGO_STANDARD)
    add_steps(out, r, data, backward);
  else
    out.add(backward ? Kernel::kRnnPersistBackward : Kernel::kRnnPersistForward,
            gemm(r, all, data.steps, state));
  if (backward) out.add(Kernel::kRnnGemm, input);
}

void add_weights(Launches& out, const cudnnRNNStruct& r, const cudnnRNNDataStruct& data,
                 int layer) {
  const double all = static_cast<double>(gates(r)) * r.hidden;
  out.add(Kernel::kRnnGemmWeights,
          gemm(r, all, static_cast<double>(input_size(r, layer)), data.steps));
  out.add(Kernel::kRnnGemmWeights, gemm(r, all, static_cast<double>(state_size(r)), data.steps));
  if (bias_sets(r) == 0) return;
  const double n = all * data.steps;
  out.add(Kernel::kRnnBiasGradient,
          {.type = r.type, .elements = n, .flops = n, .bytes = n * Tensor::type_bits(r.type) / 8});
}

}  // namespace

int gates(const cudnnRNNStruct& r) {
  return r.mode == CUDNN_LSTM ? 4 : r.mode == CUDNN_GRU ? 3 : 1;
}

int directions(const cudnnRNNStruct& r) { return r.direction == CUDNN_BIDIRECTIONAL ? 2 : 1; }

std::int64_t parameter_count(const cudnnRNNStruct& r) {
  const int pseudo = r.layers * directions(r);
  return layer_offset(r, pseudo) + std::int64_t{pseudo} * bias_sets(r) * gates(r) * r.hidden;
}

Parameter matrix_of(const cudnnRNNStruct& r, int pseudo_layer, int id) {
  const std::int64_t input = input_size(r, pseudo_layer / directions(r));
  const std::int64_t state = state_size(r);
  const std::int64_t start = layer_offset(r, pseudo_layer);
  const std::int64_t recurrent = start + gates(r) * r.hidden * input;
  const std::int64_t projection = recurrent + gates(r) * r.hidden * state;
  if (id < gates(r)) return {start + id * r.hidden * input, r.hidden, input};
  if (id < 2 * gates(r)) return {recurrent + (id - gates(r)) * r.hidden * state, r.hidden, state};
  if (id == 2 * gates(r) && projects(r)) return {projection, r.projected, r.hidden};
  return {};
}

Parameter bias_of(const cudnnRNNStruct& r, int pseudo_layer, int id) {
  if (id >= 2 * gates(r)) return {};
  const bool recurrent = id >= gates(r);
  const bool has = bias_sets(r) == 2 || (r.bias == CUDNN_RNN_SINGLE_INP_BIAS && !recurrent) ||
                   (r.bias == CUDNN_RNN_SINGLE_REC_BIAS && recurrent);
  if (!has) return {};
  const int index = bias_sets(r) == 2 ? id : id % gates(r);
  const std::int64_t start = layer_offset(r, r.layers * directions(r)) +
                             std::int64_t{pseudo_layer} * bias_sets(r) * gates(r) * r.hidden;
  return {start + std::int64_t{index} * r.hidden, r.hidden, 1};
}

cudnnStatus_t launch(Stream* stream, const cudnnRNNStruct& r, const cudnnRNNDataStruct& data,
                     RnnPass pass) {
  Launches out(stream);
  const double width = Tensor::type_bits(r.type) / 8.0;
  const double n = data.steps * static_cast<double>(state_size(r)) * directions(r);
  const KernelWork mask{.type = r.type, .elements = n, .flops = n, .bytes = 2 * n * width};
  const bool drops = r.dropout != nullptr && r.dropout->probability > 0;
  for (int i = 0; i < r.layers; ++i) {
    const int layer = pass == RnnPass::kForward ? i : r.layers - 1 - i;
    for (int d = 0; d < directions(r); ++d) {
      if (pass == RnnPass::kWeights)
        add_weights(out, r, data, layer);
      else
        add_layer(out, r, data, layer, pass == RnnPass::kData);
    }
    if (drops && pass != RnnPass::kWeights && i + 1 < r.layers)
      out.add(pass == RnnPass::kForward ? Kernel::kDropoutForward : Kernel::kDropoutBackward, mask);
  }
  return out.status();
}

}  // namespace gpusim
