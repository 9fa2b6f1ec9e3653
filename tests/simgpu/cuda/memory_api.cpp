// SPDX-License-Identifier: Apache-2.0
//
// Driver API: memory, copies and fills.
//
// Context:  application threads
// Owns:     nothing; allocations live in core
// Promises: bytes move in stream order, so round trips keep their data
// Not here: the allocation map (core/memory.cpp)
#include "core/memory.hpp"
#include "core/timeline.hpp"
#include "cuda/api.hpp"

using namespace gpusim;

namespace {

struct Copy {
  std::uintptr_t to, from;
  std::size_t bytes;
  CopyKind kind;
  bool async;
  Stream* stream;
};

/// Device addresses must lie in an allocation; host addresses are trusted as the real driver does.
bool addresses_known(const Copy& c) {
  Allocation a{};
  if ((c.kind == kDtoH || c.kind == kDtoD) && !find_allocation(c.from, &a)) return false;
  if ((c.kind == kHtoD || c.kind == kDtoD) && !find_allocation(c.to, &a)) return false;
  return true;
}

int copy(const Copy& c) {
  if (c.stream == nullptr) return stream_error();
  if (c.bytes == 0) return CUDA_SUCCESS;
  if (!addresses_known(c)) return CUDA_ERROR_INVALID_VALUE;
  DeviceOp op{};
  op.kind = OpKind::kMemcpy;
  op.async = c.async;
  op.copy_kind = c.kind;
  op.src_kind = memory_kind(c.from);
  op.dst_kind = memory_kind(c.to);
  op.bytes = c.bytes;
  op.src_device = op.dst_device = static_cast<std::uint32_t>(c.stream->context->device->ordinal);
  const int result = submit(c.stream, op, {.to = c.to, .from = c.from, .bytes = c.bytes});
  // Device-to-device copies return at once even from the synchronous call, as the real driver's do.
  if (result == CUDA_SUCCESS && !c.async && c.kind != kDtoD) synchronize_stream(c.stream);
  return result;
}

int copy_peer(std::uintptr_t to, CUcontext to_context, std::uintptr_t from, CUcontext from_context,
              std::size_t bytes, Stream* stream, bool async) {
  auto* src = reinterpret_cast<Context*>(from_context);
  auto* dst = reinterpret_cast<Context*>(to_context);
  if (stream == nullptr) return stream_error();
  if (!live(src) || !live(dst)) return CUDA_ERROR_INVALID_CONTEXT;
  DeviceOp op{};
  op.kind = OpKind::kPeerCopy;
  op.async = async;
  op.copy_kind = kPtoP;
  op.src_kind = op.dst_kind = kDeviceMemory;
  op.bytes = bytes;
  op.src_device = static_cast<std::uint32_t>(src->device->ordinal);
  op.dst_device = static_cast<std::uint32_t>(dst->device->ordinal);
  op.src_context = src->id;
  op.dst_context = dst->id;
  return submit(stream, op, {.to = to, .from = from, .bytes = bytes});
}

int fill(std::uintptr_t to, std::uint32_t value, int width, std::size_t count, Stream* stream,
         bool async) {
  Allocation a{};
  if (stream == nullptr) return stream_error();
  if (count == 0) return CUDA_SUCCESS;
  if (!find_allocation(to, &a)) return CUDA_ERROR_INVALID_VALUE;
  DeviceOp op{};
  op.kind = OpKind::kMemset;
  op.async = async;
  op.dst_kind = a.kind;
  op.bytes = count * static_cast<std::size_t>(width);
  op.value = value;
  return submit(stream, op, {.to = to, .bytes = op.bytes, .width = width, .value = value});
}

int allocate_for(Context* c, MemoryKind kind, std::size_t bytes, std::uintptr_t* out) {
  return c != nullptr ? allocate(c, kind, bytes, out) : CUDA_ERROR_INVALID_CONTEXT;
}

int allocate_host(void** pp, std::size_t bytes) {
  std::uintptr_t p = 0;
  const int result = allocate_for(current_context(), kPinned, bytes, &p);
  if (result == CUDA_SUCCESS) *pp = reinterpret_cast<void*>(p);
  return result;
}

std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace

extern "C" {

CUresult CUDAAPI cuMemGetInfo_v2(size_t* free, size_t* total) {
  GPUSIM_DRIVER_API(cuMemGetInfo_v2, free, total);
  const Context* c = current_context();
  if (c == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  *total = c->device->total_bytes;
  *free = c->device->total_bytes - c->device->used_bytes.load();
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  GPUSIM_DRIVER_API(cuMemAlloc_v2, dptr, bytesize);
  std::uintptr_t p = 0;
  const int result = allocate_for(current_context(), kDeviceMemory, bytesize, &p);
  if (result == CUDA_SUCCESS) *dptr = p;
  return GPUSIM_DONE(result);
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr) {
  GPUSIM_DRIVER_API(cuMemFree_v2, dptr);
  if (current_context() != nullptr) synchronize_context(current_context());
  return GPUSIM_DONE(release(dptr));
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemAllocAsync, dptr, bytesize, hStream);
  Stream* s = stream_of(hStream);
  std::uintptr_t p = 0;
  const int result =
      s != nullptr ? allocate(s->context, kDeviceMemory, bytesize, &p) : stream_error();
  if (result == CUDA_SUCCESS) *dptr = p;
  return GPUSIM_DONE(result);
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemFreeAsync, dptr, hStream);
  Stream* s = stream_of(hStream);
  return GPUSIM_DONE(s != nullptr ? release_on_stream(s, dptr) : stream_error());
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  GPUSIM_DRIVER_API(cuMemAllocManaged, dptr, bytesize, flags);
  std::uintptr_t p = 0;
  const int result = allocate_for(current_context(), kManaged, bytesize, &p);
  if (result == CUDA_SUCCESS) *dptr = p;
  return GPUSIM_DONE(result);
}

CUresult CUDAAPI cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) {
  GPUSIM_DRIVER_API(cuMemHostAlloc, pp, bytesize, Flags);
  return GPUSIM_DONE(allocate_host(pp, bytesize));
}

