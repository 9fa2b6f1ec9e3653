// SPDX-License-Identifier: Apache-2.0
//
// The timing model: how long things last and where on a stream they lie.
//
// Context:  application threads
// Owns:     nothing
// Promises: see timeline.hpp
// Not here: what a stream is asked to do (stream_work.cpp), graphs
#include "core/work/timeline.hpp"

#include <algorithm>
#include <cmath>

#include "core/clock.hpp"
#include "core/config.hpp"
#include "core/work/stream_queue.hpp"

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

}  // namespace

std::uint64_t scaled(double ns) { return static_cast<std::uint64_t>(ns * config().time_scale); }

std::uint64_t launch_latency_ns() { return scaled(kLaunchLatencyNs); }

std::uint64_t duration_ns(const DeviceModel& m, const DeviceOp& op) {
  if (op.length_ns != 0) return op.length_ns;
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

void note_tail(Stream* stream, std::uint64_t end_ns) {
  Context* c = stream->context;
  stream->tail_ns = std::max(stream->tail_ns, end_ns);
  c->last_tail_ns = std::max(c->last_tail_ns, end_ns);
  if (!stream->non_blocking) c->blocking_tail_ns = std::max(c->blocking_tail_ns, end_ns);
}

std::uint64_t locked_tail(const Stream* stream) {
  const Context* c = stream->context;
  if (stream == &c->null_stream) return c->blocking_tail_ns;
  return stream->non_blocking ? stream->tail_ns : std::max(stream->tail_ns, c->null_stream.tail_ns);
}

void wait_for_room(Stream* stream, std::unique_lock<std::mutex>& lock) {
  Backoff patience;
  for (;;) {
    const std::uint64_t queued = stream->queue.size();
    const std::uint64_t oldest =
        queued < kQueueLimit ? stream->ends[(stream->enqueued + queued) % kQueueLimit] : kNever;
    if (oldest <= now_ns()) return;
    lock.unlock();
    if (oldest != kNever) {
      wait_until(oldest);
    } else {
      pump();
      patience.wait();
    }
    lock.lock();
  }
}

std::uint64_t earliest_start(const Stream* stream, std::uint64_t ready_ns) {
  const std::uint64_t tail = locked_tail(stream);
  return std::max(ready_ns, tail == 0 ? 0 : tail + scaled(kGapNs));
}

void occupy(Stream* stream, const DeviceOp& op) {
  stream->ends[stream->enqueued++ % kQueueLimit] = op.end_ns;
  note_tail(stream, op.end_ns);
}

void place(Stream* stream, DeviceOp& op, std::uint64_t ready_ns, std::uint64_t length_ns) {
  op.start_ns = earliest_start(stream, ready_ns);
  op.end_ns = op.start_ns + std::max<std::uint64_t>(1, length_ns);
  occupy(stream, op);
}

}  // namespace gpusim
