// SPDX-License-Identifier: Apache-2.0
//
// Products, transformations and algorithm queries of cuBLASLt; handles and versions.
//
// Context:  application threads
// Owns:     nothing
// Promises: a cuBLAS handle is taken for a cuBLASLt handle, as programs do; a combination that the
//           device generation lacks is refused by the heuristic, not only at the launch
// Not here: descriptors (lt_descriptor_api.cpp), kernels (matmul.cpp)
#include <algorithm>
#include <cstdio>
#include <cstring>

#include <cuda_runtime_api.h>

#include "core/handles.hpp"
#include "cublas/handle.hpp"
#include "cublas/lt_objects.hpp"
#include "cublas/matmul.hpp"
#include "stand_in/refuse.hpp"

namespace {

using namespace gpusim;

constexpr int kAlgorithmId = 66;

std::size_t g_cache_capacity = 8192;

cublasStatus_t refuse(const char* name) { return static_cast<cublasStatus_t>(gpusim_refuse(name)); }

/// Part of a kernel's name for an epilogue.
const char* epilogue_name(std::uint32_t epilogue) {
  switch (epilogue & ~128u) {
    case CUBLASLT_EPILOGUE_RELU:
      return "_relu";
    case CUBLASLT_EPILOGUE_BIAS:
      return "_bias";
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      return "_relubias";
    case CUBLASLT_EPILOGUE_GELU:
      return "_gelu";
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      return "_gelubias";
    case CUBLASLT_EPILOGUE_BGRADA:
      return "_bgrada";
    case CUBLASLT_EPILOGUE_BGRADB:
      return "_bgradb";
    case CUBLASLT_EPILOGUE_DRELU & ~128u:
      return "_drelu";
    case CUBLASLT_EPILOGUE_DRELU_BGRAD & ~128u:
      return "_drelubgrad";
    case CUBLASLT_EPILOGUE_DGELU & ~128u:
      return "_dgelu";
    case CUBLASLT_EPILOGUE_DGELU_BGRAD & ~128u:
      return "_dgelubgrad";
    default:
      return "";
  }
}

/// The problem behind descriptors; the status that a call with them gets.
cublasStatus_t describe(const LtMatmul& d, const LtLayout& a, const LtLayout& b, const LtLayout& c,
                        Matmul* out) {
  Matmul p;
  p.ta = d.trans[0] != CUBLAS_OP_N;
  p.tb = d.trans[1] != CUBLAS_OP_N;
  p.m = static_cast<std::int64_t>(c.rows);
  p.n = static_cast<std::int64_t>(c.cols);
  p.k = static_cast<std::int64_t>(p.ta ? a.rows : a.cols);
  p.batch = c.batch;
  p.a = static_cast<cudaDataType_t>(a.type);
  p.b = static_cast<cudaDataType_t>(b.type);
  p.c = static_cast<cudaDataType_t>(c.type);
  p.epilogue = epilogue_name(d.epilogue);
  const bool row_major = c.order == CUBLASLT_ORDER_ROW;
  if (row_major) std::swap(p.m, p.n);
  const auto inner = static_cast<std::int64_t>(p.tb ? b.cols : b.rows);
  if (p.batch < 0 || (a.order == b.order && a.order == CUBLASLT_ORDER_COL && inner != p.k))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!math_for(p.a, d.compute, CUBLAS_DEFAULT_MATH, &p.math)) return CUBLAS_STATUS_NOT_SUPPORTED;
  *out = p;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t check(const void* handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                     cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t d, Matmul* out) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (desc == nullptr || a == nullptr || b == nullptr || d == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  const Context* context = runtime_context();
  if (context == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const cublasStatus_t status = describe(*view<LtMatmul>(desc), *view<LtLayout>(a),
                                         *view<LtLayout>(b), *view<LtLayout>(d), out);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const bool known = gemm_family(context->device->model.cc_major, out->math) != nullptr;
  return known ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

void fill_result(cublasLtMatmulHeuristicResult_t* result) {
  std::memset(result, 0, sizeof *result);
  result->state = CUBLAS_STATUS_SUCCESS;
  result->wavesCount = 1.0f;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (runtime_context() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  auto* const made = new cublasContext{};
  made->magic = kHandleMagic;
  *handle = reinterpret_cast<cublasLtHandle_t>(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  auto* const made = reinterpret_cast<cublasContext*>(handle);
  if (!usable(made)) return CUBLAS_STATUS_NOT_INITIALIZED;
  made->magic = 0;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusName(cublasStatus_t status) { return status_name(status); }
const char* cublasLtGetStatusString(cublasStatus_t status) { return status_text(status); }
size_t cublasLtGetVersion(void) { return CUBLAS_VERSION; }
size_t cublasLtGetCudartVersion(void) { return CUDART_VERSION; }

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  constexpr int kParts[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL)
    return CUBLAS_STATUS_INVALID_VALUE;
  *value = kParts[type];
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (capacity == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *capacity = g_cache_capacity;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity) {
  g_cache_capacity = capacity;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void*,
                              const void*, cublasLtMatrixLayout_t a, const void*,
                              cublasLtMatrixLayout_t b, const void*, const void*,
                              cublasLtMatrixLayout_t, void*, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
  Matmul problem;
  const cublasStatus_t status = check(handle, desc, a, b, d, &problem);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return refuse("cublasLtMatmul");
  return status != CUBLAS_STATUS_SUCCESS ? status : launch_matmul(stream, problem);
}

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t desc,
                                       const void*, const void*, cublasLtMatrixLayout_t,
                                       const void*, const void*, cublasLtMatrixLayout_t, void*,
                                       cublasLtMatrixLayout_t c, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (desc == nullptr || c == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const LtLayout& out = *view<LtLayout>(c);
  return launch_non_gemm(stream, NonGemmKernel::kTransform, static_cast<cudaDataType_t>(out.type),
                         static_cast<double>(out.rows) * static_cast<double>(out.cols), 1,
                         std::max(1, out.batch));
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int requested,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* returned) {
  if (requested <= 0 || results == nullptr || returned == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  Matmul problem;
  const cublasStatus_t status = check(handle, desc, a, b, d, &problem);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return refuse("cublasLtMatmulAlgoGetHeuristic");
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  fill_result(&results[0]);
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t,
                                        cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                        cudaDataType_t, cudaDataType_t, int requested, int ids[],
                                        int* returned) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (requested <= 0 || ids == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  ids[0] = kAlgorithmId;
  if (returned != nullptr) *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t, cudaDataType_t,
                                      cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                      cudaDataType_t, int id, cublasLtMatmulAlgo_t* algorithm) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (algorithm == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  std::memset(algorithm, 0, sizeof *algorithm);
  view<LtAlgorithm>(algorithm)->id = id;
  view<LtAlgorithm>(algorithm)->splits = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  Matmul problem;
  const cublasStatus_t status = check(handle, desc, a, b, d, &problem);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return refuse("cublasLtMatmulAlgoCheck");
  if (status != CUBLAS_STATUS_SUCCESS || result == nullptr || algorithm == nullptr) return status;
  const cublasLtMatmulAlgo_t kept = *algorithm;
  fill_result(result);
  result->algo = kept;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetFile(FILE*) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerOpenFile(const char*) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetLevel(int) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetMask(int) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerForceDisable(void) { return CUBLAS_STATUS_SUCCESS; }
unsigned cublasLtDisableCpuInstructionsSetMask(unsigned) { return 0; }

}  // extern "C"
