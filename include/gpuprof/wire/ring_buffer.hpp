// SPDX-License-Identifier: Apache-2.0
//
// A ring buffer: single-producer single-consumer byte ring in shared memory, whole frames only.
//
// Context:  RingWriter: signal | callback | worker (its owner only); RingReader: daemon
// Owns:     nothing: both ends borrow the mapping
// Promises: push never waits, locks or allocates; a frame is in the ring buffer whole or not at
//           all; push_reserved finds room where push finds none; the reader copies before it checks
//           and survives any bytes a hostile writer leaves
// Not here: who may own a ring buffer (segment.hpp)
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "gpuprof/wire/codec.hpp"

namespace gpuprof::wire {

/// Shared part of a ring buffer. Positions grow for ever; index = position & (capacity - 1).
struct RingHeader {
  // Written by the producer.
  alignas(64) std::atomic<std::uint64_t> head;  // release; pairs with the reader's acquire
  std::atomic<std::uint64_t> dropped;           // records that did not fit, ever
  std::atomic<std::uint64_t> pushed;            // records that did, ever
  // Time its thread spent in our code that writes here, if Config requests it; continues with the
  // next thread that has the ring buffer.
  std::atomic<std::uint64_t> overhead_ns;
  // Written by the consumer.
  alignas(64) std::atomic<std::uint64_t> tail;  // release; pairs with the writer's acquire
};
static_assert(sizeof(RingHeader) == 128);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// One piece of a record's tail.
struct TailPart {
  const void* data = nullptr;
  std::uint32_t bytes = 0;
};

/// The target's end. One thread, one context.
class RingWriter {
 public:
  RingWriter() = default;
  RingWriter(RingHeader* header, std::byte* ring, std::uint64_t capacity_bytes,
             std::uint32_t first_epoch = 1)
      : header_(header),
        data_(ring),
        capacity_(capacity_bytes),
        unreserved_capacity_(capacity_bytes -
                             std::min(capacity_bytes / kReservedShare, kMaxReservedBytes)),
        head_(header->head.load(std::memory_order_relaxed)),
        cached_tail_(header->tail.load(std::memory_order_acquire)),
        epoch_(first_epoch) {}

  bool valid() const { return header_ != nullptr; }

  /// What was sent through this ring buffer is not sent again while this stays the same; no ring
  /// buffer has 0.
  std::uint32_t epoch() const { return epoch_; }

  /// Records dropped so far, modulo 2^32. Whoever sends several records that depend on each other
  /// compares it.
  std::uint32_t drop_count() const { return drops_; }

  /// Only if valid().
  std::uint64_t capacity_bytes() const { return capacity_; }
  std::uint64_t unread_bytes() const {
    return head_ - header_->tail.load(std::memory_order_acquire);
  }

  /// Pushes one record whole, or counts one drop.
  ///
  /// @param body  The record struct. @param tail bytes that follow it, may be null if 0.
  /// @return      false if dropped.
  /// Units: ts_ns is CLOCK_MONOTONIC, used only for the Lost record.
  bool push_raw(Kind kind, const void* body, std::uint32_t body_bytes, const void* tail,
                std::uint32_t tail_bytes, std::uint64_t ts_ns) {
    const TailPart part{tail, tail_bytes};
    return push_raw_parts(kind, body, body_bytes, &part, 1, ts_ns);
  }

  /// For the few records without which others cannot be read (step marks): a share of the ring
  /// buffer is reserved for them. What was lost before one of them may be reported after it.
  template <typename R>
  bool push_reserved(const R& record, std::uint64_t ts_ns) {
    if (lost_count_ != 0) push_lost();
    return put(capacity_, R::kKind, &record, sizeof record, nullptr, 0) || drop(ts_ns);
  }

  /// As push_raw, with a tail made of several pieces, which need not be copied together first.
  bool push_raw_parts(Kind kind, const void* body, std::uint32_t body_bytes, const TailPart* parts,
                      std::uint32_t part_count, std::uint64_t ts_ns) {
    if (lost_count_ != 0 && !push_lost()) return drop(ts_ns);
    return put(unreserved_capacity_, kind, body, body_bytes, parts, part_count) || drop(ts_ns);
  }

