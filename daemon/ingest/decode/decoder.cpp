// SPDX-License-Identifier: Apache-2.0
//
// Which lanes to read, and what becomes of them afterwards.
//
// Context:  daemon (ingest thread)
// Owns:     see decoder.hpp
#include "daemon/ingest/decode/decoder.hpp"

#include <algorithm>

namespace gpuprof::ingest {

Decoder::Decoder(const SegmentHost& segment) : segment_(&segment), lanes_(segment.lane_count()) {
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) lanes_[i].lane.index = i;
}

bool Decoder::begin_lane(std::uint32_t index) {
  Slot& slot = lanes_[index];
  wire::LaneEntry& entry = segment_->entry(index);
  // acquire; pairs with the target's release when it claims or retires the lane. Read before
  // published(): what a retired lane's owner pushed is then all there.
  const auto state = static_cast<wire::LaneState>(entry.state.load(std::memory_order_acquire));
  if (state == wire::LaneState::kFree || slot.corrupt) return false;
  if (!slot.used) {
    slot.used = true;
    slot.reader = wire::LaneReader(segment_->lane_header(index), segment_->ring(index),
                                   segment_->capacity(index));
  }
  slot.retired = state == wire::LaneState::kRetired;
  slot.limit = slot.reader.published();
  slot.lane.role = entry.role.load(std::memory_order_relaxed);
  if (slot.lane.tid == 0) slot.lane.tid = entry.tid.load(std::memory_order_relaxed);
  // What the target wrote there may be any number.
  const std::uint64_t bytes =
      std::min(slot.limit - slot.reader.position(), segment_->capacity(index));
  fullest_percent_ = std::max(fullest_percent_, bytes * 100 / segment_->capacity(index));
  return slot.retired || slot.limit != slot.reader.position();
}

// The position is kept as it is: the target sees a full lane and counts its drops itself.
void Decoder::give_up(Slot& slot) {
  slot.corrupt = true;
  ++counts_.corrupt_lanes;
}

void Decoder::end_lane(Slot& slot) {
  slot.reader.release();
  if (!slot.retired) return;
  slot.lane.tid = 0;
  ++counts_.freed_lanes;
  wire::LaneEntry& entry = segment_->entry(slot.lane.index);
  auto expected = static_cast<std::uint32_t>(wire::LaneState::kRetired);
  entry.state.compare_exchange_strong(expected, static_cast<std::uint32_t>(wire::LaneState::kFree),
                                      std::memory_order_release, std::memory_order_relaxed);
}

std::uint64_t Decoder::dropped_by(const Slot& slot) const {
  return segment_->lane_header(slot.lane.index)->dropped.load(std::memory_order_relaxed);
}

}  // namespace gpuprof::ingest
