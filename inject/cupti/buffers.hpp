// SPDX-License-Identifier: Apache-2.0
//
// The pool of activity buffers: one mapping, two lock-free lists, one buffer to throw away into.
//
// Context:  map: worker | boundary; take, give_back, owns: callback; clean, unmap: worker
// Owns:     the mapping, until unmap() finds that CUPTI has given every buffer back
// Promises: take never returns null; what take returns is zeroed unless it is the discard buffer
// Not here: what is in a buffer (activity.cpp)
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

class BufferPool {
 public:
  /// Maps `count` buffers of `bytes` (rounded up to a page), unless they are; false: no memory.
  bool map(std::uint32_t bytes, std::uint32_t count);
  bool mapped() const { return base_.load(std::memory_order_acquire) != nullptr; }

  /// Waits until every buffer is back and nobody is inside, then unmaps. False: not in time; all
  /// stays as it was.
  bool unmap(std::uint32_t deadline_ms);

  /// A buffer to be filled; the discard buffer when none is left (`*discard` tells).
  std::uint8_t* take(std::size_t* bytes, bool* discard);

  /// Half of the buffers are with CUPTI: threads that ended keep theirs until a flush.
  bool low() const { return out_.load(std::memory_order_relaxed) * 2 >= count_; }

  /// A buffer comes back with `used` bytes written. Foreign pointers are ignored.
  void give_back(const std::uint8_t* buffer, std::size_t used);

  /// True for a buffer of the pool, false for the discard buffer and strangers.
  bool owns(const std::uint8_t* buffer) const;

  /// Zeroes what came back used, so that the application's threads need not.
  void clean();

  std::uint32_t buffer_bytes() const { return bytes_; }

 private:
  std::uint8_t* at(std::uint32_t index) const;

  bool all_back() const;
  std::size_t mapped_bytes() const;

  std::atomic<std::uint8_t*> base_{nullptr};
  std::atomic<std::uint32_t> inside_{0};  // threads in take() or give_back()
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
