// SPDX-License-Identifier: Apache-2.0
//
// Queues of streams and the pump.
//
// Context:  application threads and one helper thread
// Owns:     queued items; the helper thread
// Promises: see stream_queue.hpp
// Not here: what items do (stream_work.cpp, graphs.cpp)
#include "core/work/stream_queue.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>

#include "core/driver.hpp"

namespace gpusim {
namespace {

struct Queues {
  std::atomic<std::uint64_t> next_order{1};
  std::atomic<std::uint32_t> items{0};
  std::mutex pumping;  ///< one pump at a time, so that effects and announcements keep their order
  std::mutex helper_mutex;
  std::condition_variable helper_wake;
  bool helper_started = false;
};

Queues& queues() {
  static auto* const q = new Queues;
  return *q;
}

/// Whether an item of `stream` enqueued as number `order` has to let something on other streams go
/// first: the default stream and the streams that honour it wait for each other.
bool others_first(const Stream* stream, std::uint64_t order) {
  const Stream* null_stream = &stream->context->null_stream;
  if (stream != null_stream) {
    return !stream->non_blocking && !null_stream->queue.empty() &&
           null_stream->queue.front()->order < order;
  }
  const std::vector<Stream*>& waiting = stream->context->device->waiting;
  return std::any_of(waiting.begin(), waiting.end(), [&](const Stream* s) {
    return s != stream && s->context == stream->context && !s->non_blocking &&
           s->queue.front()->order < order;
  });
}

/// The first item of `stream` if it could be placed now, else null. It stays in the queue.
QueueItem* place_first(Stream* stream) {
  const std::lock_guard<std::mutex> lock(stream->context->device->mutex);
  if (stream->queue.empty()) return nullptr;
  QueueItem* item = stream->queue.front();
  if (others_first(stream, item->order) || !item->place(stream)) return nullptr;
  return item;
}

void remove_first(Stream* stream) {
  std::unique_ptr<QueueItem> item;
  const std::lock_guard<std::mutex> lock(stream->context->device->mutex);
  item.reset(stream->queue.front());
  stream->queue.pop_front();
  queues().items.fetch_sub(1);
  if (!stream->queue.empty()) return;
  std::vector<Stream*>& waiting = stream->context->device->waiting;
  waiting.erase(std::find(waiting.begin(), waiting.end(), stream));
}

bool pump_device(Device* device) {
  std::vector<Stream*> streams;
  {
    const std::lock_guard<std::mutex> lock(device->mutex);
    streams = device->waiting;
  }
  bool moved = false;
  for (Stream* s : streams) {
    // An item leaves its queue only when it is done: until then later work queues behind it.
    while (QueueItem* item = place_first(s)) {
      item->finish();
      remove_first(s);
      moved = true;
    }
  }
  return moved;
}

void* helper(void*) {
  Queues& q = queues();
  Backoff patience;
  while (driver_status() == 0) {
    {
      std::unique_lock<std::mutex> lock(q.helper_mutex);
      if (q.items.load() == 0) patience = {};
      q.helper_wake.wait(lock, [&] { return q.items.load() != 0; });
    }
    pump();
    patience.wait();
  }
  return nullptr;
}

void wake_helper() {
  Queues& q = queues();
  bool start = false;
  {
    const std::lock_guard<std::mutex> lock(q.helper_mutex);
    start = !q.helper_started;
    q.helper_started = true;
  }
  if (start) start_helper("gpusim-pump", helper);
  q.helper_wake.notify_one();
}

/// Waits until no stream that `matters` has anything queued from before this call.
template <typename Matters>
void settle(Device* device, Matters matters) {
  if (queues().items.load() == 0) return;
  const std::uint64_t ticket = queues().next_order.fetch_add(1);
  Backoff patience;
  for (;;) {
    pump();
    {
      const std::lock_guard<std::mutex> lock(device->mutex);
      if (std::none_of(device->waiting.begin(), device->waiting.end(), [&](const Stream* s) {
            return matters(s) && s->queue.front()->order < ticket;
          }))
        return;
    }
    patience.wait();
  }
}

}  // namespace

bool must_queue(const Stream* stream) {
  if (stream->context->device->waiting.empty()) return false;
  return !stream->queue.empty() || others_first(stream, kNever);
}

void append(Stream* stream, std::unique_ptr<QueueItem> item) {
  Queues& q = queues();
  item->order = q.next_order.fetch_add(1);
  if (stream->queue.empty()) stream->context->device->waiting.push_back(stream);
  stream->queue.push_back(item.release());
  if (q.items.fetch_add(1) == 0) wake_helper();
}

void pump() {
  Queues& q = queues();
  if (q.items.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard<std::mutex> lock(q.pumping);
  Driver& d = driver();
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < d.device_count; ++i) moved = pump_device(d.devices[i]) || moved;
  }
}

void drain_stream_queue(Stream* stream) {
  Context* c = stream->context;
  settle(c->device, [&](const Stream* s) {
    if (s == stream) return true;
    if (s->context != c || stream->non_blocking || s->non_blocking) return false;
    return stream == &c->null_stream || s == &c->null_stream;
  });
}

void drain_context_queues(Context* context) {
  settle(context->device, [&](const Stream* s) { return s->context == context; });
}

void Backoff::wait() {
  constexpr std::uint32_t kLongest = 500;
  timespec t{0, static_cast<long>(sleep_us_) * 1000};
  nanosleep(&t, nullptr);
  sleep_us_ = std::min(kLongest, sleep_us_ * 3 / 2);
}

void start_helper(const char* name, void* (*body)(void*)) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, body, nullptr) == 0) {
    pthread_setname_np(thread, name);
    pthread_detach(thread);
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

}  // namespace gpusim
