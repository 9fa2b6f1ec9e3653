// SPDX-License-Identifier: Apache-2.0
//
// What lies inside the semi-opaque descriptors of cuBLASLt.
//
// Context:  application threads
// Owns:     nothing; a descriptor is memory of the caller or of ...Create
// Promises: plain data that fits the sizes the header gives; no pointer inside to itself, so a
//           descriptor may be copied
// Not here: attribute access (lt_descriptor_api.cpp), products (lt_matmul_api.cpp)
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>

namespace gpusim {

struct LtLayout {
  std::uint32_t type;
  std::int32_t order;
  std::uint64_t rows, cols;
  std::int64_t ld;
  std::int32_t batch;
  std::uint32_t batch_mode;
  std::int64_t stride, plane;
};

struct LtMatmul {
  std::int32_t compute, scale_type, pointer_mode, trans[3], fill_mode;
  std::uint32_t epilogue;
  std::int32_t sm_target, aux_type, bias_type, scale_mode[6];
  std::int8_t fast_accumulate;
  std::int64_t bias_stride, aux_ld, aux_stride, alpha_vector_stride, alpha_stride, beta_stride;
  std::uint64_t bias, aux, scale[4], amax, aux_scale, aux_amax, out_scale, emulation;
};

struct LtTransform {
  std::int32_t scale_type, pointer_mode, trans[2];
};

struct LtPreference {
  std::uint32_t search_mode, reduction_mask, alignment[4];
  float waves;
  std::uint32_t average[3];
  std::uint64_t workspace, implementations;
};

struct LtEmulation {
  std::int32_t strategy, special_values, mantissa_control, mantissa_bits, mantissa_offset;
  std::uint64_t mantissa_bits_used;
};

struct LtAlgorithm {
  std::int32_t id;
  std::uint32_t tile;
  std::int32_t splits;
  std::uint32_t reduction, swizzle, custom, stages;
  std::uint16_t inner_shape, cluster_shape;
};

static_assert(sizeof(LtLayout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(LtMatmul) <= sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(LtTransform) <= sizeof(cublasLtMatrixTransformDescOpaque_t));
static_assert(sizeof(LtPreference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));
static_assert(sizeof(LtEmulation) <= sizeof(cublasLtEmulationDescOpaque_t));
static_assert(sizeof(LtAlgorithm) <= sizeof(cublasLtMatmulAlgo_t));

/// Our view of a descriptor.
template <typename View, typename Opaque>
View* view(Opaque* opaque) {
  return reinterpret_cast<View*>(opaque);
}
template <typename View, typename Opaque>
const View* view(const Opaque* opaque) {
  return reinterpret_cast<const View*>(opaque);
}

/// One attribute: where it lies.
struct LtField {
  int attribute;
  std::uint16_t offset, bytes;
};

/// Copies an attribute in; the size must be the attribute's.
cublasStatus_t set_field(const LtField* fields, std::size_t count, void* object, int attribute,
                         const void* from, std::size_t bytes);
/// Copies an attribute out; with `bytes` 0 only says how many there are.
cublasStatus_t get_field(const LtField* fields, std::size_t count, const void* object,
                         int attribute, void* to, std::size_t bytes, std::size_t* written);

}  // namespace gpusim
