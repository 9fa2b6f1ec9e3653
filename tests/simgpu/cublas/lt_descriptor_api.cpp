// SPDX-License-Identifier: Apache-2.0
//
// Descriptors of cuBLASLt: making, setting, reading, dropping.
//
// Context:  application threads
// Owns:     what ...Create made, until ...Destroy
// Promises: attributes read back what was set; a wrong size or an unknown attribute gives 7
// Not here: products (lt_matmul_api.cpp)
#include <cstring>
#include <iterator>

#include "cublas/lt_objects.hpp"

namespace gpusim {

cublasStatus_t set_field(const LtField* fields, std::size_t count, void* object, int attribute,
                         const void* from, std::size_t bytes) {
  if (object == nullptr || from == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    if (fields[i].attribute != attribute) continue;
    if (bytes != fields[i].bytes) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(static_cast<char*>(object) + fields[i].offset, from, bytes);
    return CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t get_field(const LtField* fields, std::size_t count, const void* object,
                         int attribute, void* to, std::size_t bytes, std::size_t* written) {
  if (object == nullptr || (bytes == 0 && written == nullptr)) return CUBLAS_STATUS_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    if (fields[i].attribute != attribute) continue;
    if (written != nullptr) *written = fields[i].bytes;
    if (bytes == 0) return CUBLAS_STATUS_SUCCESS;
    if (to == nullptr || bytes != fields[i].bytes) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(to, static_cast<const char*>(object) + fields[i].offset, bytes);
    return CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

}  // namespace gpusim

namespace {

using namespace gpusim;

#define GPUSIM_FIELD(type, attribute, member) \
  { CUBLASLT_##attribute, offsetof(type, member), sizeof(type::member) }
#define GPUSIM_ELEMENT(type, attribute, member, index)                                \
  {                                                                                   \
    CUBLASLT_##attribute, offsetof(type, member) + (index) * sizeof(type::member[0]), \
        sizeof(type::member[0])                                                       \
  }

constexpr LtField kLayoutFields[] = {
    GPUSIM_FIELD(LtLayout, MATRIX_LAYOUT_TYPE, type),
    GPUSIM_FIELD(LtLayout, MATRIX_LAYOUT_ORDER, order),
    GPUSIM_FIELD(LtLayout, MATRIX_LAYOUT_ROWS, rows),
    GPUSIM_FIELD(LtLayout, MATRIX_LAYOUT_COLS, cols),
    GPUSIM_FIELD(LtLayout, MATRIX_LAYOUT_LD, ld),
    GPUSIM_FIELD(LtLayout, MATRIX_LAYOUT_BATCH_COUNT, batch),
    GPUSIM_FIELD(LtLayout, MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride),
    GPUSIM_FIELD(LtLayout, MATRIX_LAYOUT_PLANE_OFFSET, plane),
    GPUSIM_FIELD(LtLayout, MATRIX_LAYOUT_BATCH_MODE, batch_mode),
};

constexpr LtField kMatmulFields[] = {
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_COMPUTE_TYPE, compute),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_SCALE_TYPE, scale_type),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_POINTER_MODE, pointer_mode),
    GPUSIM_ELEMENT(LtMatmul, MATMUL_DESC_TRANSA, trans, 0),
    GPUSIM_ELEMENT(LtMatmul, MATMUL_DESC_TRANSB, trans, 1),
    GPUSIM_ELEMENT(LtMatmul, MATMUL_DESC_TRANSC, trans, 2),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_FILL_MODE, fill_mode),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_EPILOGUE, epilogue),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_BIAS_POINTER, bias),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_BIAS_BATCH_STRIDE, bias_stride),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_EPILOGUE_AUX_POINTER, aux),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_EPILOGUE_AUX_LD, aux_ld),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, aux_stride),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, alpha_vector_stride),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_SM_COUNT_TARGET, sm_target),
    GPUSIM_ELEMENT(LtMatmul, MATMUL_DESC_A_SCALE_POINTER, scale, 0),
    GPUSIM_ELEMENT(LtMatmul, MATMUL_DESC_B_SCALE_POINTER, scale, 1),
    GPUSIM_ELEMENT(LtMatmul, MATMUL_DESC_C_SCALE_POINTER, scale, 2),
    GPUSIM_ELEMENT(LtMatmul, MATMUL_DESC_D_SCALE_POINTER, scale, 3),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_AMAX_D_POINTER, amax),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, aux_type),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, aux_scale),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, aux_amax),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_FAST_ACCUM, fast_accumulate),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_BIAS_DATA_TYPE, bias_type),
    GPUSIM_ELEMENT(LtMatmul, MATMUL_DESC_A_SCALE_MODE, scale_mode, 0),
    GPUSIM_ELEMENT(LtMatmul, MATMUL_DESC_B_SCALE_MODE, scale_mode, 1),
    GPUSIM_ELEMENT(LtMatmul, MATMUL_DESC_C_SCALE_MODE, scale_mode, 2),
    GPUSIM_ELEMENT(LtMatmul, MATMUL_DESC_D_SCALE_MODE, scale_mode, 3),
    GPUSIM_ELEMENT(LtMatmul, MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, scale_mode, 4),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_D_OUT_SCALE_POINTER, out_scale),
    GPUSIM_ELEMENT(LtMatmul, MATMUL_DESC_D_OUT_SCALE_MODE, scale_mode, 5),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_EMULATION_DESCRIPTOR, emulation),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_ALPHA_BATCH_STRIDE, alpha_stride),
    GPUSIM_FIELD(LtMatmul, MATMUL_DESC_BETA_BATCH_STRIDE, beta_stride),
};

