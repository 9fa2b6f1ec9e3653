// SPDX-License-Identifier: Apache-2.0
//
// Reads the ring buffers of one segment: untrusted bytes in, typed records out.
//
// Context:  daemon (ingest thread)
// Owns:     the read positions of all ring buffers and one scratch frame
// Promises: one call of drain() takes at most what was published when it looked at a ring buffer,
//           so a target that never stops writing cannot hold the daemon; a ring buffer whose bytes
//           make no sense is given up and counted, the others go on
// Not here: what records mean (assembler.hpp)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/ingest/decode/shared_segment.hpp"
#include "gpuprof/wire/codec.hpp"

namespace gpuprof::ingest {

/// Where a record came from.
struct RingInfo {
  std::uint32_t index = 0;
  std::uint32_t tid = 0;   // as its owner said in RingOpen, else as the directory says
  std::uint32_t role = 0;  // wire::RingRole
};

/// Bytes after a record's body; borrowed for the call.
struct Tail {
  const std::byte* data;
  std::size_t bytes;
};

struct DecoderCounts {
  std::uint64_t records = 0, bytes = 0;
  std::uint64_t unknown_kind = 0, malformed = 0;
  std::uint64_t corrupt_rings = 0, freed_rings = 0;
};

class Decoder {
 public:
  explicit Decoder(const SharedSegment& segment);

  /// Takes everything published, calls `sink.on(ring, record, tail)` for each record in the order
  /// of its ring buffer, and frees retired ring buffers that are empty, after calling
  /// `sink.on_ring_retired(ring, dropped)` where the sink has that.
  ///
  /// @return Records taken.
  template <typename Sink>
  std::uint64_t drain(Sink& sink) {
    const std::uint64_t before = counts_.records;
    fullest_percent_ = 0;
    for (std::uint32_t i = 0; i < rings_.size(); ++i)
      if (begin_ring(i)) drain_ring(rings_[i], sink);
    return counts_.records - before;
  }

  const DecoderCounts& counts() const { return counts_; }

  /// How full the fullest ring buffer was when the last drain came to it, 0 to 100.
  std::uint64_t fullest_percent() const { return fullest_percent_; }

  /// Calls `sink.on_ring_dropped(ring, count)` with what each ring buffer in use says it dropped,
  /// ever.
  template <typename Sink>
  void report_drops(Sink& sink) const {
    for (const Slot& slot : rings_)
      if (slot.used) sink.on_ring_dropped(slot.ring, dropped_by(slot));
  }

 private:
  static constexpr std::uint64_t kReleaseBytes = 16 << 10;
  struct Slot {
    wire::RingReader reader;
    RingInfo ring;
    std::uint64_t limit = 0;
    bool used = false, corrupt = false, retired = false;
  };

  bool begin_ring(std::uint32_t index);
  void abandon(Slot& slot);
  void end_ring(Slot& slot);
  std::uint64_t dropped_by(const Slot& slot) const;

  template <typename Sink>
  void drain_ring(Slot& slot, Sink& sink) {
    wire::RingReader::Frame frame;
    std::uint64_t released = slot.reader.position();
    for (;;) {
      const auto next = slot.reader.next(slot.limit, scratch_.data(), &frame);
      if (next == wire::RingReader::Next::kEmpty) break;
      if (next == wire::RingReader::Next::kCorrupt) return abandon(slot);
      ++counts_.records;
      counts_.bytes += frame.payload_bytes;
      deliver(slot, frame, sink);
      // A full ring buffer takes a millisecond or two, in which its owner pushes on.
      if (slot.reader.position() - released < kReleaseBytes) continue;
      slot.reader.consume();
      released = slot.reader.position();
    }
    if constexpr (requires { sink.on_ring_retired(slot.ring, std::uint64_t{}); })
      if (slot.retired) sink.on_ring_retired(slot.ring, dropped_by(slot));
    end_ring(slot);
  }

  template <typename Sink>
  void deliver(Slot& slot, const wire::RingReader::Frame& frame, Sink& sink) {
    const auto decoded = wire::visit_record(
        frame.kind, frame.payload, frame.payload_bytes,
        [&](const auto& record, const std::byte* tail, std::size_t bytes) {
          if constexpr (std::is_same_v<std::decay_t<decltype(record)>, wire::RingOpen>)
            slot.ring.tid = record.tid;
          sink.on(slot.ring, record, Tail{tail, bytes});
        });
    if (decoded == wire::Decoded::kUnknownKind) ++counts_.unknown_kind;
    if (decoded == wire::Decoded::kMalformed) ++counts_.malformed;
  }

  const SharedSegment* segment_;
  std::vector<Slot> rings_;
  DecoderCounts counts_;
  std::uint64_t fullest_percent_ = 0;
  alignas(8) std::array<std::byte, wire::kMaxFrameBytes> scratch_;
};

}  // namespace gpuprof::ingest
