// SPDX-License-Identifier: Apache-2.0
//
// What a stream is asked to do: operations, events, host functions, waits.
//
// Context:  application threads; finishing also on the pump's thread
// Owns:     nothing
// Promises: a tool is asked on the launching thread, at enqueue; with nothing queued an operation
//           is placed at once, without an allocation
// Not here: the timing model (timeline.cpp), the queue (stream_queue.cpp), graphs
#include <algorithm>
#include <cstring>
#include <utility>

#include <cuda.h>

#include "core/api_scope.hpp"
#include "core/clock.hpp"
#include "core/config.hpp"
#include "core/driver.hpp"
#include "core/hooks.hpp"
#include "core/truth.hpp"
#include "core/work/graphs.hpp"
#include "core/work/stream_queue.hpp"
#include "core/work/timeline.hpp"

namespace gpusim {
namespace {

std::uint64_t length_on(const Stream* stream, const DeviceOp& op) {
  return scaled(static_cast<double>(duration_ns(stream->context->device->model, op)));
}

/// An effect that is done later: pageable sources are read now, as the real driver stages them, and
/// memory that is freed before its turn is left alone.
class LateEffect {
 public:
  explicit LateEffect(const Effect& effect) : effect_(effect) {
    if (effect.bytes == 0) return;
    to_known_ = memory_kind(effect.to) != kPageable;
    from_known_ = effect.width == 0 && memory_kind(effect.from) != kPageable;
    if (effect.width == 0 && !from_known_ && to_known_ && !is_write_dropped(effect)) stage();
  }

  void apply_now() const {
    if (effect_.bytes == 0 || gone(to_known_, effect_.to)) return;
    if (staged_.empty() && gone(from_known_, effect_.from)) return;
    apply(effect_);
  }

 private:
  static bool gone(bool known, std::uintptr_t address) {
    return known && memory_kind(address) == kPageable;
  }

  void stage() {
    staged_.resize(effect_.bytes * effect_.rows);
    for (std::size_t row = 0; row < effect_.rows; ++row)
      std::memcpy(staged_.data() + row * effect_.bytes,
                  reinterpret_cast<const void*>(effect_.from + row * effect_.from_pitch),
                  effect_.bytes);
    effect_.from = reinterpret_cast<std::uintptr_t>(staged_.data());
    effect_.from_pitch = effect_.bytes;
  }

  Effect effect_;
  bool to_known_ = false, from_known_ = false;
  std::vector<unsigned char> staged_;
};

struct OpItem : QueueItem {
  OpItem(const DeviceOp& what, const Effect& e) : op(what), effect(e) {}
  bool place(Stream* stream) override {
    gpusim::place(stream, op, ready_ns, length_on(stream, op));
    return true;
  }
  void finish() override {
    effect.apply_now();
    announce(op);
  }
  DeviceOp op;
  LateEffect effect;
  std::uint64_t ready_ns = now_ns() + launch_latency_ns();
};

struct RendezvousItem : QueueItem {
  RendezvousItem(const DeviceOp& what, std::unique_ptr<Rendezvous> r)
      : op(what), rendezvous(std::move(r)) {}
  bool place(Stream* stream) override {
    if (op.start_ns == 0) op.start_ns = earliest_start(stream, ready_ns);
    arrived = arrived || rendezvous->arrive(op.start_ns);
    if (!arrived || !rendezvous->resolved(&op.end_ns)) return false;
    op.end_ns = std::max(op.end_ns, op.start_ns + 1);
    occupy(stream, op);
    return true;
  }
  void finish() override {
    rendezvous->complete();
    announce(op);
  }
  DeviceOp op;
  std::unique_ptr<Rendezvous> rendezvous;
  bool arrived = false;
  std::uint64_t ready_ns = now_ns() + launch_latency_ns();
};

struct RecordItem : QueueItem {
  RecordItem(Event* e, std::shared_ptr<EventMark> m) : event(e), mark(std::move(m)) {}
  bool place(Stream* stream) override;
  Event* event;
  std::shared_ptr<EventMark> mark;
  std::uint64_t asked_ns = now_ns();
};

struct WaitItem : QueueItem {
  WaitItem(std::shared_ptr<EventMark> m, std::uint64_t time) : mark(std::move(m)), time_ns(time) {}
  bool place(Stream* stream) override {
    if (mark != nullptr && !mark->known.load(std::memory_order_acquire)) return false;
    note_tail(stream, mark != nullptr ? mark->time_ns : time_ns);
    return true;
  }
  std::shared_ptr<EventMark> mark;
  std::uint64_t time_ns;
};

struct ReleaseItem : QueueItem {
  explicit ReleaseItem(std::uintptr_t a) : address(a) {}
  bool place(Stream*) override { return true; }
  void finish() override { release(address); }
  std::uintptr_t address;
};

/// The stream stands still from the function's turn until it has returned.
class HostCall : public Rendezvous {
 public:
  explicit HostCall(const HostFunction& function) : function_(function) {}
  bool arrive(std::uint64_t start_ns) override {
    run_host_function(function_, start_ns, done_ns_);
    return true;
  }
  bool resolved(std::uint64_t* end_ns) override {
    *end_ns = done_ns_->load(std::memory_order_acquire);
    return *end_ns != 0;
  }

