// SPDX-License-Identifier: Apache-2.0
//
// The timing model.
//
// Context:  application threads
// Owns:     nothing
// Promises: see timeline.hpp
// Not here: graphs
#include "core/timeline.hpp"

#include <algorithm>
#include <cmath>

#include <cuda.h>

#include "core/api_scope.hpp"
#include "core/clock.hpp"
#include "core/driver.hpp"
#include "core/graphs.hpp"
#include "core/hooks.hpp"
#include "core/truth.hpp"

namespace gpusim {
namespace {

constexpr double kLaunchLatencyNs = 2500;
constexpr double kGapNs = 900;

/// Matrix products and convolutions: the slower of arithmetic and memory.
double library_kernel_ns(const DeviceModel& m, const DeviceOp& op) {
  const double arithmetic = op.flops / (0.45 * std::max(1.0, op.peak_tflops) * 1e3);
  return 2500 + std::max(arithmetic, op.traffic_bytes / (0.7 * m.memory_gbps));
}

double kernel_ns(const DeviceModel& m, const DeviceOp& op) {
  if (config().kernel_ns != 0) return static_cast<double>(config().kernel_ns);
  if (op.flops > 0 || op.traffic_bytes > 0) return library_kernel_ns(m, op);
  const int threads = static_cast<int>(op.block[0] * op.block[1] * op.block[2]);
  const int per_sm =
      std::max(1, max_active_blocks(m, threads, op.registers,
                                    static_cast<int>(op.static_smem + op.dynamic_smem)));
  const double blocks = static_cast<double>(op.grid[0]) * op.grid[1] * op.grid[2];
  const double waves = std::ceil(blocks / (static_cast<double>(per_sm) * m.sm_count));
  const double resident = std::min(blocks, static_cast<double>(per_sm)) * threads;
  return 1200 + waves * (600 + 0.45 * resident);
}

double copy_ns(const DeviceModel& m, const DeviceOp& op) {
  const bool pinned = op.src_kind == kPinned || op.dst_kind == kPinned;
  const double bytes = static_cast<double>(op.bytes);
  switch (op.copy_kind) {
    case kHtoD:
      return 1000 + bytes / (pinned ? 25 : 8);
    case kDtoH:
      return 1000 + bytes / (pinned ? 24 : 7);
    case kPtoP:
      return 1500 + bytes / 200;
    default:
      return 1000 + bytes / (0.4 * m.memory_gbps);
  }
}

void note_tail(Stream* stream, std::uint64_t end) {
  Context* c = stream->context;
  stream->tail_ns = std::max(stream->tail_ns, end);
  c->last_tail_ns = std::max(c->last_tail_ns, end);
  if (!stream->non_blocking) c->blocking_tail_ns = std::max(c->blocking_tail_ns, end);
}

std::uint64_t locked_tail(const Stream* stream) {
  const Context* c = stream->context;
  if (stream == &c->null_stream) return c->blocking_tail_ns;
  return stream->non_blocking ? stream->tail_ns : std::max(stream->tail_ns, c->null_stream.tail_ns);
}

void finish_sync(SyncKind kind, Context* c, std::uint32_t stream, Event* event,
                 std::uint64_t until) {
  SyncOp op{};
  op.kind = kind;
  op.context = c->id;
  op.stream = stream;
  op.event = event != nullptr ? event->id : 0xffffffffu;
  op.event_sync_id = event != nullptr ? event->sync_id : 0;
  op.correlation = current_correlation();
  op.start_ns = now_ns();
  if (kind != SyncKind::kStreamWaitEvent) wait_until(until);
  op.end_ns = now_ns();
  if (const ToolHooks* h = hooks()) h->synchronized(op);
  if (truth_on()) truth_sync(op);
}

void fill_ids(const Stream* stream, DeviceOp& op) {
  op.device = static_cast<std::uint32_t>(stream->context->device->ordinal);
  op.context = stream->context->id;
  op.stream = stream->id;
  op.priority = stream->priority;
  op.correlation = current_correlation();
  if (op.kind == OpKind::kKernel) op.grid_id = driver().next_grid_id.fetch_add(1);
}

}  // namespace

std::uint64_t scaled(double ns) { return static_cast<std::uint64_t>(ns * config().time_scale); }

std::uint64_t launch_latency_ns() { return scaled(kLaunchLatencyNs); }

std::uint64_t duration_ns(const DeviceModel& m, const DeviceOp& op) {
  switch (op.kind) {
    case OpKind::kKernel:
      return static_cast<std::uint64_t>(kernel_ns(m, op));
    case OpKind::kMemset:
      return static_cast<std::uint64_t>(900 +
                                        static_cast<double>(op.bytes) / (0.8 * m.memory_gbps));
    case OpKind::kMemcpy:
    case OpKind::kPeerCopy:
      return static_cast<std::uint64_t>(copy_ns(m, op));
    case OpKind::kHostFunction:
      return 1000;
  }
  return 0;
}

void wait_for_room(Stream* stream, std::unique_lock<std::mutex>& lock) {
  for (;;) {
    const std::uint64_t oldest = stream->ends[stream->enqueued % kQueueLimit];
    if (oldest <= now_ns()) return;
    lock.unlock();
    wait_until(oldest);
    lock.lock();
  }
}

void place(Stream* stream, DeviceOp& op, std::uint64_t ready_ns, std::uint64_t length_ns) {
  const std::uint64_t tail = locked_tail(stream);
  op.start_ns = std::max(ready_ns, tail == 0 ? 0 : tail + scaled(kGapNs));
  op.end_ns = op.start_ns + std::max<std::uint64_t>(1, length_ns);
  stream->ends[stream->enqueued++ % kQueueLimit] = op.end_ns;
  note_tail(stream, op.end_ns);
}

void announce(const DeviceOp& op) {
  if (const ToolHooks* h = hooks()) h->enqueued(op);
  if (truth_on()) truth_op(op);
}

int submit(Stream* stream, DeviceOp& op, const Effect& effect) {
  Device* device = stream->context->device;
  fill_ids(stream, op);
  {
    std::unique_lock<std::mutex> lock(device->mutex);
    if (stream->capture != nullptr) {
      capture_op(stream, op);
      return CUDA_SUCCESS;
    }
    wait_for_room(stream, lock);
    lock.unlock();
    if (const ToolHooks* h = hooks()) h->admit(op);
    lock.lock();
    place(stream, op, now_ns() + launch_latency_ns(),
          scaled(static_cast<double>(duration_ns(device->model, op))));
  }
  apply(effect);
  announce(op);
  return CUDA_SUCCESS;
}

std::uint64_t tail_ns(Stream* stream) {
  const std::lock_guard<std::mutex> lock(stream->context->device->mutex);
  return locked_tail(stream);
}

void synchronize_stream(Stream* stream) {
  finish_sync(SyncKind::kStream, stream->context, stream->id, nullptr, tail_ns(stream));
}

void synchronize_context(Context* context) {
  std::uint64_t until = 0;
  {
    const std::lock_guard<std::mutex> lock(context->device->mutex);
    until = context->last_tail_ns;
  }
  finish_sync(SyncKind::kContext, context, 0xffffffffu, nullptr, until);
}

void synchronize_event(Event* event) {
  finish_sync(SyncKind::kEvent, event->context, event->stream_id, event, event->time_ns);
}

void record_event(Event* event, Stream* stream) {
  const std::lock_guard<std::mutex> lock(stream->context->device->mutex);
  if (stream->capture != nullptr) {
    event->capture = stream->capture;
    event->capture_tail = stream->capture_tail;
    return;
  }
  event->capture = nullptr;
  event->recorded = true;
  event->sync_id = driver().next_sync_id.fetch_add(1);
  event->stream_id = stream->id;
  event->time_ns = std::max(now_ns(), locked_tail(stream));
}

int wait_event(Stream* stream, Event* event) {
  {
    const std::lock_guard<std::mutex> lock(stream->context->device->mutex);
    if (event->capture != nullptr) return join_capture(stream, event);
    if (!event->recorded) return CUDA_SUCCESS;
    note_tail(stream, event->time_ns);
  }
  finish_sync(SyncKind::kStreamWaitEvent, stream->context, stream->id, event, 0);
  return CUDA_SUCCESS;
}

}  // namespace gpusim
