// SPDX-License-Identifier: Apache-2.0
//
// cuBLAS functions that copy vectors and matrices between host and device.
//
// Context:  application threads
// Owns:     nothing
// Promises: each is one copy of the process's CUDA runtime; without a runtime it is refused
// Not here: the copy itself (cudart/copies.cpp)
#include <cublas_api.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdint>

#include "core/handles.hpp"
#include "stand_in/refuse.hpp"

namespace {

/// Elements in columns: a vector is a matrix whose columns have one element, or one column.
struct Shape {
  std::int64_t rows, cols, element, from_step, to_step;
};

bool valid(const Shape& s) {
  return s.rows >= 0 && s.cols >= 0 && s.element > 0 && s.from_step > 0 && s.to_step > 0 &&
         s.from_step >= s.rows && s.to_step >= s.rows;
}

Shape vector_shape(std::int64_t n, std::int64_t element, std::int64_t from, std::int64_t to) {
  if (from == 1 && to == 1) return {n, 1, element, n > 0 ? n : 1, n > 0 ? n : 1};
  return {1, n, element, from, to};
}

cublasStatus_t status_of(cudaError_t error) {
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

// Looked up and not linked: this library must load in a program that has no CUDA runtime.
template <typename Function>
Function* runtime(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

cublasStatus_t move(const char* caller, const Shape& s, const void* from, void* to,
                    cudaMemcpyKind kind, bool async, cudaStream_t stream) {
  if (!valid(s)) return CUBLAS_STATUS_INVALID_VALUE;
  if (gpusim::runtime_context() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (s.rows == 0 || s.cols == 0) return CUBLAS_STATUS_SUCCESS;
  const auto bytes = [&](std::int64_t n) { return static_cast<std::size_t>(n * s.element); };
  const auto columns = static_cast<std::size_t>(s.cols);
  if (async) {
    auto* const copy = runtime<decltype(cudaMemcpy2DAsync)>("cudaMemcpy2DAsync");
    if (copy == nullptr) return static_cast<cublasStatus_t>(gpusim_refuse(caller));
    return status_of(
        copy(to, bytes(s.to_step), from, bytes(s.from_step), bytes(s.rows), columns, kind, stream));
  }
  auto* const copy = runtime<decltype(cudaMemcpy2D)>("cudaMemcpy2D");
  if (copy == nullptr) return static_cast<cublasStatus_t>(gpusim_refuse(caller));
  return status_of(
      copy(to, bytes(s.to_step), from, bytes(s.from_step), bytes(s.rows), columns, kind));
}

}  // namespace

/// The four forms of one direction, with sizes of type `integer`.
#define GPUSIM_TRANSFERS(direction, kind, integer, suffix)                                         \
  cublasStatus_t cublas##direction##Vector##suffix(integer n, integer element, const void* x,      \
                                                   integer incx, void* y, integer incy) {          \
    return move("cublas" #direction "Vector" #suffix, vector_shape(n, element, incx, incy), x, y,  \
                kind, false, nullptr);                                                             \
  }                                                                                                \
  cublasStatus_t cublas##direction##VectorAsync##suffix(integer n, integer element, const void* x, \
                                                        integer incx, void* y, integer incy,       \
                                                        cudaStream_t stream) {                     \
    return move("cublas" #direction "VectorAsync" #suffix, vector_shape(n, element, incx, incy),   \
                x, y, kind, true, stream);                                                         \
  }                                                                                                \
  cublasStatus_t cublas##direction##Matrix##suffix(integer rows, integer cols, integer element,    \
                                                   const void* A, integer lda, void* B,            \
                                                   integer ldb) {                                  \
    return move("cublas" #direction "Matrix" #suffix, {rows, cols, element, lda, ldb}, A, B, kind, \
                false, nullptr);                                                                   \
  }                                                                                                \
  cublasStatus_t cublas##direction##MatrixAsync##suffix(                                           \
      integer rows, integer cols, integer element, const void* A, integer lda, void* B,            \
      integer ldb, cudaStream_t stream) {                                                          \
    return move("cublas" #direction "MatrixAsync" #suffix, {rows, cols, element, lda, ldb}, A, B,  \
                kind, true, stream);                                                               \
  }

extern "C" {

GPUSIM_TRANSFERS(Set, cudaMemcpyHostToDevice, int, )
GPUSIM_TRANSFERS(Set, cudaMemcpyHostToDevice, int64_t, _64)
GPUSIM_TRANSFERS(Get, cudaMemcpyDeviceToHost, int, )
GPUSIM_TRANSFERS(Get, cudaMemcpyDeviceToHost, int64_t, _64)

}  // extern "C"
