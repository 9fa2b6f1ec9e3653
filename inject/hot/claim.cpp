// SPDX-License-Identifier: Apache-2.0
//
// Lane claims: one compare-and-swap on the directory.
//
// Context:  signal
// Owns:     nothing
#include "inject/hot/claim.hpp"

#include "gpuprof/base/clock.hpp"

namespace gpuprof::hot {

namespace {

bool claim_entry(Outlet& outlet, Role role, std::uint32_t tid, std::uint32_t index) {
  wire::LaneEntry& entry = g_state.lanes[index];
  auto expected = static_cast<std::uint32_t>(wire::LaneState::kFree);
  if (entry.state.load(std::memory_order_relaxed) != expected) return false;
  // acq_rel: pairs with the daemon's release when it freed the lane (its tail is then final).
  if (!entry.state.compare_exchange_strong(expected,
                                           static_cast<std::uint32_t>(wire::LaneState::kActive),
                                           std::memory_order_acq_rel))
    return false;
  std::uint8_t* segment = g_state.segment.load(std::memory_order_relaxed);
  auto* header = entry.lane.resolve<wire::LaneHeader>(segment, g_state.segment_bytes);
  if (header == nullptr) return false;
  entry.tid.store(tid, std::memory_order_relaxed);
  entry.role.store(static_cast<std::uint32_t>(role), std::memory_order_relaxed);
  outlet.entry = index;
  outlet.lane = wire::LaneWriter(header, reinterpret_cast<std::byte*>(header) + wire::kRingOffset,
                                 entry.capacity_bytes);
  const std::uint64_t now = base::mono_ns();
  outlet.lane.push(wire::LaneOpen{tid, static_cast<std::uint32_t>(role), now}, now);
  return true;
}

bool claim_between(Outlet& outlet, Role role, std::uint32_t tid, std::uint32_t begin,
                   std::uint32_t end) {
  if (begin == end) return false;
  const std::uint32_t span = end - begin;
  for (std::uint32_t i = 0; i < span; ++i)
    if (claim_entry(outlet, role, tid, begin + (tid + i) % span)) return true;
  return false;
}

}  // namespace

bool claim_lane(Outlet& outlet, Role role, std::uint32_t tid, bool delivers) {
  // CUPTI's own thread, ours that flushes, and one to spare.
  constexpr std::uint32_t kForDelivery = 3;
  const std::uint32_t large = g_state.large_lanes;
  const std::uint32_t all = g_state.lane_count;
  const std::uint32_t kept = delivers || large <= 2 * kForDelivery ? 0 : kForDelivery;
  const bool got = role == Role::kCallback ? claim_between(outlet, role, tid, kept, large) ||
                                                 claim_between(outlet, role, tid, large, all)
                                           : claim_between(outlet, role, tid, large, all) ||
                                                 claim_between(outlet, role, tid, kept, large);
  if (!got) {
    outlet.refused = true;
    count(wire::Counter::kThreadsWithoutLane);
  }
  return got;
}

void retire_lane(Outlet& outlet) {
  if (!outlet.lane.valid()) return;
  g_state.lanes[outlet.entry].state.store(static_cast<std::uint32_t>(wire::LaneState::kRetired),
                                          std::memory_order_release);
  outlet.lane = wire::LaneWriter();
}

}  // namespace gpuprof::hot
