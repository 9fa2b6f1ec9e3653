// SPDX-License-Identifier: Apache-2.0
//
// The pool's lists.
//
// Context:  callback
// Owns:     nothing (see the header)
#include "inject/cupti/activity/buffer_pool.hpp"

#include <cstring>

namespace gpuprof::cupti {

constinit BufferPool g_buffers;

namespace {

// In the library's own memory, untouched until it is needed: valid with no pool, too.
alignas(4096) constinit std::uint8_t g_discard[kDiscardBytes] = {};

// seq_cst; pairs with unmap(), which closes first and then looks who is inside.
class InsideCount {
 public:
  explicit InsideCount(std::atomic<std::uint32_t>& count) : count_(count) { count_.fetch_add(1); }
  ~InsideCount() { count_.fetch_sub(1); }
  InsideCount(const InsideCount&) = delete;
  InsideCount& operator=(const InsideCount&) = delete;

 private:
  std::atomic<std::uint32_t>& count_;
};

}  // namespace

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

std::uint32_t BufferPool::index_of(const std::uint8_t* buffer) const {
  if (!mapped() || buffer == nullptr) return kMaxBuffers;
  for (std::uint32_t i = 0; i < count_; ++i)
    if (at(i) == buffer) return i;
  return kMaxBuffers;
}

bool BufferPool::owns(const std::uint8_t* buffer) const { return index_of(buffer) != kMaxBuffers; }

bool BufferPool::owns_or_discard(const std::uint8_t* buffer) const {
  return buffer == g_discard || owns(buffer);
}

std::uint8_t* BufferPool::acquire(std::size_t* bytes, bool* discard) {
  const InsideCount here(inside_);
  const bool open = mapped() && !closed_.load();
  *discard = false;
  *bytes = bytes_;
  std::uint32_t index = open ? clean_.pop(next_) : kMaxBuffers;
  if (open && index == kMaxBuffers) {
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
  return g_discard;
}

void BufferPool::release(const std::uint8_t* buffer, std::size_t used) {
  const InsideCount here(inside_);
  const std::uint32_t index = index_of(buffer);
  if (index == kMaxBuffers) return;
  const auto dirty = static_cast<std::uint32_t>(used < bytes_ ? used : bytes_);
  used_[index].store(dirty, std::memory_order_relaxed);
  (dirty == 0 ? clean_ : dirty_).push(index, next_);
  out_.fetch_sub(1, std::memory_order_relaxed);
}

void BufferPool::zero_used() {
  const InsideCount here(inside_);
  if (!mapped() || closed_.load()) return;
  for (std::uint32_t n = 0; n < count_; ++n) {
    const std::uint32_t index = dirty_.pop(next_);
    if (index == kMaxBuffers) return;
    std::memset(at(index), 0, used_[index].exchange(0, std::memory_order_relaxed));
    clean_.push(index, next_);
  }
}

}  // namespace gpuprof::cupti
