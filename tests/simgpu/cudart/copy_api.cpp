// SPDX-License-Identifier: Apache-2.0
//
// Runtime API: copies and fills.
//
// Context:  application threads
// Owns:     nothing
// Promises: bytes move when the copy's turn on its stream comes; a call that the real runtime makes
//           wait (synchronous, or from pageable memory) returns not before
// Not here: the allocation map (core/memory/memory.cpp)
#include "cudart/copies.hpp"

#include "cudart/api.hpp"
#include "cudart/registry.hpp"

using namespace gpusim;

namespace {

constexpr std::size_t kUnitRow = 1;

int copy_linear(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                cudaStream_t stream, bool async) {
  return copy_bytes({address(to), address(from), bytes, kUnitRow, 0, 0}, kind, stream, async);
}

int copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
              std::size_t width, std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream,
              bool async) {
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
  return copy_bytes({address(to), address(from), width, rows, to_pitch, from_pitch}, kind, stream,
                    async);
}

/// A copy whose device side is `offset` bytes into a device variable.
int copy_symbol(const void* symbol, std::size_t offset, const void* host, std::size_t bytes,
                bool to_symbol, cudaMemcpyKind kind, cudaStream_t stream, bool async) {
  int error = cudaSuccess;
  if (runtime_context(&error) == nullptr) return error;
  const Symbol* s = symbol_at(symbol);
  if (s == nullptr) return cudaErrorInvalidSymbol;
  if (offset > s->bytes || bytes > s->bytes - offset) return cudaErrorInvalidValue;
  void* at = reinterpret_cast<void*>(s->address + offset);
  return to_symbol ? copy_linear(at, host, bytes, kind, stream, async)
                   : copy_linear(const_cast<void*>(host), at, bytes, kind, stream, async);
}

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  GPUSIM_RUNTIME_API(cudaMemcpy, dst, src, count, kind);
  return GPUSIM_DONE(copy_linear(dst, src, count, kind, nullptr, false));
}

cudaError_t CUDARTAPI cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaMemcpyAsync, dst, src, count, kind, stream);
  return GPUSIM_DONE(copy_linear(dst, src, count, kind, stream, true));
}

cudaError_t CUDARTAPI cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch,
                                   size_t width, size_t height, cudaMemcpyKind kind) {
  GPUSIM_RUNTIME_API(cudaMemcpy2D, dst, dpitch, src, spitch, width, height, kind);
  return GPUSIM_DONE(copy_rows(dst, dpitch, src, spitch, width, height, kind, nullptr, false));
}

cudaError_t CUDARTAPI cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                                        size_t width, size_t height, cudaMemcpyKind kind,
                                        cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaMemcpy2DAsync, dst, dpitch, src, spitch, width, height, kind, stream);
  return GPUSIM_DONE(copy_rows(dst, dpitch, src, spitch, width, height, kind, stream, true));
}

cudaError_t CUDARTAPI cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice,
                                     size_t count) {
  GPUSIM_RUNTIME_API(cudaMemcpyPeer, dst, dstDevice, src, srcDevice, count);
  return GPUSIM_DONE(
      copy_between(address(dst), dstDevice, address(src), srcDevice, count, nullptr, false));
}

cudaError_t CUDARTAPI cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice,
                                          size_t count, cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaMemcpyPeerAsync, dst, dstDevice, src, srcDevice, count, stream);
  return GPUSIM_DONE(
      copy_between(address(dst), dstDevice, address(src), srcDevice, count, stream, true));
}

cudaError_t CUDARTAPI cudaMemcpyToSymbol(const void* symbol, const void* src, size_t count,
                                         size_t offset, cudaMemcpyKind kind) {
  GPUSIM_RUNTIME_API(cudaMemcpyToSymbol, symbol, src, count, offset, kind);
  return GPUSIM_DONE(copy_symbol(symbol, offset, src, count, true, kind, nullptr, false));
}

cudaError_t CUDARTAPI cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count,
                                              size_t offset, cudaMemcpyKind kind,
                                              cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaMemcpyToSymbolAsync, symbol, src, count, offset, kind, stream);
  return GPUSIM_DONE(copy_symbol(symbol, offset, src, count, true, kind, stream, true));
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count,
                                           size_t offset, cudaMemcpyKind kind) {
  GPUSIM_RUNTIME_API(cudaMemcpyFromSymbol, dst, symbol, count, offset, kind);
  return GPUSIM_DONE(copy_symbol(symbol, offset, dst, count, false, kind, nullptr, false));
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count,
                                                size_t offset, cudaMemcpyKind kind,
                                                cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaMemcpyFromSymbolAsync, dst, symbol, count, offset, kind, stream);
  return GPUSIM_DONE(copy_symbol(symbol, offset, dst, count, false, kind, stream, true));
}

cudaError_t CUDARTAPI cudaMemset(void* devPtr, int value, size_t count) {
  GPUSIM_RUNTIME_API(cudaMemset, devPtr, value, count);
  return GPUSIM_DONE(
      fill_bytes({address(devPtr), 0, count, kUnitRow, 0, 0}, value, nullptr, false));
}

cudaError_t CUDARTAPI cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaMemsetAsync, devPtr, value, count, stream);
  return GPUSIM_DONE(fill_bytes({address(devPtr), 0, count, kUnitRow, 0, 0}, value, stream, true));
}

cudaError_t CUDARTAPI cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width,
                                   size_t height) {
  GPUSIM_RUNTIME_API(cudaMemset2D, devPtr, pitch, value, width, height);
  return GPUSIM_DONE(
      fill_bytes({address(devPtr), 0, width, height, pitch, 0}, value, nullptr, false));
}

cudaError_t CUDARTAPI cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width,
                                        size_t height, cudaStream_t stream) {
  GPUSIM_RUNTIME_API(cudaMemset2DAsync, devPtr, pitch, value, width, height, stream);
  return GPUSIM_DONE(
      fill_bytes({address(devPtr), 0, width, height, pitch, 0}, value, stream, true));
}

}  // extern "C"
