// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills.
//
// Context:  application threads
// Owns:     nothing
// Promises: see copies.hpp
// Not here: entry points, durations (core/work/timeline.cpp)
#include "cudart/copies.hpp"

#include "core/clock.hpp"
#include "core/work/stream_queue.hpp"
#include "core/work/timeline.hpp"
#include "cudart/api.hpp"

namespace gpusim {
namespace {

bool on_device(MemoryKind kind) { return kind == kDeviceMemory || kind == kManaged; }

/// Where the two ends of a copy lie.
struct Ends {
  Allocation from, to;
  bool from_known, to_known;
};

Ends look_up(const Rows& r) {
  Ends e{};
  e.from_known = find_allocation(r.from, &e.from);
  e.to_known = find_allocation(r.to, &e.to);
  if (!e.from_known) e.from.kind = kPageable;
  if (!e.to_known) e.to.kind = kPageable;
  return e;
}

CopyKind direction(cudaMemcpyKind kind, const Ends& e) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return kHtoD;
    case cudaMemcpyDeviceToHost:
      return kDtoH;
    case cudaMemcpyDeviceToDevice:
      return kDtoD;
    case cudaMemcpyHostToHost:
      return kHtoH;
    default:
      if (on_device(e.from.kind)) return on_device(e.to.kind) ? kDtoD : kDtoH;
      return on_device(e.to.kind) ? kHtoD : kHtoH;
  }
}

/// Device addresses must be known, known memory long enough; pageable memory is trusted as the
/// real runtime does.
bool addresses_fit(CopyKind kind, const Rows& r, const Ends& e) {
  if (!is_plausible({r.to, r.bytes, r.rows, r.to_pitch}) ||
      !is_plausible({r.from, r.bytes, r.rows, r.from_pitch}))
    return false;
  const bool from_device = kind == kDtoH || kind == kDtoD;
  const bool to_device = kind == kHtoD || kind == kDtoD;
  return (!from_device || e.from_known) && (!to_device || e.to_known);
}

/// Turns the description of a copy within one device into one between two.
void make_peer_copy(DeviceOp& op, const Device& from, const Device& to) {
  op.kind = OpKind::kPeerCopy;
  op.copy_kind = kPtoP;
  op.src_device = static_cast<std::uint32_t>(from.ordinal);
  op.dst_device = static_cast<std::uint32_t>(to.ordinal);
  op.src_context = from.primary != nullptr ? from.primary->id : 0;
  op.dst_context = to.primary != nullptr ? to.primary->id : 0;
}

/// Waits for the stream without a synchronization record, as a copy does.
void wait_here(Stream* stream) {
  if (stream->capture != nullptr) return;
  std::uint64_t until = kNever;
  while (until == kNever) {
    drain_stream_queue(stream);
    until = tail_ns(stream);
  }
  wait_until(until);
}

DeviceOp describe(const Rows& r, CopyKind kind, const Ends& e, const Stream& stream, bool async) {
  DeviceOp op{};
  op.kind = OpKind::kMemcpy;
  op.async = async;
  op.copy_kind = kind;
  op.src_kind = e.from.kind;
  op.dst_kind = e.to.kind;
  op.bytes = r.bytes * r.rows;
  op.src_device = op.dst_device = static_cast<std::uint32_t>(stream.context->device->ordinal);
  if (kind == kDtoD && e.from.device != e.to.device)
    make_peer_copy(op, *e.from.device, *e.to.device);
  return op;
}

}  // namespace

int copy_bytes(const Rows& r, cudaMemcpyKind kind, cudaStream_t handle, bool async) {
  int error = cudaSuccess;
  Stream* stream = runtime_stream(handle, &error);
  if (stream == nullptr) return error;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  if (r.bytes == 0 || r.rows == 0) return cudaSuccess;
  if (r.to == 0 || r.from == 0) return cudaErrorInvalidValue;
  const Ends ends = look_up(r);
  const CopyKind way = direction(kind, ends);
  if (!addresses_fit(way, r, ends)) return cudaErrorInvalidValue;
  if (!async && stream->capture != nullptr) return cudaErrorStreamCaptureUnsupported;
  // Pageable memory may be gone when this call returns, so such copies are not asynchronous.
  const bool pageable = ends.from.kind == kPageable || ends.to.kind == kPageable;
  DeviceOp op = describe(r, way, ends, *stream, async);
  Effect effect{};
  effect.to = r.to;
  effect.from = r.from;
  effect.bytes = r.bytes;
  effect.rows = r.rows;
  effect.to_pitch = r.to_pitch;
  effect.from_pitch = r.from_pitch;
  error = submit(stream, op, effect);
  if (error == cudaSuccess && (pageable || (!async && way != kDtoD))) wait_here(stream);
  return error;
}

int copy_between(std::uintptr_t to, int to_device, std::uintptr_t from, int from_device,
                 std::size_t bytes, cudaStream_t handle, bool async) {
  int error = cudaSuccess;
  Stream* stream = runtime_stream(handle, &error);
  const Device* src = device_at(from_device);
  const Device* dst = device_at(to_device);
  if (stream == nullptr) return error;
  if (src == nullptr || dst == nullptr) return cudaErrorInvalidDevice;
  if (bytes == 0) return cudaSuccess;
  const Rows r{to, from, bytes, 1, 0, 0};
  const Ends ends = look_up(r);
  if (!ends.from_known || !ends.to_known || !addresses_fit(kDtoD, r, ends))
    return cudaErrorInvalidValue;
  DeviceOp op = describe(r, kDtoD, ends, *stream, async);
  if (src != dst) make_peer_copy(op, *src, *dst);
  Effect effect{};
  effect.to = to;
  effect.from = from;
  effect.bytes = bytes;
  return submit(stream, op, effect);
}

int fill_bytes(const Rows& r, int value, cudaStream_t handle, bool async) {
  int error = cudaSuccess;
  Stream* stream = runtime_stream(handle, &error);
  if (stream == nullptr) return error;
  if (r.bytes == 0 || r.rows == 0) return cudaSuccess;
  Allocation a{};
  if (!find_allocation(r.to, &a) || !is_plausible({r.to, r.bytes, r.rows, r.to_pitch}))
    return cudaErrorInvalidValue;
  if (!async && stream->capture != nullptr) return cudaErrorStreamCaptureUnsupported;
  DeviceOp op{};
  op.kind = OpKind::kMemset;
  op.async = async;
  op.dst_kind = a.kind;
  op.bytes = r.bytes * r.rows;
  op.value = static_cast<std::uint32_t>(value) & 0xff;
  Effect effect{};
  effect.to = r.to;
  effect.bytes = r.bytes;
  effect.rows = r.rows;
  effect.to_pitch = r.to_pitch;
  effect.width = 1;
  effect.value = op.value;
  return submit(stream, op, effect);
}

}  // namespace gpusim