constexpr LtField kTransformFields[] = {
    GPUSIM_FIELD(LtTransform, MATRIX_TRANSFORM_DESC_SCALE_TYPE, scale_type),
    GPUSIM_FIELD(LtTransform, MATRIX_TRANSFORM_DESC_POINTER_MODE, pointer_mode),
    GPUSIM_ELEMENT(LtTransform, MATRIX_TRANSFORM_DESC_TRANSA, trans, 0),
    GPUSIM_ELEMENT(LtTransform, MATRIX_TRANSFORM_DESC_TRANSB, trans, 1),
};

constexpr LtField kPreferenceFields[] = {
    GPUSIM_FIELD(LtPreference, MATMUL_PREF_SEARCH_MODE, search_mode),
    GPUSIM_FIELD(LtPreference, MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace),
    GPUSIM_FIELD(LtPreference, MATMUL_PREF_REDUCTION_SCHEME_MASK, reduction_mask),
    GPUSIM_ELEMENT(LtPreference, MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment, 0),
    GPUSIM_ELEMENT(LtPreference, MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment, 1),
    GPUSIM_ELEMENT(LtPreference, MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment, 2),
    GPUSIM_ELEMENT(LtPreference, MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment, 3),
    GPUSIM_FIELD(LtPreference, MATMUL_PREF_MAX_WAVES_COUNT, waves),
    GPUSIM_FIELD(LtPreference, MATMUL_PREF_IMPL_MASK, implementations),
    GPUSIM_ELEMENT(LtPreference, MATMUL_PREF_GROUPED_AVERAGE_REDUCTION_DIM, average, 0),
    GPUSIM_ELEMENT(LtPreference, MATMUL_PREF_GROUPED_DESC_D_AVERAGE_ROWS, average, 1),
    GPUSIM_ELEMENT(LtPreference, MATMUL_PREF_GROUPED_DESC_D_AVERAGE_COLS, average, 2),
};

constexpr LtField kEmulationFields[] = {
    GPUSIM_FIELD(LtEmulation, EMULATION_DESC_STRATEGY, strategy),
    GPUSIM_FIELD(LtEmulation, EMULATION_DESC_SPECIAL_VALUES_SUPPORT, special_values),
    GPUSIM_FIELD(LtEmulation, EMULATION_DESC_FIXEDPOINT_MANTISSA_CONTROL, mantissa_control),
    GPUSIM_FIELD(LtEmulation, EMULATION_DESC_FIXEDPOINT_MAX_MANTISSA_BIT_COUNT, mantissa_bits),
    GPUSIM_FIELD(LtEmulation, EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_OFFSET, mantissa_offset),
    GPUSIM_FIELD(LtEmulation, EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_COUNT_POINTER,
                 mantissa_bits_used),
};

constexpr LtField kAlgorithmFields[] = {
    GPUSIM_FIELD(LtAlgorithm, ALGO_CONFIG_ID, id),
    GPUSIM_FIELD(LtAlgorithm, ALGO_CONFIG_TILE_ID, tile),
    GPUSIM_FIELD(LtAlgorithm, ALGO_CONFIG_SPLITK_NUM, splits),
    GPUSIM_FIELD(LtAlgorithm, ALGO_CONFIG_REDUCTION_SCHEME, reduction),
    GPUSIM_FIELD(LtAlgorithm, ALGO_CONFIG_CTA_SWIZZLING, swizzle),
    GPUSIM_FIELD(LtAlgorithm, ALGO_CONFIG_CUSTOM_OPTION, custom),
    GPUSIM_FIELD(LtAlgorithm, ALGO_CONFIG_STAGES_ID, stages),
    GPUSIM_FIELD(LtAlgorithm, ALGO_CONFIG_INNER_SHAPE_ID, inner_shape),
    GPUSIM_FIELD(LtAlgorithm, ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster_shape),
};

