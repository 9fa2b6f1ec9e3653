// SPDX-License-Identifier: Apache-2.0
//
// Curve, peak and churn of memory.
//
// Context:  cli
#include "analysis/report/aggregation/memory_aggregator.hpp"

#include <algorithm>

namespace gpuprof::report {

/// Neighbours become one, the higher, when there are too many points.
void MemoryAggregator::point(Device& device, const AllocationEvent& a) {
  std::vector<MemoryPoint>& curve = device.sum.curve;
  const MemoryPoint next{a.ts_ns, a.allocated_bytes, a.reserved_bytes};
  if (device.seen++ % device.every != 0) {
    if (next.allocated_bytes > curve.back().allocated_bytes) curve.back() = next;
    return;
  }
  if (curve.size() >= DeviceMemory::kMaxPoints) {
    for (std::size_t i = 0; i < curve.size() / 2; ++i)
      curve[i] = curve[2 * i].allocated_bytes >= curve[2 * i + 1].allocated_bytes
                     ? curve[2 * i]
                     : curve[2 * i + 1];
    curve.resize(curve.size() / 2);
    device.every *= 2;
    device.seen = 1;
  }
  curve.push_back(next);
}

MemoryAggregator::Block MemoryAggregator::block_of(const Timeline& t,
                                                   const AllocationEvent& a) const {
  Block block{static_cast<std::uint64_t>(a.bytes), a.ts_ns, 0, 0, kNoIndex};
  if (a.owner == kNoIndex) return block;
  // aten::empty and its like allocate for whoever called them.
  const Index outer = t.outer[a.owner] != kNoIndex ? t.outer[a.owner] : a.owner;
  block.owner = d_.host[t.host[outer].key].name;
  block.line = t.lines[a.owner];
  block.step = t.host[a.owner].step;
  return block;
}

/// What was allocated when the peak was reached: the window's records once more, until then.
void MemoryAggregator::peak_blocks(const Timeline& t, std::int32_t number, Device& device) {
  std::unordered_map<std::uint64_t, Block> live = device.live;
  for (const AllocationEvent& a : t.allocations) {
    if (a.device != number || a.ts_ns > device.sum.peak_ns) continue;
    if (a.bytes > 0)
      live[a.address] = block_of(t, a);
    else
      live.erase(a.address);
  }
  std::vector<LiveBlock>& blocks = device.sum.at_peak;
  blocks.clear();
  for (const auto& [address, block] : live)
    blocks.push_back({block.bytes, block.since_ns, d_.texts.text(block.owner), block.line});
  std::sort(blocks.begin(), blocks.end(), [](const LiveBlock& a, const LiveBlock& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.since_ns < b.since_ns;
  });
  if (blocks.size() > DeviceMemory::kMaxBlocks) blocks.resize(DeviceMemory::kMaxBlocks);
}

void MemoryAggregator::add(const Timeline& t) {
  std::map<std::int32_t, bool> higher;
  for (const AllocationEvent& a : t.allocations) {
    DeviceMemory& sum = devices_[a.device].sum;
    sum.relative = sum.relative || a.relative;
    sum.peak_reserved_bytes = std::max(sum.peak_reserved_bytes, a.reserved_bytes);
    if (a.allocated_bytes <= sum.peak_allocated_bytes) continue;
    sum.peak_allocated_bytes = a.allocated_bytes;
    sum.peak_ns = a.ts_ns;
    higher[a.device] = true;
  }
  for (auto& [number, device] : devices_) {
    device.sum.device = number;
    if (higher[number]) peak_blocks(t, number, device);
  }
  for (const AllocationEvent& a : t.allocations) {
    Device& device = devices_[a.device];
    point(device, a);
    if (a.bytes > 0) {
      const Block block = block_of(t, a);
      device.live[a.address] = block;
      ++device.sum.allocations;
      device.sum.allocated_bytes += block.bytes;
      ChurnAggregate& churn = device.churn[std::uint64_t{block.line} << 32 | block.owner];
      ++churn.allocations;
      churn.bytes += block.bytes;
      continue;
    }
    ++device.sum.frees;
    device.sum.freed_bytes += static_cast<std::uint64_t>(-a.bytes);
    const auto found = device.live.find(a.address);
    if (found == device.live.end()) continue;
    const Block& block = found->second;
    const bool same_step = block.step != kNoIndex && block.step < t.steps.size() &&
                           a.ts_ns < t.steps[block.step].end_ns &&
                           a.ts_ns >= t.steps[block.step].start_ns;
    if (same_step) ++device.churn[std::uint64_t{block.line} << 32 | block.owner].freed_in_step;
    device.live.erase(found);
  }
}

Memory MemoryAggregator::take() {
  Memory all;
  for (auto& [number, device] : devices_) {
    for (const auto& [key, churn] : device.churn)
      device.sum.churn.push_back({d_.texts.text(static_cast<StringRef>(key)),
                                  static_cast<FrameId>(key >> 32), churn.allocations, churn.bytes,
                                  churn.freed_in_step});
    std::vector<ChurnRow>& rows = device.sum.churn;
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    if (rows.size() > DeviceMemory::kMaxChurn) rows.resize(DeviceMemory::kMaxChurn);
    all.devices.push_back(std::move(device.sum));
  }
  return all;
}

}  // namespace gpuprof::report