  template <typename R>
  bool push(const R& record, std::uint64_t ts_ns, const void* tail, std::uint32_t tail_bytes) {
    return push_raw(R::kKind, &record, sizeof record, tail, tail_bytes, ts_ns);
  }

  /// The same without a tail. In nearly all cases the record is constructed in place, where it will
  /// be read.
  template <typename R>
  bool push(const R& record, std::uint64_t ts_ns) {
    static_assert(std::is_trivially_copyable_v<R> && alignof(R) <= 8);
    constexpr std::uint32_t kLength = frame_bytes(sizeof(R), 0);
    const std::uint64_t at = head_ & (capacity_ - 1);
    if (lost_count_ != 0 || capacity_ - at < kLength ||
        head_ - cached_tail_ + kLength > unreserved_capacity_)
      return push_raw(R::kKind, &record, sizeof record, nullptr, 0, ts_ns);
    std::byte* to = data_ + at;
    new (to) FrameHeader{kLength, static_cast<std::uint16_t>(R::kKind),
                         static_cast<std::uint16_t>(kLength - sizeof(FrameHeader) - sizeof(R))};
    new (to + sizeof(FrameHeader)) R(record);
    publish(kLength);
    return true;
  }

  /// Adds to RingHeader::overhead_ns. Only if valid().
  void add_overhead_ns(std::uint64_t ns) {
    header_->overhead_ns.store(header_->overhead_ns.load(std::memory_order_relaxed) + ns,
                               std::memory_order_relaxed);
  }

  template <typename R, std::uint32_t kParts>
  bool push_parts(const R& record, std::uint64_t ts_ns, const TailPart (&parts)[kParts]) {
    return push_raw_parts(R::kKind, &record, sizeof record, parts, kParts, ts_ns);
  }

 private:
  // A counted step takes 112 bytes: an iteration's begin, its optimizer, the step. In a ring buffer
  // of one mebibyte, the reserve holds more than two thousand steps: with steps of half a
  // millisecond, the daemon may be stopped for a second or more.
  static constexpr std::uint64_t kReservedShare = 4, kMaxReservedBytes = 256u << 10;

  bool drop(std::uint64_t ts_ns) {
    if (lost_count_ == 0) lost_first_ns_ = ts_ns;
    lost_last_ns_ = ts_ns;
    ++lost_count_;
    ++drops_;
    header_->dropped.store(header_->dropped.load(std::memory_order_relaxed) + 1,
                           std::memory_order_relaxed);
    return false;
  }

  bool push_lost() {
    const Lost lost{lost_count_, lost_first_ns_, lost_last_ns_};
    if (!put(unreserved_capacity_, Lost::kKind, &lost, sizeof lost, nullptr, 0)) return false;
    lost_count_ = 0;
    return true;
  }

  bool put(std::uint64_t room, Kind kind, const void* body, std::uint32_t body_bytes,
           const TailPart* parts, std::uint32_t part_count) {
    std::uint32_t tail_bytes = 0;
    for (std::uint32_t i = 0; i < part_count; ++i) tail_bytes += parts[i].bytes;
    const std::uint32_t length = frame_bytes(body_bytes, tail_bytes);
    const std::uint64_t at = head_ & (capacity_ - 1);
    const std::uint64_t to_end = capacity_ - at;
    const std::uint64_t pad = to_end < length ? to_end : 0;
    if (length > kMaxFrameBytes || !has_room(pad + length, room)) return false;
    if (pad != 0) {
      const FrameHeader filler{static_cast<std::uint32_t>(pad),
                               static_cast<std::uint16_t>(Kind::kPad), 0};
      std::memcpy(data_ + at, &filler, sizeof filler);
      head_ += pad;
    }
    std::byte* to = data_ + (head_ & (capacity_ - 1));
    const FrameHeader header{
        length, static_cast<std::uint16_t>(kind),
        static_cast<std::uint16_t>(length - sizeof(FrameHeader) - body_bytes - tail_bytes)};
    std::memcpy(to, &header, sizeof header);
    std::memcpy(to + sizeof header, body, body_bytes);
    to += sizeof header + body_bytes;
    for (std::uint32_t i = 0; i < part_count; ++i) {
      if (parts[i].bytes != 0) std::memcpy(to, parts[i].data, parts[i].bytes);
      to += parts[i].bytes;
    }
    publish(length);
    return true;
  }

