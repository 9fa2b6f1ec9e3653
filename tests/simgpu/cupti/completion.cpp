// SPDX-License-Identifier: Apache-2.0
//
// The completion callback and its scenarios.
//
// Context:  application threads and the worker
// Owns:     a Buffer passed to it
// Promises: see completion.hpp
// Not here: buffer slots (buffers.cpp)
#include "cupti/completion.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/clock.hpp"
#include "core/config.hpp"
#include "cupti/api/call.hpp"
#include "cupti/clients.hpp"
#include "cupti/layout.hpp"
#include "cupti/state.hpp"

namespace gpusim {
namespace {

/// The buffer that complete-after-shutdown keeps.
struct Kept {
  std::atomic<Buffer*> buffer{nullptr};
};

/// Rearranges the records of a buffer with a fixed pseudo-random order.
void shuffle(Buffer* b) {
  std::vector<std::pair<std::size_t, std::size_t>> records;
  for (std::size_t at = 0; at < b->used;) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, b->data + at, sizeof kind);
    const std::size_t n = record_size(kind);
    if (n == 0) return;  // an unknown record: leave the buffer alone
    records.emplace_back(at, n);
    at += n;
  }
  std::uint64_t seed = 88172645463325252ull + b->used;
  for (std::size_t i = records.size(); i > 1; --i) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    std::swap(records[i - 1], records[seed % i]);
  }
  std::vector<std::uint8_t> mixed;
  mixed.reserve(b->used);
  for (const auto& [at, n] : records) mixed.insert(mixed.end(), b->data + at, b->data + at + n);
  std::memcpy(b->data, mixed.data(), mixed.size());
}

void call_completed(std::uint8_t* data, std::size_t size, std::size_t used) {
  State& s = state();
  const auto completed = s.completed.load();
  log_callback("bufferCompleted", data, size, used);
  if (completed == nullptr) return;
  std::unique_lock<std::mutex> abba(s.abba, std::defer_lock);
  if (on(Scenario::kAbba)) abba.lock();
  completed(nullptr, 0, data, size, used);
}

/// An extra completion with nothing in it, as a flush of an unused buffer gives.
void complete_empty() {
  const auto request = state().request.load();
  std::uint8_t* data = nullptr;
  std::size_t size = 0, most = 0;
  if (request != nullptr) request(&data, &size, &most);
  if (data != nullptr) call_completed(data, size, 0);
}

void deliver(Buffer* b) {
  const ClientScope scope(b->client);
  call_completed(b->data, b->size, b->used);
  for (char* name : b->names) {
    std::memset(name, '#', std::strlen(name));
    std::free(name);
  }
  delete b;
}

void* deliver_thread(void* argument) {
  deliver(static_cast<Buffer*>(argument));
  return nullptr;
}

void* late_thread(void* argument) {
  wait_until(now_ns() +
             static_cast<std::uint64_t>(gpusim::argument(Scenario::kCompleteAfterShutdown)) *
                 1000000u);
  deliver(static_cast<Buffer*>(argument));
  return nullptr;
}

void* endless_thread(void* client) {
  const ClientScope scope(static_cast<int>(reinterpret_cast<std::intptr_t>(client)));
  for (;;) {
    complete_empty();
    wait_until(now_ns() +
               static_cast<std::uint64_t>(argument(Scenario::kRequestDuringExit)) * 1000000u);
  }
  return nullptr;
}

bool on_new_thread(Buffer* b) {
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, deliver_thread, b) != 0) return false;
  pthread_join(thread, nullptr);
  return true;
}

}  // namespace

void return_buffer(Buffer* buffer) {
  if (on(Scenario::kShuffled)) shuffle(buffer);
  if (on(Scenario::kEmptyBuffer)) complete_empty();
  if (on(Scenario::kCompleteAfterShutdown)) {
    Buffer* none = nullptr;
    if (of_client<Kept>().buffer.compare_exchange_strong(none, buffer)) return;
  }
  if (on(Scenario::kCompleteOnNewThread) && on_new_thread(buffer)) return;
  deliver(buffer);
}

void complete_pair(Buffer* first, Buffer* second) {
  if (second == nullptr) {
    return_buffer(first);
    return;
  }
  pthread_t thread{};
  const bool started = pthread_create(&thread, nullptr, deliver_thread, first) == 0;
  deliver(second);
  if (started)
    pthread_join(thread, nullptr);
  else
    deliver(first);
}

void after_shutdown() {
  Buffer* kept = of_client<Kept>().buffer.exchange(nullptr);
  if (kept == nullptr) return;
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, late_thread, kept) == 0) pthread_detach(thread);
}

void start_endless_requests() {
  auto* const client = reinterpret_cast<void*>(static_cast<std::intptr_t>(current_client()));
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, endless_thread, client) == 0) pthread_detach(thread);
}

}  // namespace gpusim
