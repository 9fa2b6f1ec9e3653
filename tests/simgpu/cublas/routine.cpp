// SPDX-License-Identifier: Apache-2.0
//
// From a call's arguments to kernels.
//
// Context:  application threads
// Owns:     nothing
// Promises: a result on the host is that of a vector of zeros, and is there when the call returns
// Not here: kernel names (kernel_table.cpp), tiles (matmul.cpp)
#include "cublas/routine.hpp"

#include <algorithm>
#include <cstring>

#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>
#include <generated_cuda_runtime_api_meta.h>

#include "core/api_scope.hpp"
#include "core/handles.hpp"
#include "core/work/timeline.hpp"
#include "cublas/handle.hpp"
#include "stand_in/refuse.hpp"

namespace gpusim {
namespace {

cublasStatus_t refuse(const char* name) { return static_cast<cublasStatus_t>(gpusim_refuse(name)); }

cublasStatus_t run_gemm(const RoutineCall& call) {
  Matmul p;
  p.m = call.m;
  p.n = call.n;
  p.k = call.k;
  p.batch = call.batch;
  p.ta = call.transa != CUBLAS_OP_N;
  p.tb = call.transb != CUBLAS_OP_N;
  p.a = call.a;
  p.b = call.b;
  p.c = call.c;
  if (!math_for(call.a, call.compute, call.handle->math_mode, &p.math)) return refuse(call.name);
  return launch_matmul(call.handle->stream, p);
}

/// Waits as a runtime call of its own. A capture in progress forbids it.
cublasStatus_t wait_for(cudaStream_t handle) {
  Stream* stream = stream_of(handle);
  if (stream == nullptr || stream->capture != nullptr) return CUBLAS_STATUS_EXECUTION_FAILED;
  const cudaStreamSynchronize_v3020_params params{handle};
  ApiScope scope(ApiDomain::kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
                 "cudaStreamSynchronize", &params, nullptr);
  synchronize_stream(stream);
  scope.finish(cudaSuccess);
  return CUBLAS_STATUS_SUCCESS;
}

/// dot, nrm2, asum, amax, amin: a partial kernel, one over its results, and the number.
cublasStatus_t run_reduction(Routine routine, NonGemmKernel partial, const RoutineCall& call) {
  const cudaStream_t stream = call.handle->stream;
  const bool host = call.handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
  if (call.n > 0) {
    const cublasStatus_t first =
        launch_non_gemm(stream, partial, call.a, static_cast<double>(call.n));
    if (first != CUBLAS_STATUS_SUCCESS) return first;
    const cublasStatus_t second = launch_non_gemm(stream, NonGemmKernel::kReduce, call.a, 1024);
    if (second != CUBLAS_STATUS_SUCCESS) return second;
  }
  if (!host || call.result == nullptr) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t waited = wait_for(stream); waited != CUBLAS_STATUS_SUCCESS)
    return waited;
  std::memset(call.result, 0, call.result_bytes);
  if (call.n > 0 && (routine == Routine::kAmax || routine == Routine::kAmin)) {
    const std::int64_t first_index = 1;  // counted from one; little-endian
    std::memcpy(call.result, &first_index, call.result_bytes);
  }
  return CUBLAS_STATUS_SUCCESS;
}

double at_least_one(std::int64_t n) { return static_cast<double>(std::max<std::int64_t>(n, 1)); }

/// Elements of the result, and the length of the sum behind each.
struct Work {
  double elements, inner;
};

Work work_of(Routine routine, const RoutineCall& call) {
  const double m = call.m >= 0 ? at_least_one(call.m) : at_least_one(call.n);
  const double n = at_least_one(call.n);
  const double k = call.k >= 0 ? at_least_one(call.k) : 1;
  const double side = call.side == CUBLAS_SIDE_LEFT ? m : n;
  switch (routine) {
    case Routine::kSyrk:
      return {n * n / 2, k};
    case Routine::kSymm:
      return {m * n, side};
    case Routine::kTrmm:
    case Routine::kTrsm:
      return {m * n, side / 2};
    case Routine::kTriangular:
    case Routine::kPack:
      return {n * n / 2, 1};
    case Routine::kBanded:
      return {n * k, 1};
    case Routine::kGetrf:
    case Routine::kGetri:
    case Routine::kGeqrf:
    case Routine::kGels:
      return {m * n, n / 3};
    case Routine::kGetrs:
      return {n * k, n};
    case Routine::kAxpy:
    case Routine::kCopy:
    case Routine::kScal:
    case Routine::kSwap:
    case Routine::kRot:
      return {n, 1};
    default:
      return {m * n, 1};
  }
}

struct Row {
  Routine routine;
  NonGemmKernel plain;
};

constexpr Row kRows[] = {
    {Routine::kGer, NonGemmKernel::kGer},       {Routine::kTriangular, NonGemmKernel::kTriangular},
    {Routine::kBanded, NonGemmKernel::kBanded}, {Routine::kAxpy, NonGemmKernel::kAxpy},
    {Routine::kCopy, NonGemmKernel::kCopy},     {Routine::kScal, NonGemmKernel::kScal},
    {Routine::kSwap, NonGemmKernel::kSwap},     {Routine::kRot, NonGemmKernel::kRot},
    {Routine::kDot, NonGemmKernel::kDot},       {Routine::kNrm2, NonGemmKernel::kNrm2},
    {Routine::kAsum, NonGemmKernel::kAsum},     {Routine::kAmax, NonGemmKernel::kAmax},
    {Routine::kAmin, NonGemmKernel::kAmin},     {Routine::kSyrk, NonGemmKernel::kSyrk},
    {Routine::kSymm, NonGemmKernel::kSymm},     {Routine::kTrmm, NonGemmKernel::kTrmm},
    {Routine::kTrsm, NonGemmKernel::kTrsm},     {Routine::kGeam, NonGemmKernel::kGeam},
    {Routine::kDgmm, NonGemmKernel::kDgmm},     {Routine::kPack, NonGemmKernel::kPack},
    {Routine::kGetrf, NonGemmKernel::kGetrf},   {Routine::kGetrs, NonGemmKernel::kGetrs},
    {Routine::kGetri, NonGemmKernel::kGetri},   {Routine::kGeqrf, NonGemmKernel::kGeqrf},
    {Routine::kGels, NonGemmKernel::kGels},
};

NonGemmKernel plain_of(Routine routine, const RoutineCall& call) {
  if (routine == Routine::kGemv)
    return call.transa == CUBLAS_OP_N ? NonGemmKernel::kGemvN : NonGemmKernel::kGemvT;
  for (const Row& row : kRows)
    if (row.routine == routine) return row.plain;
  return NonGemmKernel::kCopy;
}

bool valid(const RoutineCall& call) {
  for (const std::int64_t size : {call.m, call.n, call.k})
    if (size < 0 && size != kAbsent) return false;
  return call.batch >= 0;
}

}  // namespace

cublasStatus_t run(Routine routine, const RoutineCall& call) {
  if (!usable(call.handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!valid(call)) return CUBLAS_STATUS_INVALID_VALUE;
  if (runtime_context() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (call.info != nullptr) *call.info = 0;
  if (routine == Routine::kGemm) return run_gemm(call);
  const NonGemmKernel plain = plain_of(routine, call);
  if (routine >= Routine::kDot && routine <= Routine::kAmin)
    return run_reduction(routine, plain, call);
  if (call.m == 0 || call.n == 0 || call.batch == 0) return CUBLAS_STATUS_SUCCESS;
  const Work work = work_of(routine, call);
  return launch_non_gemm(call.handle->stream, plain, call.a, work.elements, work.inner, call.batch);
}

}  // namespace gpusim