  void publish(std::uint32_t length) {
    head_ += length;
    header_->pushed.store(header_->pushed.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
    header_->head.store(head_, std::memory_order_release);  // pairs with RingReader::next
  }

  bool has_room(std::uint64_t bytes, std::uint64_t room) {
    if (head_ - cached_tail_ + bytes <= room) return true;
    const std::uint64_t tail = header_->tail.load(std::memory_order_acquire);
    // An impossible tail is no reason to overwrite unread records.
    if (tail > head_ || head_ - tail > capacity_) return false;
    cached_tail_ = tail;
    return head_ - cached_tail_ + bytes <= room;
  }

  RingHeader* header_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t capacity_ = 0;             // power of two
  std::uint64_t unreserved_capacity_ = 0;  // of it, for records pushed without the reserve
  std::uint64_t head_ = 0;
  std::uint64_t cached_tail_ = 0;
  std::uint64_t lost_count_ = 0, lost_first_ns_ = 0, lost_last_ns_ = 0;
  std::uint32_t epoch_ = 1;
  std::uint32_t drops_ = 0;
};

/// The daemon's end. Never trusts what it reads.
class RingReader {
 public:
  RingReader() = default;
  RingReader(RingHeader* header, const std::byte* ring, std::uint64_t capacity_bytes)
      : header_(header), ring_(ring), capacity_(capacity_bytes) {
    tail_ = header->tail.load(std::memory_order_relaxed);
  }

  struct Frame {
    Kind kind;
    std::uint32_t payload_bytes;  // without header and padding
    const std::byte* payload;     // in the caller's scratch buffer
  };
  enum class Next { kFrame, kEmpty, kCorrupt };

  /// How far the producer has published at this moment; next() stops there.
  std::uint64_t head_position() const { return header_->head.load(std::memory_order_acquire); }

  /// Copies the next frame out, then checks it.
  ///
  /// @param limit   A value of head_position().
  /// @param scratch At least kMaxFrameBytes, 8-aligned.
  /// @return kCorrupt: the ring buffer can no longer be followed; skip_to(limit) gives up on its
  /// content.
  Next next(std::uint64_t limit, std::byte* scratch, Frame* frame) {
    while (tail_ != limit) {
      const std::uint64_t available = limit - tail_;
      if (limit < tail_ || available > capacity_ || available < sizeof(FrameHeader))
        return Next::kCorrupt;
      const std::uint64_t at = tail_ & (capacity_ - 1);
      FrameHeader header;
      std::memcpy(&header, ring_ + at, sizeof header);
      const std::uint64_t to_end = capacity_ - at;
      if (header.length < sizeof header || header.length % 8 != 0 || header.length > available ||
          header.length > to_end)
        return Next::kCorrupt;
      if (header.kind == static_cast<std::uint16_t>(Kind::kPad)) {
        tail_ += header.length;
        continue;
      }
      if (header.length > kMaxFrameBytes || header.tail_pad > 7 ||
          header.tail_pad > header.length - sizeof header)
        return Next::kCorrupt;
      const auto payload =
          static_cast<std::uint32_t>(header.length - sizeof header - header.tail_pad);
      std::memcpy(scratch, ring_ + at + sizeof header, payload);
      tail_ += header.length;
      *frame = Frame{static_cast<Kind>(header.kind), payload, scratch};
      return Next::kFrame;
    }
    return Next::kEmpty;
  }

  /// Returns the space of what was read to the producer.
  void consume() { header_->tail.store(tail_, std::memory_order_release); }

  /// Drops everything up to `position`.
  void skip_to(std::uint64_t position) { tail_ = position; }

  std::uint64_t position() const { return tail_; }

 private:
  RingHeader* header_ = nullptr;
  const std::byte* ring_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t tail_ = 0;
};

}  // namespace gpuprof::wire
