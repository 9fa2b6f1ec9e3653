// SPDX-License-Identifier: Apache-2.0
//
// Runs an operation graph of the simulated cuDNN: from the plan to kernels.
//
// Context:  application threads
// Owns:     nothing
// Promises: pointwise operations beside a larger one are part of its kernel, as fusion makes them;
//           alone, all of them are one kernel
// Not here: the kernels' names (convolution.cpp, kernels.cpp)
#include <algorithm>
#include <cstring>

#include "cudnn/api.hpp"
#include "cudnn/attention.hpp"
#include "cudnn/backend.hpp"
#include "cudnn/convolution.hpp"
#include "cudnn/kernels.hpp"

namespace gpusim {
namespace {

/// Operations that one kernel each carries out, and the tensors that decide its size.
struct Simple {
  cudnnBackendDescriptorType_t type;
  Kernel kernel;
  int tensor;
  double passes;
};

constexpr Simple kSimple[] = {
    {CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, Kernel::kReduction,
     CUDNN_ATTR_OPERATION_GENSTATS_XDESC, 1},
    {CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR, Kernel::kPointwise,
     CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SUM_DESC, 8},
    {CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR, Kernel::kBnBackward,
     CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC, 2},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, Kernel::kReduction,
     CUDNN_ATTR_OPERATION_REDUCTION_XDESC, 1},
    {CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR, Kernel::kResampleForward,
     CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, 1.25},
    {CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR, Kernel::kResampleBackward,
     CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC, 1.25},
    {CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, Kernel::kNormForward,
     CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, 3},
    {CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR, Kernel::kNormBackward,
     CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, 5},
    {CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR, Kernel::kCopy,
     CUDNN_ATTR_OPERATION_CONCAT_OUTPUT_DESC, 2},
    {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, Kernel::kCopy, CUDNN_ATTR_OPERATION_RESHAPE_YDESC,
     2},
    {CUDNN_BACKEND_OPERATION_TRANSPOSE_DESCRIPTOR, Kernel::kCopy,
     CUDNN_ATTR_OPERATION_TRANSPOSE_YDESC, 2},
    {CUDNN_BACKEND_OPERATION_SLICE_DESCRIPTOR, Kernel::kCopy, CUDNN_ATTR_OPERATION_SLICE_YDESC, 2},
};

/// Attribute names of the three convolution operations.
struct ConvolutionNames {
  cudnnBackendDescriptorType_t type;
  Direction direction;
  int x, w, y;
};

constexpr ConvolutionNames kConvolutions[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, Direction::kForward,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, Direction::kData,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, Direction::kFilter,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
};

const ConvolutionNames* convolution_names(const BackendState& op) {
  for (const ConvolutionNames& n : kConvolutions)
    if (n.type == op.type) return &n;
  return nullptr;
}

const Simple* simple(const BackendState& op) {
  for (const Simple& s : kSimple)
    if (s.type == op.type) return &s;
  return nullptr;
}

bool pointwise(const BackendState& op) {
  return op.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
}
bool matmul(const BackendState& op) { return op.type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR; }

Convolution convolution_of(const BackendState& op, const ConvolutionNames& n) {
  return {n.direction, tensor_of(op.child(n.x)), tensor_of(op.child(n.w)), tensor_of(op.child(n.y)),
          false};
}

cudnnStatus_t run_matmul(Stream* stream, const BackendState& op) {
  const Tensor a = tensor_of(op.child(CUDNN_ATTR_OPERATION_MATMUL_ADESC));
  const Tensor b = tensor_of(op.child(CUDNN_ATTR_OPERATION_MATMUL_BDESC));
  const Tensor c = tensor_of(op.child(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
  if (a.dims < 2) return failed(CUDNN_STATUS_BAD_PARAM, "matmul operation");
  const double depth = static_cast<double>(a.dim[a.dims - 1]);
  return launch(stream, Kernel::kMatmul,
                {.type = a.type,
                 .elements = c.elements(),
                 .flops = 2 * c.elements() * depth,
                 .bytes = a.bytes() + b.bytes() + c.bytes(),
                 .math_bits = math_bits(a.type, false)});
}

/// The one kernel of a graph that has nothing but pointwise operations.
cudnnStatus_t run_pointwise(Stream* stream, const std::vector<const BackendState*>& ops) {
  KernelWork work;
  for (const BackendState* op : ops) {
    const BackendState* y = op->child(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    if (y == nullptr) y = op->child(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC);
    const KernelWork one = elementwise(tensor_of(y), 3);
    work.type = one.type;
    work.elements = std::max(work.elements, one.elements);
    work.flops += one.flops / 3;
    work.bytes = std::max(work.bytes, one.bytes);
  }
  return launch(stream, Kernel::kPointwise, work);
}

cudnnStatus_t run_one(Stream* stream, const BackendState& op) {
  if (const ConvolutionNames* n = convolution_names(op)) {
    const Convolution c = convolution_of(op, *n);
    return plausible(c) ? launch(stream, c)
                        : failed(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "convolution operation");
  }
  if (matmul(op)) return run_matmul(stream, op);
  const Simple* s = simple(op);
  if (s == nullptr) return CUDNN_STATUS_SUCCESS;
  return launch(stream, s->kernel, elementwise(tensor_of(op.child(s->tensor)), s->passes));
}

cudnnStatus_t run(Stream* stream, const BackendState& graph) {
  if (is_attention(graph)) return run_attention(stream, graph);
  const auto ops = graph.children(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  const bool only_pointwise =
      std::all_of(ops.begin(), ops.end(), [](const BackendState* op) { return pointwise(*op); });
  if (only_pointwise) return run_pointwise(stream, ops);
  for (const BackendState* op : ops) {
    const cudnnStatus_t status = run_one(stream, *op);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

const Attribute* BackendState::find(int name) const {
  const auto found = attributes.find(name);
  return found != attributes.end() ? &found->second : nullptr;
}

const BackendState* BackendState::child(int name) const {
  const Attribute* a = find(name);
  return a != nullptr && !a->children.empty() ? a->children[0].get() : nullptr;
}

std::vector<const BackendState*> BackendState::children(int name) const {
  std::vector<const BackendState*> all;
  if (const Attribute* a = find(name))
    for (const auto& c : a->children) all.push_back(c.get());
  return all;
}

std::int64_t BackendState::integer(int name, std::int64_t otherwise) const {
  const Attribute* a = find(name);
  if (a == nullptr || a->bytes.size() < 4) return otherwise;
  if (a->type == CUDNN_TYPE_INT64) {
    std::int64_t value = 0;
    std::memcpy(&value, a->bytes.data(), sizeof value);
    return value;
  }
  std::int32_t value = 0;
  std::memcpy(&value, a->bytes.data(), sizeof value);
  return value;
}

Tensor tensor_of(const BackendState* state) {
  Tensor t;
  if (state == nullptr) return t;
  t.type = static_cast<cudnnDataType_t>(state->integer(CUDNN_ATTR_TENSOR_DATA_TYPE, 0));
  const Attribute* dims = state->find(CUDNN_ATTR_TENSOR_DIMENSIONS);
  if (dims == nullptr || dims->type != CUDNN_TYPE_INT64) return t;
  t.dims = static_cast<int>(std::min<std::int64_t>(dims->count, kMaxDims));
  const auto bytes = static_cast<std::size_t>(t.dims) * sizeof(std::int64_t);
  std::memcpy(t.dim, dims->bytes.data(), bytes);
  pack(t, CUDNN_TENSOR_NCHW);
  const Attribute* strides = state->find(CUDNN_ATTR_TENSOR_STRIDES);
  if (strides != nullptr && strides->type == CUDNN_TYPE_INT64 && strides->bytes.size() >= bytes)
    std::memcpy(t.stride, strides->bytes.data(), bytes);
  return t;
}

const char* why_not(const BackendState& graph) {
  if (is_attention(graph)) return nullptr;
  for (const BackendState* op : graph.children(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    if (const ConvolutionNames* n = convolution_names(*op)) {
      if (!plausible(convolution_of(*op, *n))) return "cudnnBackendFinalize(convolution shape)";
    } else if (!pointwise(*op) && !matmul(*op) && simple(*op) == nullptr) {
      return "cudnnBackendFinalize(operation graph)";
    }
  }
  return nullptr;
}

}  // namespace gpusim

using namespace gpusim;

extern "C" {

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variant_pack) {
  if (handle == nullptr || plan == nullptr || variant_pack == nullptr)
    return null_pointer(__func__);
  const BackendState* state = static_cast<BackendDescriptor*>(plan)->state.get();
  if (!state->finalized) return failed(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, __func__);
  for (const int next : {int{CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG},
                         int{CUDNN_ATTR_ENGINECFG_ENGINE}, int{CUDNN_ATTR_ENGINE_OPERATION_GRAPH}})
    if (state != nullptr) state = state->child(next);
  if (state == nullptr) return failed(CUDNN_STATUS_BAD_PARAM, __func__);
  return run(stream_of_handle(handle), *state);
}
}
