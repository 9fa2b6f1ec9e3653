// SPDX-License-Identifier: Apache-2.0
//
// Driver API: copies and fills.
//
// Context:  application threads
// Owns:     nothing
// Promises: lengths are checked where the memory is known, pageable host memory is trusted
// Not here: allocation (memory_api.cpp), when bytes move (core/work/timeline.cpp)
#include "core/memory/memory.hpp"
#include "core/work/timeline.hpp"
#include "cuda/api.hpp"
#include "stand_in/refuse.hpp"

using namespace gpusim;

namespace {

struct Copy {
  std::uintptr_t to, from;
  std::size_t bytes;  ///< of one row
  std::size_t rows, to_pitch, from_pitch;
  bool async;
  Stream* stream;
};

Copy flat(std::uintptr_t to, std::uintptr_t from, std::size_t bytes, Stream* stream, bool async) {
  return {to, from, bytes, 1, bytes, bytes, async, stream};
}

bool on_device(MemoryKind kind) { return kind == kDeviceMemory || kind == kManaged; }

CopyKind copy_kind(MemoryKind from, MemoryKind to) {
  if (on_device(from)) return on_device(to) ? kDtoD : kDtoH;
  return on_device(to) ? kHtoD : kHtoH;
}

Effect effect_of(const Copy& c) {
  return {.to = c.to,
          .from = c.from,
          .bytes = c.bytes,
          .rows = c.rows,
          .to_pitch = c.to_pitch,
          .from_pitch = c.from_pitch};
}

void describe_peers(DeviceOp& op, const Context& from, const Context& to) {
  op.src_device = static_cast<std::uint32_t>(from.device->ordinal);
  op.dst_device = static_cast<std::uint32_t>(to.device->ordinal);
  op.src_context = from.id;
  op.dst_context = to.id;
}

/// What the two ends say about the operation.
DeviceOp describe(const Copy& c) {
  const auto device = static_cast<std::uint32_t>(c.stream->context->device->ordinal);
  Allocation from{}, to{};
  const bool from_known = find_allocation(c.from, &from), to_known = find_allocation(c.to, &to);
  DeviceOp op{};
  op.kind = OpKind::kMemcpy;
  op.async = c.async;
  op.src_kind = from_known ? from.kind : kPageable;
  op.dst_kind = to_known ? to.kind : kPageable;
  op.copy_kind =
      copy_kind(static_cast<MemoryKind>(op.src_kind), static_cast<MemoryKind>(op.dst_kind));
  op.bytes = c.bytes * c.rows;
  op.src_device = op.dst_device = device;
  if (op.copy_kind == kDtoD && from.device != to.device) {
    op.kind = OpKind::kPeerCopy;
    op.copy_kind = kPtoP;
    describe_peers(op, *from.context, *to.context);
  }
  return op;
}

bool is_plausible(const Copy& c) {
  return gpusim::is_plausible({c.to, c.bytes, c.rows, c.to_pitch}) &&
         gpusim::is_plausible({c.from, c.bytes, c.rows, c.from_pitch});
}

int copy(const Copy& c) {
  if (c.stream == nullptr) return stream_error();
  if (c.bytes == 0 || c.rows == 0) return CUDA_SUCCESS;
  if (!is_plausible(c)) return CUDA_ERROR_INVALID_VALUE;
  DeviceOp op = describe(c);
  const int result = submit(c.stream, op, effect_of(c));
  // Device-to-device copies return at once even from the synchronous call, as the real driver's do.
  const bool host_waits = op.copy_kind != kDtoD && op.copy_kind != kPtoP;
  if (result == CUDA_SUCCESS && !c.async && host_waits) synchronize_stream(c.stream);
  return result;
}

/// A copy whose device ends must be known addresses; null means a host end.
int checked(const Copy& c, std::uintptr_t device_end, std::uintptr_t other_end = 0) {
  Allocation a{};
  if (c.stream == nullptr) return stream_error();
  if (c.bytes == 0) return CUDA_SUCCESS;
  if (!find_allocation(device_end, &a)) return CUDA_ERROR_INVALID_VALUE;
  if (other_end != 0 && !find_allocation(other_end, &a)) return CUDA_ERROR_INVALID_VALUE;
  return copy(c);
}

int copy_peer(CUcontext to_context, CUcontext from_context, const Copy& c) {
  auto* src = reinterpret_cast<Context*>(from_context);
  auto* dst = reinterpret_cast<Context*>(to_context);
  if (c.stream == nullptr) return stream_error();
  if (!live(src) || !live(dst)) return CUDA_ERROR_INVALID_CONTEXT;
  if (c.bytes == 0) return CUDA_SUCCESS;
  if (!is_plausible(c)) return CUDA_ERROR_INVALID_VALUE;
  DeviceOp op{};
  op.kind = OpKind::kPeerCopy;
  op.async = c.async;
  op.copy_kind = kPtoP;
  op.src_kind = op.dst_kind = kDeviceMemory;
  op.bytes = c.bytes;
  describe_peers(op, *src, *dst);
  return submit(c.stream, op, effect_of(c));
}

/// One end of a 2D copy; false for arrays.
bool end_of(CUmemorytype type, const void* host, CUdeviceptr device, std::size_t x, std::size_t y,
            std::size_t pitch, std::uintptr_t* out) {
  if (type == CU_MEMORYTYPE_ARRAY) return false;
  *out = (type == CU_MEMORYTYPE_HOST ? address(host) : device) + y * pitch + x;
  return true;
}

int copy_2d(const CUDA_MEMCPY2D* p, Stream* stream, bool async, const char* name) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Copy c{0, 0, p->WidthInBytes, p->Height, p->dstPitch, p->srcPitch, async, stream};
  if (!end_of(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes, p->dstY, p->dstPitch,
              &c.to) ||
      !end_of(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes, p->srcY, p->srcPitch,
              &c.from))
    return gpusim_refuse(name);
  if (c.rows > 1 && (c.to_pitch < c.bytes || c.from_pitch < c.bytes))
    return CUDA_ERROR_INVALID_VALUE;
  return copy(c);
}

