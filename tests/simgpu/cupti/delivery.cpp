// SPDX-License-Identifier: Apache-2.0
//
// The heap of unfinished operations, the worker, and flushing.
//
// Context:  application threads and the worker
// Owns:     operations between enqueue and delivery; one worker thread for each client
// Promises: see delivery.hpp
// Not here: spoiling records (scenario.cpp)
#include "cupti/delivery.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include <cupti.h>

#include "core/clock.hpp"
#include "core/config.hpp"
#include "cupti/buffers.hpp"
#include "cupti/clients.hpp"
#include "cupti/completion.hpp"
#include "cupti/scenario.hpp"
#include "cupti/state.hpp"

namespace gpusim {
namespace {

constexpr std::uint32_t kDefaultTickMs = 50;

enum class Held : std::uint8_t { kOperation, kGraph, kRecord };

struct Item {
  std::uint64_t release_ns;
  std::uint64_t order;
  Held what;
  std::uint32_t kind;
  union {
    DeviceOp op;
    GraphLaunchOp graph;
    Record record;
  };
};

/// std::*_heap keep the largest in front; we want the earliest, oldest first.
bool later(const Item* a, const Item* b) {
  return a->release_ns != b->release_ns ? a->release_ns > b->release_ns : a->order > b->order;
}

struct Store {
  std::mutex mutex;   ///< guards heap
  std::mutex moving;  ///< one mover at a time, so that records keep their order
  std::vector<Item*> heap;
  std::uint64_t order = 0;
  std::mutex worker_mutex;
  std::condition_variable worker_wake;
  bool worker_asked = false;
  int worker_pid = 0;
};

Store& store() { return of_client<Store>(); }

void hold(Item* item) {
  Store& s = store();
  const std::lock_guard<std::mutex> lock(s.mutex);
  item->order = s.order++;
  s.heap.push_back(item);
  std::push_heap(s.heap.begin(), s.heap.end(), later);
}

Item* next_ready(std::uint64_t until) {
  Store& s = store();
  const std::lock_guard<std::mutex> lock(s.mutex);
  if (s.heap.empty() || s.heap.front()->release_ns > until) return nullptr;
  std::pop_heap(s.heap.begin(), s.heap.end(), later);
  Item* item = s.heap.back();
  s.heap.pop_back();
  return item;
}

void move_item(Item& item, std::uint64_t now) {
  switch (item.what) {
    case Held::kOperation:
      if (item.op.end_ns > now && on(Scenario::kIncompleteOnForcedFlush)) item.op.end_ns = 0;
      deliver_operation(item.op, item.kind);
      break;
    case Held::kGraph: {
      const Record r = make_graph(item.graph);
      append(BufferOwner::kDevice, &r, 1);
      break;
    }
    case Held::kRecord:
      append(BufferOwner::kDevice, &item.record, 1);
      break;
  }
}

void tick() {
  deliver_ready(false);
  return_full_buffers();
}

void* worker(void* client) {
  pthread_setname_np(pthread_self(), "gpusim-cupti");
  const ClientScope scope(static_cast<int>(reinterpret_cast<std::intptr_t>(client)));
  Store& s = store();
  for (;;) {
    const std::uint32_t period = state().flush_period_ms.load();
    {
      std::unique_lock<std::mutex> lock(s.worker_mutex);
      s.worker_wake.wait_for(lock, std::chrono::milliseconds(period != 0 ? period : kDefaultTickMs),
                             [&] { return s.worker_asked; });
      s.worker_asked = false;
    }
    if (!driver_gone().load()) tick();
  }
  return nullptr;
}

}  // namespace

void defer_operation(const DeviceOp& op, std::uint32_t kind) {
  auto* item = new Item;
  item->release_ns = op.end_ns;
  if (on(Scenario::kGpuLate))
    item->release_ns += static_cast<std::uint64_t>(argument(Scenario::kGpuLate)) * 1000000u;
  item->what = Held::kOperation;
  item->kind = kind;
  item->op = op;
  hold(item);
}

void defer_graph(const GraphLaunchOp& op) {
  auto* item = new Item;
  item->release_ns = op.end_ns;
  item->what = Held::kGraph;
  item->graph = op;
  hold(item);
}

void defer_record(const Record& record, std::uint64_t release_ns) {
  auto* item = new Item;
  item->release_ns = release_ns;
  item->what = Held::kRecord;
  item->record = record;
  hold(item);
}

void deliver_ready(bool forced) {
  const std::lock_guard<std::mutex> lock(store().moving);
  const std::uint64_t now = now_ns();
  while (Item* item = next_ready(forced ? ~std::uint64_t{0} : now)) {
    move_item(*item, now);
    delete item;
  }
}

void flush(bool forced) {
  deliver_ready(forced);
  if (forced) deliver_withheld();
  return_all_buffers(forced);
  wait_for_deliveries();
}

void wake_worker() {
  Store& s = store();
  {
    const std::lock_guard<std::mutex> lock(s.worker_mutex);
    s.worker_asked = true;
  }
  s.worker_wake.notify_one();
}

void start_worker() {
  Store& s = store();
  const std::lock_guard<std::mutex> lock(s.worker_mutex);
  if (s.worker_pid == getpid()) return;
  s.worker_pid = getpid();
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_t thread{};
  auto* const client = reinterpret_cast<void*>(static_cast<std::intptr_t>(current_client()));
  if (pthread_create(&thread, nullptr, worker, client) == 0) pthread_detach(thread);
  if (on(Scenario::kRequestDuringExit)) start_endless_requests();
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

void discard_pending() {
  const std::lock_guard<std::mutex> lock(store().moving);
  while (Item* item = next_ready(~std::uint64_t{0})) delete item;
}

}  // namespace gpusim
