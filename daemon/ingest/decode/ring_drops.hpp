// SPDX-License-Identifier: Apache-2.0
//
// The records that each ring buffer dropped: it counts them at once, but reports them (Lost) only
// with its next record.
//
// Context:  daemon (ingest thread)
// Owns:     per ring buffer, how much of its count has been reported or counted as lost
// Promises: each drop is a loss once, whether its ring buffer reports it before a window is cut,
//           afterwards or never; a count from damaged memory is one loss, once
// Not here: the count (wire/ring_buffer.hpp)
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "daemon/ingest/decode/decoder.hpp"
#include "daemon/ingest/decode/loss_counters.hpp"

namespace gpuprof::ingest {

class RingDrops {
 public:
  explicit RingDrops(LossCounters& losses) : losses_(losses) {}

  /// A Lost record of the ring buffer. Times that cannot be are 0.
  void add_reported(const RingInfo& ring, std::uint64_t count, std::uint64_t first_ns,
                    std::uint64_t last_ns) {
    Slot& slot = slot_of(ring);
    const std::uint64_t known = std::min(slot.flushed, count);
    slot.flushed -= known;
    if (count <= kMaxPlausibleCount) slot.reported += count;
    if (known != 0 && first_ns != 0) first_ns = std::max(first_ns, slot.accounted_until_ns);
    slot.accounted_until_ns = std::max(slot.accounted_until_ns, last_ns);
    losses_.add(model::LossReason::kRingFull, ring.tid, count - known, first_ns,
                std::max(first_ns, last_ns));
  }

  /// Its count, at `now_ns`.
  void update_counter(const RingInfo& ring, std::uint64_t dropped, std::uint64_t now_ns) {
    Slot& slot = slot_of(ring);
    if (ring.tid != 0) slot.tid = ring.tid;
    if (slot.damaged || dropped < slot.dropped) return;
    if (dropped > kMaxPlausibleCount) {
      slot.damaged = true;
      return losses_.add(model::LossReason::kRingFull, slot.tid, dropped, 0, 0);
    }
    if (dropped <= slot.reported + slot.flushed)
      slot.accounted_until_ns = now_ns;
    else if (dropped != slot.dropped)
      slot.last_increase_ns = now_ns;
    slot.dropped = dropped;
  }

  /// A file is about to be written: what the ring buffers have not reported yet counts as lost in
  /// it.
  void flush() {
    for (Slot& slot : slots_) flush(slot);
  }

  /// Its thread is gone and reports no more; the ring buffer goes to another, its count continues.
  void on_ring_retired(const RingInfo& ring, std::uint64_t dropped, std::uint64_t now_ns) {
    update_counter(ring, dropped, now_ns);
    Slot& slot = slot_of(ring);
    flush(slot);
    slot.reported += slot.flushed;
    slot.flushed = 0;
  }

 private:
  struct Slot {
    std::uint32_t tid = 0;
    bool damaged = false;
    std::uint64_t dropped = 0;  // as last seen
    std::uint64_t reported = 0, flushed = 0;
    std::uint64_t accounted_until_ns = 0;  // until then nothing is open
    std::uint64_t last_increase_ns = 0;    // the count was last seen to be higher
  };

  Slot& slot_of(const RingInfo& ring) {
    if (ring.index >= slots_.size()) slots_.resize(ring.index + 1);
    return slots_[ring.index];
  }

  void flush(Slot& slot) {
    if (slot.dropped <= slot.reported + slot.flushed) return;
    const std::uint64_t open = slot.dropped - slot.reported - slot.flushed;
    losses_.add(model::LossReason::kRingFull, slot.tid, open, slot.accounted_until_ns,
                slot.last_increase_ns);
    slot.flushed += open;
    slot.accounted_until_ns = slot.last_increase_ns;
  }

  LossCounters& losses_;
  std::vector<Slot> slots_;  // by ring buffer
};

}  // namespace gpuprof::ingest