struct Fill {
  std::uintptr_t to;
  std::size_t pitch;
  std::uint32_t value;
  int width;
  std::size_t count, rows;
};

int fill(const Fill& f, Stream* stream, bool async) {
  Allocation a{};
  if (stream == nullptr) return stream_error();
  if (f.count == 0 || f.rows == 0) return CUDA_SUCCESS;
  if (!find_allocation(f.to, &a)) return CUDA_ERROR_INVALID_VALUE;
  std::size_t row_bytes = 0;
  if (__builtin_mul_overflow(f.count, static_cast<std::size_t>(f.width), &row_bytes) ||
      (f.rows > 1 && f.pitch < row_bytes) ||
      !gpusim::is_plausible({f.to, row_bytes, f.rows, f.pitch}))
    return CUDA_ERROR_INVALID_VALUE;
  DeviceOp op{};
  op.kind = OpKind::kMemset;
  op.async = async;
  op.dst_kind = a.kind;
  op.bytes = row_bytes * f.rows;
  op.value = f.value;
  return submit(stream, op,
                {.to = f.to,
                 .bytes = row_bytes,
                 .rows = f.rows,
                 .to_pitch = f.pitch,
                 .width = f.width,
                 .value = f.value});
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
  GPUSIM_DRIVER_API(cuMemcpy, dst, src, ByteCount);
  return GPUSIM_DONE(copy(flat(dst, src, ByteCount, stream_of(nullptr), false)));
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount,
                               CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemcpyAsync, dst, src, ByteCount, hStream);
  return GPUSIM_DONE(copy(flat(dst, src, ByteCount, stream_of(hStream), true)));
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
  GPUSIM_DRIVER_API(cuMemcpyHtoD_v2, dstDevice, srcHost, ByteCount);
  return GPUSIM_DONE(
      checked(flat(dstDevice, address(srcHost), ByteCount, stream_of(nullptr), false), dstDevice));
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
  GPUSIM_DRIVER_API(cuMemcpyDtoH_v2, dstHost, srcDevice, ByteCount);
  return GPUSIM_DONE(
      checked(flat(address(dstHost), srcDevice, ByteCount, stream_of(nullptr), false), srcDevice));
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
  GPUSIM_DRIVER_API(cuMemcpyDtoD_v2, dstDevice, srcDevice, ByteCount);
  return GPUSIM_DONE(checked(flat(dstDevice, srcDevice, ByteCount, stream_of(nullptr), false),
                             dstDevice, srcDevice));
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
                                      CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemcpyHtoDAsync_v2, dstDevice, srcHost, ByteCount, hStream);
  return GPUSIM_DONE(
      checked(flat(dstDevice, address(srcHost), ByteCount, stream_of(hStream), true), dstDevice));
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemcpyDtoHAsync_v2, dstHost, srcDevice, ByteCount, hStream);
  return GPUSIM_DONE(
      checked(flat(address(dstHost), srcDevice, ByteCount, stream_of(hStream), true), srcDevice));
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                      size_t ByteCount, CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemcpyDtoDAsync_v2, dstDevice, srcDevice, ByteCount, hStream);
  return GPUSIM_DONE(checked(flat(dstDevice, srcDevice, ByteCount, stream_of(hStream), true),
                             dstDevice, srcDevice));
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                              CUcontext srcContext, size_t ByteCount) {
  GPUSIM_DRIVER_API(cuMemcpyPeer, dstDevice, dstContext, srcDevice, srcContext, ByteCount);
  return GPUSIM_DONE(copy_peer(dstContext, srcContext,
                               flat(dstDevice, srcDevice, ByteCount, stream_of(nullptr), false)));
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                   CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                                   CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemcpyPeerAsync, dstDevice, dstContext, srcDevice, srcContext, ByteCount,
                    hStream);
  return GPUSIM_DONE(copy_peer(dstContext, srcContext,
                               flat(dstDevice, srcDevice, ByteCount, stream_of(hStream), true)));
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D* pCopy) {
  GPUSIM_DRIVER_API(cuMemcpy2D_v2, pCopy);
  return GPUSIM_DONE(copy_2d(pCopy, stream_of(nullptr), false, "cuMemcpy2D_v2"));
}

CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* pCopy) {
  GPUSIM_DRIVER_API(cuMemcpy2DUnaligned_v2, pCopy);
  return GPUSIM_DONE(copy_2d(pCopy, stream_of(nullptr), false, "cuMemcpy2DUnaligned_v2"));
}

CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  GPUSIM_DRIVER_API(cuMemcpy2DAsync_v2, pCopy, hStream);
  return GPUSIM_DONE(copy_2d(pCopy, stream_of(hStream), true, "cuMemcpy2DAsync_v2"));
}

/// The synchronous and the asynchronous fill of one element type.
#define GPUSIM_FILL(sync_name, async_name, type, width)                                        \
  CUresult CUDAAPI sync_name(CUdeviceptr dstDevice, type value, size_t N) {                    \
    GPUSIM_DRIVER_API(sync_name, dstDevice, value, N);                                         \
    return GPUSIM_DONE(fill({dstDevice, 0, value, width, N, 1}, stream_of(nullptr), false));   \
  }                                                                                            \
  CUresult CUDAAPI async_name(CUdeviceptr dstDevice, type value, size_t N, CUstream hStream) { \
    GPUSIM_DRIVER_API(async_name, dstDevice, value, N, hStream);                               \
    return GPUSIM_DONE(fill({dstDevice, 0, value, width, N, 1}, stream_of(hStream), true));    \
  }

/// The same for rows of `Width` elements.
#define GPUSIM_FILL_2D(sync_name, async_name, type, width)                                      \
  CUresult CUDAAPI sync_name(CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width,  \
                             size_t Height) {                                                   \
    GPUSIM_DRIVER_API(sync_name, dstDevice, dstPitch, value, Width, Height);                    \
    return GPUSIM_DONE(                                                                         \
        fill({dstDevice, dstPitch, value, width, Width, Height}, stream_of(nullptr), false));   \
  }                                                                                             \
  CUresult CUDAAPI async_name(CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width, \
                              size_t Height, CUstream hStream) {                                \
    GPUSIM_DRIVER_API(async_name, dstDevice, dstPitch, value, Width, Height, hStream);          \
    return GPUSIM_DONE(                                                                         \
        fill({dstDevice, dstPitch, value, width, Width, Height}, stream_of(hStream), true));    \
  }

GPUSIM_FILL(cuMemsetD8_v2, cuMemsetD8Async, unsigned char, 1)
GPUSIM_FILL(cuMemsetD16_v2, cuMemsetD16Async, unsigned short, 2)
GPUSIM_FILL(cuMemsetD32_v2, cuMemsetD32Async, unsigned int, 4)
GPUSIM_FILL_2D(cuMemsetD2D8_v2, cuMemsetD2D8Async, unsigned char, 1)
GPUSIM_FILL_2D(cuMemsetD2D16_v2, cuMemsetD2D16Async, unsigned short, 2)
GPUSIM_FILL_2D(cuMemsetD2D32_v2, cuMemsetD2D32Async, unsigned int, 4)

}  // extern "C"
