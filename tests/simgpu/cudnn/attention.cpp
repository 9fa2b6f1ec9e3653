// SPDX-License-Identifier: Apache-2.0
//
// Attention graphs. PyTorch prefers cuDNN's attention on an H100 and does not fall back when the
// graph is refused, so it has to work.
//
// Context:  application threads
// Owns:     nothing
// Promises: see attention.hpp
// Not here: kernel names (kernels.cpp)
#include "cudnn/attention.hpp"

#include "cudnn/api.hpp"
#include "cudnn/kernels.hpp"

namespace gpusim {
namespace {

/// Sizes that decide the work: query [batch, heads, length, width], and all products' arithmetic.
struct Attention {
  bool backward = false;
  Tensor query;
  double flops = 0;
  double bytes = 0;
};

bool belongs(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_TRANSPOSE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_SLICE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR:
      return true;
    default:
      return false;
  }
}

/// Attention as one operation; forward has two products of this size, backward five.
Attention of_operation(const BackendState& op, int query, int key, bool backward) {
  Attention a;
  a.backward = backward;
  a.query = tensor_of(op.child(query));
  const Tensor k = tensor_of(op.child(key));
  const double keys = k.dims == 4 ? static_cast<double>(k.dim[2]) : 0;
  a.flops = (backward ? 10 : 4) * a.query.elements() * keys;
  a.bytes = (backward ? 4 : 2) * (a.query.bytes() + k.bytes());
  return a;
}

/// Attention spelled out: the sum over its matrix products.
Attention of_graph(const BackendState& graph) {
  Attention a;
  int products = 0;
  for (const BackendState* op : graph.children(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    if (op->type != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) continue;
    const Tensor left = tensor_of(op->child(CUDNN_ATTR_OPERATION_MATMUL_ADESC));
    const Tensor out = tensor_of(op->child(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
    if (products++ == 0) a.query = left;
    if (left.dims > 0) a.flops += 2 * out.elements() * static_cast<double>(left.dim[left.dims - 1]);
  }
  a.backward = products > 2;
  a.bytes = (a.backward ? 8 : 4) * a.query.bytes();
  return a;
}

Attention describe(const BackendState& graph) {
  for (const BackendState* op : graph.children(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    if (op->type == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR)
      return of_operation(*op, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC,
                          CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, false);
    if (op->type == CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR)
      return of_operation(*op, CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC,
                          CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, true);
  }
  return of_graph(graph);
}

}  // namespace

bool is_attention(const BackendState& graph) {
  int products = 0;
  bool all_belong = true;
  for (const BackendState* op : graph.children(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    if (op->type == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR ||
        op->type == CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR)
      return true;
    if (op->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) ++products;
    all_belong = all_belong && belongs(op->type);
  }
  return products > 1 && all_belong;
}

cudnnStatus_t run_attention(Stream* stream, const BackendState& graph) {
  const Attention a = describe(graph);
  if (a.query.dims != 4) return failed(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "attention graph");
  return launch(stream, a.backward ? Kernel::kAttentionBackward : Kernel::kAttentionForward,
                {.type = a.query.type,
                 .elements = static_cast<double>(a.query.dim[2]),
                 .flops = a.flops,
                 .bytes = a.bytes,
                 .math_bits = math_bits(a.query.type, false),
                 .rows = static_cast<double>(a.query.dim[1]),
                 .planes = static_cast<double>(a.query.dim[0])});
}

}  // namespace gpusim
