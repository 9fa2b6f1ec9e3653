// SPDX-License-Identifier: Apache-2.0
//
// The pool of activity buffers: their memory, two lock-free lists, one discard buffer.
//
// Context:  map: worker | boundary, from the heap: worker; acquire, release, owns, owns_or_discard,
//           has_outstanding: callback; zero_used, unmap: worker
// Owns:     the memory, until unmap() finds that CUPTI has returned every buffer
// Promises: acquire never returns null; what it returns is zeroed unless it is the discard buffer
// Not here: what is in a buffer (buffer_callbacks.cpp)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gpuprof::cupti {

inline constexpr std::uint32_t kMaxBuffers = 512;
inline constexpr std::uint32_t kDiscardBytes = 256u << 10;

/// A stack of buffer indexes that several threads push to and pop from.
class IndexStack {
 public:
  void push(std::uint32_t index, std::atomic<std::uint32_t>* next);
  void clear() { top_.store(0, std::memory_order_relaxed); }
  /// kMaxBuffers: empty.
  std::uint32_t pop(std::atomic<std::uint32_t>* next);

 private:
  // Low half: index + 1 of the top, 0 = empty. High half: grows with each change, so that a
  // popped and re-pushed index is not taken for the old one.
  std::atomic<std::uint64_t> top_{0};
};

/// Where buffers lie. CUPTI has one set of buffer callbacks: a client that sets its own without our
/// noticing (found by dlsym in a process we were attached to) receives buffers of ours, and frees
/// them as its own. Those from the heap can be freed.
enum class BufferMemory : std::uint8_t { kMapping, kHeap };

class BufferPool {
 public:
  /// Makes `count` buffers of `bytes` (rounded up to a page), unless they exist; false: no memory.
  bool map(std::uint32_t bytes, std::uint32_t count, BufferMemory memory = BufferMemory::kMapping);
  bool mapped() const { return mapped_.load(std::memory_order_acquire); }

  /// Waits until every buffer is back and no thread is inside, then unmaps. False: not in time;
  /// everything stays as it was.
  bool unmap(std::uint32_t deadline_ms);

  /// A buffer to be filled; the discard buffer when none is left (then `*discard` is set).
  std::uint8_t* acquire(std::size_t* bytes, bool* discard);

  /// Whether a buffer of the pool is out: with CUPTI, or with whoever received it in our place.
  bool has_outstanding() const { return mapped() && out_.load() != 0; }

  /// Whether half of the buffers are with CUPTI: threads that ended keep theirs until a flush.
  bool low() const { return out_.load(std::memory_order_relaxed) * 2 >= count_; }

  /// A buffer comes back with `used` bytes written. Foreign pointers are ignored.
  void release(const std::uint8_t* buffer, std::size_t used);

  /// True for a buffer of the pool, false for the discard buffer and foreign pointers.
  bool owns(const std::uint8_t* buffer) const;
  /// True for the discard buffer, too: what acquire() has returned.
  bool owns_or_discard(const std::uint8_t* buffer) const;

  /// Zeroes the buffers that came back used, so that the application's threads need not.
  void zero_used();

  std::uint32_t buffer_bytes() const { return bytes_; }

 private:
  std::uint8_t* at(std::uint32_t index) const { return at_[index].load(std::memory_order_relaxed); }
  /// kMaxBuffers: not one of ours.
  std::uint32_t index_of(const std::uint8_t* buffer) const;
  bool make_memory(BufferMemory memory);
  void release_memory();

  bool all_back() const;
  std::size_t mapped_bytes() const;

  std::atomic<bool> mapped_{false};
  std::uint8_t* mapping_ = nullptr;  // null: from the heap
  std::atomic<std::uint8_t*> at_[kMaxBuffers] = {};
  std::atomic<std::uint32_t> inside_{0};  // threads in acquire() or release()
  std::atomic<bool> closed_{false};       // nothing is handed out
  std::uint32_t bytes_ = 0;
  std::uint32_t count_ = 0;
  std::atomic<std::uint32_t> out_{0};
  IndexStack clean_, dirty_;
  std::atomic<std::uint32_t> next_[kMaxBuffers] = {};
  std::atomic<std::uint32_t> used_[kMaxBuffers] = {};  // bytes to zero before the next use
};

extern BufferPool g_buffers;

}  // namespace gpuprof::cupti
