// SPDX-License-Identifier: Apache-2.0
//
// Which ring buffers to read, and what becomes of them afterwards.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/decode/decoder.hpp"

#include <algorithm>

namespace gpuprof::ingest {

Decoder::Decoder(const SharedSegment& segment) : segment_(&segment), rings_(segment.ring_count()) {
  for (std::uint32_t i = 0; i < rings_.size(); ++i) rings_[i].ring.index = i;
}

bool Decoder::begin_ring(std::uint32_t index) {
  Slot& slot = rings_[index];
  wire::RingEntry& entry = segment_->entry(index);
  // acquire; pairs with the target's release when it claims or retires the ring buffer. Read before
  // published(): what a retired ring buffer's owner pushed is then all there.
  const auto state = static_cast<wire::RingState>(entry.state.load(std::memory_order_acquire));
  if (state == wire::RingState::kFree || slot.corrupt) return false;
  if (!slot.used) {
    slot.used = true;
    slot.reader = wire::RingReader(segment_->ring_header(index), segment_->ring_data(index),
                                   segment_->capacity(index));
  }
  slot.retired = state == wire::RingState::kRetired;
  slot.limit = slot.reader.head_position();
  slot.ring.role = entry.role.load(std::memory_order_relaxed);
  if (slot.ring.tid == 0) slot.ring.tid = entry.tid.load(std::memory_order_relaxed);
  // What the target wrote there may be any number.
  const std::uint64_t bytes =
      std::min(slot.limit - slot.reader.position(), segment_->capacity(index));
  fullest_percent_ = std::max(fullest_percent_, bytes * 100 / segment_->capacity(index));
  return slot.retired || slot.limit != slot.reader.position();
}

// The position is kept as it is: the target sees a full ring buffer and counts its drops itself.
void Decoder::abandon(Slot& slot) {
  slot.corrupt = true;
  ++counts_.corrupt_rings;
}

void Decoder::end_ring(Slot& slot) {
  slot.reader.consume();
  if (!slot.retired) return;
  slot.ring.tid = 0;
  ++counts_.freed_rings;
  wire::RingEntry& entry = segment_->entry(slot.ring.index);
  auto expected = static_cast<std::uint32_t>(wire::RingState::kRetired);
  entry.state.compare_exchange_strong(expected, static_cast<std::uint32_t>(wire::RingState::kFree),
                                      std::memory_order_release, std::memory_order_relaxed);
}

std::uint64_t Decoder::dropped_by(const Slot& slot) const {
  return segment_->ring_header(slot.ring.index)->dropped.load(std::memory_order_relaxed);
}

}  // namespace gpuprof::ingest
