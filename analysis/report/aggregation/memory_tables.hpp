// SPDX-License-Identifier: Apache-2.0
//
// Memory of PyTorch's allocators over time.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/timeline/stack_table.hpp"

namespace gpuprof::report {

struct MemoryPoint {
  std::uint64_t ts_ns = 0;
  std::uint64_t allocated_bytes = 0, reserved_bytes = 0;
};

/// A block that was allocated at the peak.
struct LiveBlock {
  std::uint64_t bytes = 0, since_ns = 0;
  std::string owner;  // operator; empty: none, or allocated before the recording
  FrameId line = 0;
};

/// What one operator allocated, by size of its blocks.
struct ChurnRow {
  std::string owner;
  FrameId line = 0;
  std::uint64_t allocations = 0, bytes = 0;
  std::uint64_t freed_in_step = 0;  // of these, given back within the same step
};

struct DeviceMemory {
  std::int32_t device = -1;  // -1: the host
  std::uint64_t peak_allocated_bytes = 0, peak_reserved_bytes = 0;
  std::uint64_t peak_ns = 0;  // 0: there was none, as where a device only gives back
  /// The records tell no totals, as those of old PyTorch: what is "allocated" is counted from the
  /// lowest level in the window.
  bool relative = false;
  std::uint64_t allocations = 0, frees = 0, allocated_bytes = 0, freed_bytes = 0;
  std::vector<MemoryPoint> curve;  // at most kMaxPoints, the peak among them
  std::vector<LiveBlock> at_peak;  // largest first, at most kMaxBlocks
  std::vector<ChurnRow> churn;     // most bytes first, at most kMaxChurn

  static constexpr std::size_t kMaxPoints = 4096, kMaxBlocks = 100, kMaxChurn = 1000;
};

struct Memory {
  std::vector<DeviceMemory> devices;
};

}  // namespace gpuprof::report
