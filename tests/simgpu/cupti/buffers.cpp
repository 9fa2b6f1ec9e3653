// SPDX-License-Identifier: Apache-2.0
//
// Buffer slots and the two client callbacks.
//
// Context:  application threads and the worker
// Owns:     the clients' buffers between request and completion; per-thread slots, leaked with
//           their threads
// Promises: see buffers.hpp
// Not here: scenario details of completion (completion.cpp)
#include "cupti/buffers.hpp"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "core/config.hpp"
#include "cupti/api/call.hpp"
#include "cupti/clients.hpp"
#include "cupti/completion.hpp"
#include "cupti/delivery.hpp"
#include "cupti/state.hpp"

namespace gpusim {
namespace {

struct Slot {
  std::mutex mutex;
  Buffer* current = nullptr;
};

struct Pool {
  std::mutex mutex;
  std::vector<Slot*> slots;
  std::deque<Buffer*> full, spare;
  Slot device, shared;
  int delivering = 0;  ///< completions taken by the worker and not finished
  std::condition_variable delivered;
};

Pool& pool() { return of_client<Pool>(); }

/// What a thread has of each client.
struct PerThread {
  Slot* slot;
  int delivering;  ///< its share of Pool::delivering, so that it never waits for itself
};
thread_local PerThread t_own[kMaxClients];

Slot& slot_of(BufferOwner owner) {
  if (!state().per_thread_buffers.load(std::memory_order_relaxed)) return pool().shared;
  if (owner == BufferOwner::kDevice) return pool().device;
  Slot*& own = t_own[current_client()].slot;
  if (own == nullptr) {
    own = new Slot;
    const std::lock_guard<std::mutex> lock(pool().mutex);
    pool().slots.push_back(own);
  }
  return *own;
}

/// The real library crashes on a refused buffer below API 27.
[[noreturn]] void crash_on_refusal() {
  std::fprintf(stderr,
               "gpusim: simulated CUPTI (API %u) was given a NULL buffer and crashes, as the real "
               "one does\n",
               api_version());
  std::abort();
}

Buffer* call_request() {
  State& s = state();
  const auto request = s.request.load();
  if (request == nullptr) return nullptr;
  std::uint8_t* data = nullptr;
  std::size_t bytes = 0, most = 0;
  {
    std::unique_lock<std::mutex> abba(s.abba, std::defer_lock);
    if (on(Scenario::kAbba)) abba.lock();
    request(&data, &bytes, &most);
  }
  log_callback("bufferRequested", data, bytes, 0);
  if (data == nullptr || bytes == 0) {
    if (api_version() < 27 || on(Scenario::kNullBufferAbort)) crash_on_refusal();
    return nullptr;
  }
  if (!s.client_zeroes.load()) std::memset(data, 0, bytes);
  auto* b = new Buffer{};
  b->client = current_client();
  b->data = data;
  b->size = bytes;
  b->max_records = most;
  return b;
}

void* second_request(void* client) {
  const ClientScope scope(static_cast<int>(reinterpret_cast<std::intptr_t>(client)));
  if (Buffer* b = call_request()) {
    const std::lock_guard<std::mutex> lock(pool().mutex);
    pool().spare.push_back(b);
  }
  return nullptr;
}

/// Completes in a forked child what was in a buffer of the parent.
void complete_in_child() {
  for_each_client([] {
    for (Slot* s : {&pool().device, &pool().shared}) {
      if (!s->mutex.try_lock()) continue;
      Buffer* const b = s->current;
      s->current = nullptr;
      s->mutex.unlock();
      if (b != nullptr) return_buffer(b);
    }
  });
}

Buffer* ask_client() {
  if (on(Scenario::kCompleteAfterFork)) {
    static std::atomic<bool> registered{false};
    if (!registered.exchange(true)) pthread_atfork(nullptr, nullptr, complete_in_child);
  }
  if (!on(Scenario::kRequestReentered)) return call_request();
  auto* const client = reinterpret_cast<void*>(static_cast<std::intptr_t>(current_client()));
  pthread_t thread{};
  const bool second = pthread_create(&thread, nullptr, second_request, client) == 0;
  Buffer* const own = call_request();
  if (second) pthread_join(thread, nullptr);
  return own;
}

void retire(Buffer* full) {
  if (on(Scenario::kCompleteOnAppThread)) {
    return_buffer(full);
    return;
  }
  {
    Pool& p = pool();
    const std::lock_guard<std::mutex> lock(p.mutex);
    p.full.push_back(full);
  }
  wake_worker();
}

Buffer* first_of(std::deque<Buffer*> Pool::*queue) {
  Pool& p = pool();
  const std::lock_guard<std::mutex> lock(p.mutex);
  if ((p.*queue).empty()) return nullptr;
  Buffer* b = (p.*queue).front();
  (p.*queue).pop_front();
  return b;
}

Buffer* next_full() { return first_of(&Pool::full); }
Buffer* next_spare() { return first_of(&Pool::spare); }

Buffer* fresh_buffer() {
  if (Buffer* b = next_spare()) return b;
  return ask_client();
}

/// Installs a new buffer in `slot`; another thread may have been faster.
bool refill(Slot& slot) {
  Buffer* fresh = fresh_buffer();
  if (fresh == nullptr) return false;
  const std::lock_guard<std::mutex> lock(slot.mutex);
  if (slot.current == nullptr) {
    slot.current = fresh;
  } else {
    const std::lock_guard<std::mutex> pool_lock(pool().mutex);
    pool().spare.push_back(fresh);
  }
  return true;
}

/// The name in a kernel record, or null.
char* kernel_name(const Record& r) {
  if (r.kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && r.kind != CUPTI_ACTIVITY_KIND_KERNEL)
    return nullptr;
  char* name = nullptr;
  std::memcpy(&name, r.data + offsetof(CUpti_ActivityKernel10, name), sizeof name);
  return name;
}

void copy_into(Buffer* b, const Record* records, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(b->data + b->used, records[i].data, records[i].bytes);
    b->used += records[i].bytes;
    if (on(Scenario::kNamesFreed) && kernel_name(records[i]) != nullptr)
      b->names.push_back(kernel_name(records[i]));
  }
  b->records += count;
}

bool fits(const Buffer* b, std::size_t bytes, std::size_t count) {
  return b->used + bytes <= b->size &&
         (b->max_records == 0 || b->records + count <= b->max_records);
}

Buffer* take(Slot& slot, bool unused_too) {
  const std::lock_guard<std::mutex> lock(slot.mutex);
  Buffer* b = slot.current;
  if (b == nullptr || (b->used == 0 && !unused_too)) return nullptr;
  slot.current = nullptr;
  return b;
}

void begin_delivery() {
  const std::lock_guard<std::mutex> lock(pool().mutex);
  ++pool().delivering;
  ++t_own[current_client()].delivering;
}

void end_delivery() {
  {
    const std::lock_guard<std::mutex> lock(pool().mutex);
    --pool().delivering;
    --t_own[current_client()].delivering;
  }
  pool().delivered.notify_all();
}

std::vector<Slot*> all_slots() {
  Pool& p = pool();
  const std::lock_guard<std::mutex> lock(p.mutex);
  std::vector<Slot*> slots = p.slots;
  slots.push_back(&p.device);
  slots.push_back(&p.shared);
  return slots;
}

}  // namespace

