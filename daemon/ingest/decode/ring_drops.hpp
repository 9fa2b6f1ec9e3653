// SPDX-License-Identifier: Apache-2.0
//
// What each lane dropped: it counts at once, and tells with its next record only.
//
// Context:  daemon (ingest thread)
// Owns:     per lane, how much of its count is told or booked
// Promises: each drop is a loss once, whether its lane tells of it before a window is cut,
//           afterwards or never; a count from damaged memory is one loss, once
// Not here: the count (wire/ring_buffer.hpp)
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "daemon/ingest/decode/decoder.hpp"
#include "daemon/ingest/decode/loss_counters.hpp"

namespace gpuprof::ingest {

class LaneDrops {
 public:
  explicit LaneDrops(LossBook& losses) : losses_(losses) {}

  /// The lane's own word. Times are 0 where they cannot be.
  void told(const Lane& lane, std::uint64_t count, std::uint64_t first_ns, std::uint64_t last_ns) {
    Slot& slot = slot_of(lane);
    const std::uint64_t known = std::min(slot.booked, count);
    slot.booked -= known;
    if (count <= kMostPlausibleCount) slot.told += count;
    if (known != 0 && first_ns != 0) first_ns = std::max(first_ns, slot.clean_ns);
    slot.clean_ns = std::max(slot.clean_ns, last_ns);
    losses_.add(model::LossReason::kLaneFull, lane.tid, count - known, first_ns,
                std::max(first_ns, last_ns));
  }

  /// Its count, at `now_ns`.
  void seen(const Lane& lane, std::uint64_t dropped, std::uint64_t now_ns) {
    Slot& slot = slot_of(lane);
    if (lane.tid != 0) slot.tid = lane.tid;
    if (slot.damaged || dropped < slot.dropped) return;
    if (dropped > kMostPlausibleCount) {
      slot.damaged = true;
      return losses_.add(model::LossReason::kLaneFull, slot.tid, dropped, 0, 0);
    }
    if (dropped <= slot.told + slot.booked)
      slot.clean_ns = now_ns;
    else if (dropped != slot.dropped)
      slot.risen_ns = now_ns;
    slot.dropped = dropped;
  }

  /// A file is about to be written: what the lanes have not told yet is lost in its time.
  void book() {
    for (Slot& slot : slots_) book(slot);
  }

  /// Its thread is gone and tells no more; the lane goes to another, and its count goes on.
  void ended(const Lane& lane, std::uint64_t dropped, std::uint64_t now_ns) {
    seen(lane, dropped, now_ns);
    Slot& slot = slot_of(lane);
    book(slot);
    slot.told += slot.booked;
    slot.booked = 0;
  }

 private:
  struct Slot {
    std::uint32_t tid = 0;
    bool damaged = false;
    std::uint64_t dropped = 0;  // as last seen
    std::uint64_t told = 0, booked = 0;
    std::uint64_t clean_ns = 0;  // until then nothing is open
    std::uint64_t risen_ns = 0;  // the count was last seen to be higher
  };

  Slot& slot_of(const Lane& lane) {
    if (lane.index >= slots_.size()) slots_.resize(lane.index + 1);
    return slots_[lane.index];
  }

  void book(Slot& slot) {
    if (slot.dropped <= slot.told + slot.booked) return;
    const std::uint64_t open = slot.dropped - slot.told - slot.booked;
    losses_.add(model::LossReason::kLaneFull, slot.tid, open, slot.clean_ns, slot.risen_ns);
    slot.booked += open;
    slot.clean_ns = slot.risen_ns;
  }

  LossBook& losses_;
  std::vector<Slot> slots_;  // by lane
};

}  // namespace gpuprof::ingest
