// SPDX-License-Identifier: Apache-2.0
//
// The only way records leave the target.
//
// Context:  signal | callback | worker
// Promises: whole record or counted drop; never waits, allocates, locks; errno kept
#pragma once

#include <errno.h>

#include <atomic>
#include <cstdint>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/wire/records.hpp"
#include "inject/hot/thread_block.hpp"

namespace gpuprof::hot {

/// Proof that this thread may record now, in one context. Take one per entry into our code;
/// it tests false when the process is a forked child, no ring buffer is left, or our code is
/// already running in this context on this thread (a callback inside a callback).
class Guard {
 public:
  /// @param delivers  This thread is to pass on records of many threads: it gets a large ring
  ///                  buffer, if this is its first record.
  explicit Guard(RingRole role, bool delivers = false) : saved_errno_(errno) {
    ThreadSlot* slot = t_local.slot;
    if (slot == nullptr || !enter(*slot, role, delivers)) [[unlikely]]
      enter_slow(role, delivers);
  }
  ~Guard() {
    if (mark_ != nullptr) {
      if (producer_->overhead.is_timed()) [[unlikely]]
        producer_->ring.add_overhead_ns(producer_->overhead.end());
      // release; pairs with segment_lifetime.cpp
      mark_->store(0, std::memory_order_release);
    }
    errno = saved_errno_;
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  explicit operator bool() const { return producer_ != nullptr; }
  RingProducer& producer() const { return *producer_; }
  ThreadBlock& block() const { return *block_; }
  std::uint32_t tid() const { return block_->tid; }

 private:
  /// Marks this thread, and takes the ring buffer it has in this session. False: it has none, or is
  /// marked already.
  bool enter(ThreadSlot& slot, RingRole role, bool delivers) {
    std::atomic<std::uint8_t>& mark = slot.inside_flag(role);
    if (mark.load(std::memory_order_relaxed) != 0) return false;
    mark.store(1, std::memory_order_relaxed);
    // For the compiler; the worker's membarrier deals with what the processor reorders
    // (segment_lifetime.cpp).
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (is_owner_process() && slot.epoch.load(std::memory_order_relaxed) ==
                                  g_state.epoch.load(std::memory_order_acquire)) {
      ThreadBlock* block = slot.block;
      RingProducer* producer = block == nullptr ? nullptr : &block->producer_of(role);
      if (producer != nullptr && producer->ring.valid()) {
        if (producer->overhead.is_on()) [[unlikely]]
          producer->overhead.enter(delivers);
        block_ = block;
        producer_ = producer;
        mark_ = &mark;
        return true;
      }
    }
    mark.store(0, std::memory_order_release);
    return false;
  }
  /// The first record of a thread in this session. Where it gets no ring buffer it is counted.
  [[gnu::noinline, gnu::cold]] void enter_slow(RingRole role, bool delivers);
  bool prepare(ThreadSlot& slot, RingRole role, bool delivers);

  ThreadBlock* block_ = nullptr;
  RingProducer* producer_ = nullptr;
  std::atomic<std::uint8_t>* mark_ = nullptr;
  int saved_errno_;
};

/// Pushes one record; a drop is counted by the ring buffer, in Counter::kDroppedRingFull and by
/// kind.
template <typename R>
inline bool record(const Guard& guard, const R& body, std::uint64_t ts_ns) {
  if (guard.producer().ring.push(body, ts_ns)) return true;
  count_drop(R::kKind);
  return false;
}
template <typename R>
inline bool record(const Guard& guard, const R& body, std::uint64_t ts_ns, const void* tail,
                   std::uint32_t tail_bytes) {
  if (guard.producer().ring.push(body, ts_ns, tail, tail_bytes)) return true;
  count_drop(R::kKind);
  return false;
}
/// The same for a record without which others cannot be read (a step mark): it uses the reserve.
template <typename R>
inline bool record_reserved(const Guard& guard, const R& body, std::uint64_t ts_ns) {
  if (guard.producer().ring.push_reserved(body, ts_ns)) return true;
  count_drop(R::kKind);
  return false;
}

/// Sends the definition of a text.
void send_string_def(const Guard& guard, std::uint64_t id, const char* text, std::uint32_t bytes,
                     std::uint64_t ts_ns);

/// Id of a text, sending its definition first if this ring buffer has not seen it.
///
/// @param text  `bytes` bytes, need not end in NUL; sent up to kMaxTextBytes (cut at a UTF-8
/// boundary). Where it finds no room it is sent at its next use.
inline std::uint64_t intern(const Guard& guard, const char* text, std::uint32_t bytes,
                            std::uint64_t ts_ns) {
  const std::uint64_t id = base::hash_bytes(text, bytes);
  RingProducer& producer = guard.producer();
  if (!producer.strings.contains(id, producer.ring.epoch()))
    send_string_def(guard, id, text, bytes, ts_ns);
  return id;
}

/// Sends a stack definition if this ring buffer has not seen `id`.
/// @param tail native program counters then PyFrames, as StackDef says.
void send_stack_def(const Guard& guard, const wire::StackDef& def, const void* tail,
                    std::uint32_t tail_bytes, std::uint64_t ts_ns);

}  // namespace gpuprof::hot