template <typename Opaque, typename View>
cublasStatus_t fill(Opaque* object, std::size_t bytes, const View& values) {
  if (object == nullptr || bytes < sizeof(View)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memset(object, 0, bytes < sizeof(Opaque) ? bytes : sizeof(Opaque));
  *view<View>(object) = values;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Opaque, typename View>
cublasStatus_t make(Opaque** object, const View& values) {
  if (object == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *object = new Opaque;
  return fill(*object, sizeof(Opaque), values);
}

template <typename Opaque>
cublasStatus_t drop(Opaque* object) {
  delete object;
  return CUBLAS_STATUS_SUCCESS;
}

LtLayout layout(cudaDataType type, std::uint64_t rows, std::uint64_t cols, std::int64_t ld) {
  LtLayout l{};
  l.type = type;
  l.order = CUBLASLT_ORDER_COL;
  l.rows = rows;
  l.cols = cols;
  l.ld = ld;
  l.batch = 1;
  return l;
}

LtMatmul matmul(cublasComputeType_t compute, cudaDataType_t scale_type) {
  LtMatmul d{};
  d.compute = compute;
  d.scale_type = scale_type;
  d.fill_mode = CUBLAS_FILL_MODE_FULL;
  d.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  d.aux_type = d.bias_type = -1;
  return d;
}

LtTransform transform(cudaDataType scale_type) { return {scale_type, 0, {0, 0}}; }

LtPreference preference() {
  LtPreference p{};
  p.reduction_mask = CUBLASLT_REDUCTION_SCHEME_MASK;
  for (std::uint32_t& bytes : p.alignment) bytes = 256;
  p.implementations = ~0ull;
  return p;
}

LtEmulation emulation() {
  LtEmulation e{};
  e.special_values = 0xffff;
  return e;
}

}  // namespace

/// Init, Create and Destroy of one descriptor; `parameters` begins with a comma or is empty.
#define GPUSIM_DESCRIPTOR(name, handle, values, ...)                                     \
  cublasStatus_t cublasLt##name##Init_internal(handle object,                            \
                                               size_t size __VA_OPT__(, ) __VA_ARGS__) { \
    return fill(object, size, values);                                                   \
  }                                                                                      \
  cublasStatus_t cublasLt##name##Create(handle* object __VA_OPT__(, ) __VA_ARGS__) {     \
    return make(object, values);                                                         \
  }                                                                                      \
  cublasStatus_t cublasLt##name##Destroy(handle object) { return drop(object); }

/// Set and get of one descriptor.
#define GPUSIM_ATTRIBUTES(name, handle, reader, attribute, fields)                              \
  cublasStatus_t cublasLt##name##SetAttribute(handle object, attribute which, const void* from, \
                                              size_t bytes) {                                   \
    return set_field(fields, std::size(fields), object, which, from, bytes);                    \
  }                                                                                             \
  cublasStatus_t cublasLt##name##GetAttribute(reader object, attribute which, void* to,         \
                                              size_t bytes, size_t* written) {                  \
    return get_field(fields, std::size(fields), object, which, to, bytes, written);             \
  }

extern "C" {

GPUSIM_DESCRIPTOR(MatrixLayout, cublasLtMatrixLayout_t, layout(type, rows, cols, ld),
                  cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld)
GPUSIM_ATTRIBUTES(MatrixLayout, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                  cublasLtMatrixLayoutAttribute_t, kLayoutFields)

GPUSIM_DESCRIPTOR(MatmulDesc, cublasLtMatmulDesc_t, matmul(compute, scale),
                  cublasComputeType_t compute, cudaDataType_t scale)
GPUSIM_ATTRIBUTES(MatmulDesc, cublasLtMatmulDesc_t, cublasLtMatmulDesc_t,
                  cublasLtMatmulDescAttributes_t, kMatmulFields)

GPUSIM_DESCRIPTOR(MatrixTransformDesc, cublasLtMatrixTransformDesc_t, transform(scale),
                  cudaDataType scale)
GPUSIM_ATTRIBUTES(MatrixTransformDesc, cublasLtMatrixTransformDesc_t, cublasLtMatrixTransformDesc_t,
                  cublasLtMatrixTransformDescAttributes_t, kTransformFields)

GPUSIM_DESCRIPTOR(MatmulPreference, cublasLtMatmulPreference_t, preference())
GPUSIM_ATTRIBUTES(MatmulPreference, cublasLtMatmulPreference_t, cublasLtMatmulPreference_t,
                  cublasLtMatmulPreferenceAttributes_t, kPreferenceFields)

GPUSIM_DESCRIPTOR(EmulationDesc, cublasLtEmulationDesc_t, emulation())
GPUSIM_ATTRIBUTES(EmulationDesc, cublasLtEmulationDesc_t, cublasLtEmulationDesc_t,
                  cublasLtEmulationDescAttributes_t, kEmulationFields)

GPUSIM_ATTRIBUTES(MatmulAlgoConfig, cublasLtMatmulAlgo_t*, const cublasLtMatmulAlgo_t*,
                  cublasLtMatmulAlgoConfigAttributes_t, kAlgorithmFields)

}  // extern "C"