CUresult CUDAAPI cuMemAllocHost_v2(void** pp, size_t bytesize) {
  GPUSIM_DRIVER_API(cuMemAllocHost_v2, pp, bytesize);
  return GPUSIM_DONE(allocate_host(pp, bytesize));
}

CUresult CUDAAPI cuMemFreeHost(void* p) {
  GPUSIM_DRIVER_API(cuMemFreeHost, p);
  return GPUSIM_DONE(release(address(p)));
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  GPUSIM_DRIVER_API(cuMemGetAddressRange_v2, pbase, psize, dptr);
  Allocation a{};
  if (!find_allocation(dptr, &a)) return GPUSIM_DONE(CUDA_ERROR_NOT_FOUND);
  if (pbase != nullptr) *pbase = a.base;
  if (psize != nullptr) *psize = a.bytes;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
  GPUSIM_DRIVER_API(cuMemcpyHtoD_v2, dstDevice, srcHost, ByteCount);
  return GPUSIM_DONE(
      copy({dstDevice, address(srcHost), ByteCount, kHtoD, false, stream_of(nullptr)}));
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
  GPUSIM_DRIVER_API(cuMemcpyDtoH_v2, dstHost, srcDevice, ByteCount);
  return GPUSIM_DONE(
      copy({address(dstHost), srcDevice, ByteCount, kDtoH, false, stream_of(nullptr)}));
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
  GPUSIM_DRIVER_API(cuMemcpyDtoD_v2, dstDevice, srcDevice, ByteCount);
  return GPUSIM_DONE(copy({dstDevice, srcDevice, ByteCount, kDtoD, false, stream_of(nullptr)}));
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
                                      CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemcpyHtoDAsync_v2, dstDevice, srcHost, ByteCount, hStream);
  return GPUSIM_DONE(
      copy({dstDevice, address(srcHost), ByteCount, kHtoD, true, stream_of(hStream)}));
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemcpyDtoHAsync_v2, dstHost, srcDevice, ByteCount, hStream);
  return GPUSIM_DONE(
      copy({address(dstHost), srcDevice, ByteCount, kDtoH, true, stream_of(hStream)}));
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                      size_t ByteCount, CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemcpyDtoDAsync_v2, dstDevice, srcDevice, ByteCount, hStream);
  return GPUSIM_DONE(copy({dstDevice, srcDevice, ByteCount, kDtoD, true, stream_of(hStream)}));
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                              CUcontext srcContext, size_t ByteCount) {
  GPUSIM_DRIVER_API(cuMemcpyPeer, dstDevice, dstContext, srcDevice, srcContext, ByteCount);
  return GPUSIM_DONE(copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount,
                               stream_of(nullptr), false));
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                   CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                                   CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemcpyPeerAsync, dstDevice, dstContext, srcDevice, srcContext, ByteCount,
                    hStream);
  return GPUSIM_DONE(
      copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, stream_of(hStream), true));
}

CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
  GPUSIM_DRIVER_API(cuMemsetD8_v2, dstDevice, uc, N);
  return GPUSIM_DONE(fill(dstDevice, uc, 1, N, stream_of(nullptr), false));
}

CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N) {
  GPUSIM_DRIVER_API(cuMemsetD32_v2, dstDevice, ui, N);
  return GPUSIM_DONE(fill(dstDevice, ui, 4, N, stream_of(nullptr), false));
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N,
                                 CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemsetD8Async, dstDevice, uc, N, hStream);
  return GPUSIM_DONE(fill(dstDevice, uc, 1, N, stream_of(hStream), true));
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N,
                                  CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemsetD32Async, dstDevice, ui, N, hStream);
  return GPUSIM_DONE(fill(dstDevice, ui, 4, N, stream_of(hStream), true));
}

}  // extern "C"
