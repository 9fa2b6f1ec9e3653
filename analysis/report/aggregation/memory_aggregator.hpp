// SPDX-License-Identifier: Apache-2.0
//
// Memory over time from timelines.
//
// Context:  cli
// Owns:     the sums so far
#pragma once

#include <map>
#include <unordered_map>

#include "analysis/report/timeline/timeline.hpp"

namespace gpuprof::report {

class MemoryAggregator {
 public:
  explicit MemoryAggregator(const Dictionary& dictionary) : d_(dictionary) {}

  void add(const Timeline& timeline);
  Memory take();

 private:
  struct Block {
    std::uint64_t bytes = 0, since_ns = 0;
    StringRef owner = 0;
    FrameId line = 0;
    Index step = kNoIndex;
  };
  struct ChurnAggregate {
    std::uint64_t allocations = 0, bytes = 0, freed_in_step = 0;
  };
  struct Device {
    DeviceMemory sum;
    std::uint64_t every = 1, seen = 0;              // one point for so many records
    std::map<std::uint64_t, ChurnAggregate> churn;  // by line and owner
    std::unordered_map<std::uint64_t, Block> live;
  };

  void point(Device& device, const AllocationEvent& a);
  void peak_blocks(const Timeline& t, std::int32_t number, Device& device);
  Block block_of(const Timeline& t, const AllocationEvent& a) const;

  const Dictionary& d_;
  std::map<std::int32_t, Device> devices_;
};

}  // namespace gpuprof::report
