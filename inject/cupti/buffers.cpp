// SPDX-License-Identifier: Apache-2.0
//
// The pool's lists.
//
// Context:  callback
// Owns:     nothing (see the header)
#include "inject/cupti/buffers.hpp"

#include <sys/mman.h>

#include <cstring>

#include "gpuprof/base/bytes.hpp"

namespace gpuprof::cupti {

constinit BufferPool g_buffers;

void IndexStack::push(std::uint32_t index, std::atomic<std::uint32_t>* next) {
  std::uint64_t top = top_.load(std::memory_order_relaxed);
  std::uint64_t wanted;
  do {
    next[index].store(static_cast<std::uint32_t>(top), std::memory_order_relaxed);
    wanted = ((top >> 32) + 1) << 32 | (index + 1);
    // release: pairs with the acquire in pop, so that next_ and the buffer's bytes are seen.
  } while (!top_.compare_exchange_weak(top, wanted, std::memory_order_release,
                                       std::memory_order_relaxed));
}

std::uint32_t IndexStack::pop(std::atomic<std::uint32_t>* next) {
  std::uint64_t top = top_.load(std::memory_order_acquire);
  std::uint64_t wanted;
  do {
    const auto index_plus_one = static_cast<std::uint32_t>(top);
    if (index_plus_one == 0) return kMaxBuffers;
    wanted = ((top >> 32) + 1) << 32 | next[index_plus_one - 1].load(std::memory_order_relaxed);
  } while (!top_.compare_exchange_weak(top, wanted, std::memory_order_acquire,
                                       std::memory_order_acquire));
  return static_cast<std::uint32_t>(top) - 1;
}

bool BufferPool::map(std::uint32_t bytes, std::uint32_t count) {
  if (mapped()) return true;
  bytes_ = static_cast<std::uint32_t>(base::align_up(bytes, 4096));
  count_ = count < kMaxBuffers ? count : kMaxBuffers;
  const std::size_t total = std::size_t{bytes_} * count_ + kDiscardBytes;
  void* memory = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  for (std::uint32_t i = count_; i-- > 0;) clean_.push(i, next_);
  base_.store(static_cast<std::uint8_t*>(memory), std::memory_order_release);
  return true;
}

std::uint8_t* BufferPool::at(std::uint32_t index) const {
  return base_.load(std::memory_order_relaxed) + std::size_t{bytes_} * index;
}

bool BufferPool::owns(const std::uint8_t* buffer) const {
  const std::uint8_t* base = base_.load(std::memory_order_acquire);
  return base != nullptr && buffer >= base && buffer < base + std::size_t{bytes_} * count_ &&
         static_cast<std::size_t>(buffer - base) % bytes_ == 0;
}

std::uint8_t* BufferPool::take(std::size_t* bytes, bool* discard) {
  *discard = false;
  *bytes = bytes_;
  std::uint32_t index = clean_.pop(next_);
  if (index == kMaxBuffers) {
    index = dirty_.pop(next_);
    if (index != kMaxBuffers)
      std::memset(at(index), 0, used_[index].exchange(0, std::memory_order_relaxed));
  }
  if (index != kMaxBuffers) {
    out_.fetch_add(1, std::memory_order_relaxed);
    return at(index);
  }
  *discard = true;
  *bytes = kDiscardBytes;
  return at(count_);
}

void BufferPool::give_back(const std::uint8_t* buffer, std::size_t used) {
  if (!owns(buffer)) return;
  const auto index = static_cast<std::uint32_t>(
      static_cast<std::size_t>(buffer - base_.load(std::memory_order_relaxed)) / bytes_);
  const auto dirty = static_cast<std::uint32_t>(used < bytes_ ? used : bytes_);
  used_[index].store(dirty, std::memory_order_relaxed);
  (dirty == 0 ? clean_ : dirty_).push(index, next_);
  out_.fetch_sub(1, std::memory_order_relaxed);
}

void BufferPool::clean() {
  for (std::uint32_t n = 0; n < count_; ++n) {
    const std::uint32_t index = dirty_.pop(next_);
    if (index == kMaxBuffers) return;
    std::memset(at(index), 0, used_[index].exchange(0, std::memory_order_relaxed));
    clean_.push(index, next_);
  }
}

}  // namespace gpuprof::cupti