bool append(BufferOwner owner, const Record* records, std::size_t count) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += records[i].bytes;
  Slot& slot = slot_of(owner);
  for (int attempt = 0; attempt < 16; ++attempt) {
    Buffer* full = nullptr;
    {
      const std::lock_guard<std::mutex> lock(slot.mutex);
      Buffer* b = slot.current;
      if (b != nullptr && fits(b, bytes, count)) {
        copy_into(b, records, count);
        return true;
      }
      full = b;
      slot.current = nullptr;
    }
    if (full != nullptr) retire(full);
    if (!refill(slot)) break;
  }
  state().dropped.fetch_add(count);
  return false;
}

void prepare_device_buffer() {
  Slot& slot = slot_of(BufferOwner::kDevice);
  {
    const std::lock_guard<std::mutex> lock(slot.mutex);
    if (slot.current != nullptr) return;
  }
  refill(slot);
}

void return_full_buffers() {
  begin_delivery();
  while (Buffer* b = next_full()) {
    if (!on(Scenario::kCompleteTwoAtOnce)) {
      return_buffer(b);
      continue;
    }
    complete_pair(b, next_full());
  }
  end_delivery();
}

void wait_for_deliveries() {
  Pool& p = pool();
  std::unique_lock<std::mutex> lock(p.mutex);
  const int own = t_own[current_client()].delivering;
  p.delivered.wait(lock, [&] { return p.delivering == own; });
}

void return_all_buffers(bool unused_too) {
  return_full_buffers();
  for (Slot* s : all_slots())
    if (Buffer* b = take(*s, unused_too)) return_buffer(b);
  if (!unused_too) return;
  while (Buffer* b = next_spare()) return_buffer(b);
}

void discard_buffers() {
  for (Slot* s : all_slots()) take(*s, true);
  while (next_full() != nullptr || next_spare() != nullptr) {
  }
}

}  // namespace gpusim