 private:
  HostFunction function_;
  std::shared_ptr<std::atomic<std::uint64_t>> done_ns_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
};

/// Guards the fields of events that a queued recording changes later.
std::mutex& event_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

bool RecordItem::place(Stream* stream) {
  mark->time_ns = std::max(asked_ns, locked_tail(stream));
  mark->known.store(true, std::memory_order_release);
  const std::lock_guard<std::mutex> lock(event_mutex());
  if (event->mark != mark) return true;  // recorded again meanwhile
  event->time_ns = mark->time_ns;
  event->mark.reset();
  return true;
}

std::shared_ptr<EventMark> mark_of(Event* event, std::uint64_t* time_ns) {
  const std::lock_guard<std::mutex> lock(event_mutex());
  *time_ns = event->time_ns;
  return event->mark;
}

void report_sync(SyncKind kind, Context* c, std::uint32_t stream, Event* event,
                 std::uint64_t start_ns, std::uint64_t until) {
  SyncOp op{};
  op.kind = kind;
  op.context = c->id;
  op.stream = stream;
  op.event = event != nullptr ? event->id : 0xffffffffu;
  op.event_sync_id = event != nullptr ? event->sync_id : 0;
  op.correlation = current_correlation();
  op.start_ns = start_ns;
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

/// Waits for room and asks the tool. Gives `lock` on the device mutex back held.
void admit(Stream* stream, DeviceOp& op, std::unique_lock<std::mutex>& lock) {
  wait_for_room(stream, lock);
  lock.unlock();
  if (const ToolHooks* h = hooks()) h->select_op(op);
  lock.lock();
}

/// Queues `item` and lets everything move that can.
void queue_and_pump(Stream* stream, std::unique_lock<std::mutex>& lock,
                    std::unique_ptr<QueueItem> item) {
  append(stream, std::move(item));
  lock.unlock();
  pump();
}

}  // namespace

void announce(const DeviceOp& op) {
  if (const ToolHooks* h = hooks()) h->enqueued(op);
  if (truth_on()) truth_op(op);
}

int submit(Stream* stream, DeviceOp& op, const Effect& effect) {
  fill_ids(stream, op);
  std::unique_lock<std::mutex> lock(stream->context->device->mutex);
  if (stream->capture != nullptr) {
    capture_op(stream, op, effect);
    return CUDA_SUCCESS;
  }
  admit(stream, op, lock);
  if (must_queue(stream)) {
    queue_and_pump(stream, lock, std::make_unique<OpItem>(op, effect));
    return CUDA_SUCCESS;
  }
  place(stream, op, now_ns() + launch_latency_ns(), length_on(stream, op));
  lock.unlock();
  apply(effect);
  announce(op);
  return CUDA_SUCCESS;
}

int submit(Stream* stream, DeviceOp& op, std::unique_ptr<Rendezvous> rendezvous) {
  fill_ids(stream, op);
  std::unique_lock<std::mutex> lock(stream->context->device->mutex);
  if (stream->capture != nullptr) {
    capture_op(stream, op, {});
    return CUDA_SUCCESS;
  }
  admit(stream, op, lock);
  queue_and_pump(stream, lock, std::make_unique<RendezvousItem>(op, std::move(rendezvous)));
  return CUDA_SUCCESS;
}

int enqueue_host_function(Stream* stream, void (*function)(void*), void* user) {
  DeviceOp op{};
  op.kind = OpKind::kHostFunction;
  op.async = true;
  fill_ids(stream, op);
  std::unique_lock<std::mutex> lock(stream->context->device->mutex);
  if (stream->capture != nullptr) {
    capture_op(stream, op, {}, {function, user});
    return CUDA_SUCCESS;
  }
  admit(stream, op, lock);
  auto call = std::make_unique<HostCall>(HostFunction{function, user});
  queue_and_pump(stream, lock, std::make_unique<RendezvousItem>(op, std::move(call)));
  return CUDA_SUCCESS;
}

int release_on_stream(Stream* stream, std::uintptr_t address) {
  if (Allocation a{}; address != 0 && (!find_allocation(address, &a) || a.base != address))
    return CUDA_ERROR_INVALID_VALUE;
  std::unique_lock<std::mutex> lock(stream->context->device->mutex);
  if (!must_queue(stream)) return release(address);
  queue_and_pump(stream, lock, std::make_unique<ReleaseItem>(address));
  return CUDA_SUCCESS;
}

std::uint64_t tail_ns(Stream* stream) {
  pump();
  const std::lock_guard<std::mutex> lock(stream->context->device->mutex);
  return must_queue(stream) ? kNever : locked_tail(stream);
}

void synchronize_stream(Stream* stream) {
  const std::uint64_t start = now_ns();
  drain_stream_queue(stream);
  std::unique_lock<std::mutex> lock(stream->context->device->mutex);
  const std::uint64_t until = locked_tail(stream);
  lock.unlock();
  report_sync(SyncKind::kStream, stream->context, stream->id, nullptr, start, until);
}

void synchronize_context(Context* context) {
  const std::uint64_t start = now_ns();
  drain_context_queues(context);
  std::unique_lock<std::mutex> lock(context->device->mutex);
  const std::uint64_t until = context->last_tail_ns;
  lock.unlock();
  report_sync(SyncKind::kContext, context, 0xffffffffu, nullptr, start, until);
}

void synchronize_event(Event* event) {
  const std::uint64_t start = now_ns();
  std::uint64_t until = 0;
  Backoff patience;
  if (const std::shared_ptr<EventMark> mark = mark_of(event, &until)) {
    for (pump(); !mark->known.load(std::memory_order_acquire); pump()) patience.wait();
    until = mark->time_ns;
  }
  report_sync(SyncKind::kEvent, event->context, event->stream_id, event, start, until);
}

std::uint64_t event_time_ns(Event* event) {
  pump();
  std::uint64_t time = 0;
  mark_of(event, &time);
  return time;
}

void record_event(Event* event, Stream* stream) {
  std::unique_lock<std::mutex> lock(stream->context->device->mutex);
  if (stream->capture != nullptr) {
    event->capture = stream->capture;
    event->capture_tail = stream->capture_tail;
    return;
  }
  const bool later = must_queue(stream);
  auto mark = later ? std::make_shared<EventMark>() : nullptr;
  {
    const std::lock_guard<std::mutex> event_lock(event_mutex());
    event->capture = nullptr;
    event->recorded = true;
    event->sync_id = driver().next_sync_id.fetch_add(1);
    event->stream_id = stream->id;
    event->time_ns = later ? kNever : std::max(now_ns(), locked_tail(stream));
    event->mark = mark;
  }
  if (later) queue_and_pump(stream, lock, std::make_unique<RecordItem>(event, std::move(mark)));
}

int wait_event(Stream* stream, Event* event) {
  const std::uint64_t start = now_ns();
  {
    std::unique_lock<std::mutex> lock(stream->context->device->mutex);
    if (event->capture != nullptr) return join_capture(stream, event);
    if (!event->recorded) return CUDA_SUCCESS;
    std::uint64_t time = 0;
    std::shared_ptr<EventMark> mark = mark_of(event, &time);
    if (mark == nullptr && !must_queue(stream))
      note_tail(stream, time);
    else
      queue_and_pump(stream, lock, std::make_unique<WaitItem>(std::move(mark), time));
  }
  report_sync(SyncKind::kStreamWaitEvent, stream->context, stream->id, event, start, 0);
  return CUDA_SUCCESS;
}

}  // namespace gpusim
