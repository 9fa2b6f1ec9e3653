// SPDX-License-Identifier: Apache-2.0
//
// A program that uses cuDNN and nothing else, to test the fake without PyTorch: both
// convolution APIs, an RNN, refusals.
//
// Context:  tests
// Owns:     what it creates
// Promises: prints one line `name value` for each answer; exits 0 if cuDNN could be used at all
// Not here: what the answers should be (cudnn_test.cpp)
#include <cudnn.h>

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <vector>

namespace {

void say(const char* what, long long value) { std::printf("%s %lld\n", what, value); }

using Dims = std::vector<std::int64_t>;

cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t d = nullptr;
  cudnnBackendCreateDescriptor(type, &d);
  return d;
}

void set(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, const Dims& values) {
  cudnnBackendSetAttribute(d, name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()),
                           values.data());
}

void set(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
         std::vector<cudnnBackendDescriptor_t> values) {
  cudnnBackendSetAttribute(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                           static_cast<std::int64_t>(values.size()), values.data());
}

Dims strides(const Dims& d, bool channels_last) {
  if (channels_last) return {d[1] * d[2] * d[3], 1, d[1] * d[3], d[1]};
  return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1};
}

cudnnBackendDescriptor_t tensor(const Dims& dims, bool channels_last) {
  cudnnBackendDescriptor_t t = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const cudnnDataType_t type = CUDNN_DATA_HALF;
  cudnnBackendSetAttribute(t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  set(t, CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  set(t, CUDNN_ATTR_TENSOR_STRIDES, strides(dims, channels_last));
  cudnnBackendFinalize(t);
  return t;
}

cudnnBackendDescriptor_t graph_of(std::vector<cudnnBackendDescriptor_t> operations) {
  cudnnBackendDescriptor_t graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, std::move(operations));
  return graph;
}

/// A forward convolution of 8 x 64 x 56 x 56 by 128 filters of 3 x 3.
cudnnBackendDescriptor_t convolution_graph(bool channels_last) {
  cudnnBackendDescriptor_t op = make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, {tensor({8, 64, 56, 56}, channels_last)});
  set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, {tensor({128, 64, 3, 3}, channels_last)});
  set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, {tensor({8, 128, 56, 56}, channels_last)});
  cudnnBackendFinalize(op);
  return graph_of({op});
}

/// Attention of 2 x 4 heads over 256 positions of width 64.
cudnnBackendDescriptor_t attention_graph() {
  cudnnBackendDescriptor_t op = make(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
  for (const cudnnBackendAttributeName_t name :
       {CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
        CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC})
    set(op, name, {tensor({2, 4, 256, 64}, false)});
  cudnnBackendFinalize(op);
  return graph_of({op});
}

void run_graph(cudnnHandle_t handle, cudnnBackendDescriptor_t graph) {
  say("graph_finalized", cudnnBackendFinalize(graph));
  cudnnBackendDescriptor_t heuristics = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, {graph});
  say("heuristics_finalized", cudnnBackendFinalize(heuristics));
  cudnnBackendDescriptor_t config = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  std::int64_t count = -1;
  cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                           1, &count, &config);
  say("configurations", count);
  cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                           0, &count, nullptr);
  say("knobs", count);
  cudnnBackendDescriptor_t plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, {config});
  say("plan_finalized", cudnnBackendFinalize(plan));
  std::int64_t workspace = -1;
  cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                           &count, &workspace);
  say("workspace", workspace);
  char json[16];
  say("json", cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                       CUDNN_TYPE_CHAR, sizeof json, &count, json));
  for (cudnnBackendDescriptor_t d : {graph, heuristics, config}) cudnnBackendDestroyDescriptor(d);
  cudnnBackendDescriptor_t pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  say("executed", cudnnBackendExecute(handle, plan, pack));
}

void run_older(cudnnHandle_t handle) {
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t d = nullptr;
  cudnnCreateTensorDescriptor(&x);
  cudnnCreateTensorDescriptor(&y);
  cudnnCreateFilterDescriptor(&w);
  cudnnCreateConvolutionDescriptor(&d);
  cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 4, 32, 28, 28);
  cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 64, 32, 3, 3);
  cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 4, 64, 28, 28);
  cudnnConvolutionFwdAlgoPerf_t perf[4] = {};
  int count = -1;
  say("algorithm_query",
      cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, d, y, 4, &count, perf));
  say("algorithms", count);
  say("algorithm_workspace", static_cast<long long>(perf[0].memory));
  const float one = 1, zero = 0;
  say("convolved", cudnnConvolutionForward(handle, &one, x, nullptr, w, nullptr, d, perf[0].algo,
                                           nullptr, 0, &zero, y, nullptr));
  say("mismatch", cudnnConvolutionForward(handle, &one, y, nullptr, w, nullptr, d, perf[0].algo,
                                          nullptr, 0, &zero, y, nullptr));
}

/// A bidirectional LSTM of two layers: where the parameters lie.
void look_at_rnn(cudnnHandle_t handle) {
  cudnnRNNDescriptor_t d = nullptr;
  cudnnCreateRNNDescriptor(&d);
  cudnnSetRNNDescriptor_v8(d, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
                           CUDNN_BIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT,
                           CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, 10, 20, 20, 2, nullptr, 0);
  std::size_t space = 0;
  cudnnGetRNNWeightSpaceSize(handle, d, &space);
  say("weight_space", static_cast<long long>(space));
  std::vector<char> weights(space);
  cudnnTensorDescriptor_t matrix = nullptr;
  cudnnCreateTensorDescriptor(&matrix);
  for (int layer = 0; layer < 4; ++layer) {
    for (int id = 0; id < 8; ++id) {
      void* m = nullptr;
      void* b = nullptr;
      cudnnGetRNNWeightParams(handle, d, layer, space, weights.data(), id, matrix, &m, nullptr, &b);
      std::size_t bytes = 0;
      cudnnGetTensorSizeInBytes(matrix, &bytes);
      std::printf("parameter layer %d id %d at %td bytes %zu bias_at %td\n", layer, id,
                  static_cast<char*>(m) - weights.data(), bytes,
                  static_cast<char*>(b) - weights.data());
    }
  }
  say("all_null",
      cudnnGetRNNWeightParams(handle, d, 0, space, nullptr, 0, nullptr, nullptr, nullptr, nullptr));
}

void refuse(cudnnHandle_t handle) {
  cudnnBackendDescriptor_t experts = make(CUDNN_BACKEND_OPERATION_MOE_GROUPED_MATMUL_DESCRIPTOR);
  say("experts", cudnnBackendFinalize(graph_of({experts})));
  cudnnLRNDescriptor_t lrn = nullptr;
  say("lrn", cudnnCreateLRNDescriptor(&lrn));
  say("null_tensor",
      cudnnConvolutionBackwardBias(handle, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  say("null_handle", cudnnSetStream(nullptr, nullptr));
}

}  // namespace

int main() {
  cudnnHandle_t handle = nullptr;
  if (cudnnCreate(&handle) != CUDNN_STATUS_SUCCESS) return 2;
  say("version", static_cast<long long>(cudnnGetVersion()));
  run_graph(handle, convolution_graph(false));
  run_graph(handle, convolution_graph(true));
  run_graph(handle, attention_graph());
  run_older(handle);
  look_at_rnn(handle);
  refuse(handle);
  return cudnnDestroy(handle) == CUDNN_STATUS_SUCCESS ? 0 : 3;
}
