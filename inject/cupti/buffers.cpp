// SPDX-License-Identifier: Apache-2.0
//
// The pool's lists.
//
// Context:  callback
// Owns:     nothing (see the header)
#include "inject/cupti/buffers.hpp"

#include <sys/mman.h>
#include <time.h>

#include <cstring>

#include "gpuprof/base/bytes.hpp"

namespace gpuprof::cupti {

constinit BufferPool g_buffers;

namespace {

// In the library's own memory, untouched until it is needed: valid with no pool, too.
alignas(4096) constinit std::uint8_t g_discard[kDiscardBytes] = {};

// seq_cst; pairs with unmap(), which closes first and then looks who is inside.
class Inside {
 public:
  explicit Inside(std::atomic<std::uint32_t>& count) : count_(count) { count_.fetch_add(1); }
  ~Inside() { count_.fetch_sub(1); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

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

// A pool of none is one, too: it has nothing but the discard buffer.
std::size_t BufferPool::mapped_bytes() const {
  return count_ == 0 ? 4096 : std::size_t{bytes_} * count_;
}

bool BufferPool::map(std::uint32_t bytes, std::uint32_t count) {
  if (mapped()) return true;
  bytes_ = static_cast<std::uint32_t>(base::align_up(bytes, 4096));
  count_ = count < kMaxBuffers ? count : kMaxBuffers;
  void* memory = mmap(nullptr, mapped_bytes(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  clean_.clear();
  dirty_.clear();
  for (std::uint32_t i = 0; i < count_; ++i) used_[i].store(0, std::memory_order_relaxed);
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
  const Inside here(inside_);
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

void BufferPool::give_back(const std::uint8_t* buffer, std::size_t used) {
  const Inside here(inside_);
  if (!owns(buffer)) return;
  const auto index = static_cast<std::uint32_t>(
      static_cast<std::size_t>(buffer - base_.load(std::memory_order_relaxed)) / bytes_);
  const auto dirty = static_cast<std::uint32_t>(used < bytes_ ? used : bytes_);
  used_[index].store(dirty, std::memory_order_relaxed);
  (dirty == 0 ? clean_ : dirty_).push(index, next_);
  out_.fetch_sub(1, std::memory_order_relaxed);
}

bool BufferPool::all_back() const { return inside_.load() == 0 && out_.load() == 0; }

bool BufferPool::unmap(std::uint32_t deadline_ms) {
  if (!mapped()) return true;
  closed_.store(true);
  for (std::uint32_t waited = 0; !all_back() && waited < deadline_ms; ++waited) {
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  const bool back = all_back();
  if (back) {
    std::uint8_t* memory = base_.exchange(nullptr);
    munmap(memory, mapped_bytes());
  }
  closed_.store(false);
  return back;
}

void BufferPool::clean() {
  const Inside here(inside_);
  if (!mapped() || closed_.load()) return;
  for (std::uint32_t n = 0; n < count_; ++n) {
    const std::uint32_t index = dirty_.pop(next_);
    if (index == kMaxBuffers) return;
    std::memset(at(index), 0, used_[index].exchange(0, std::memory_order_relaxed));
    clean_.push(index, next_);
  }
}

}  // namespace gpuprof::cupti
