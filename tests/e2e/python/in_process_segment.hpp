// SPDX-License-Identifier: Apache-2.0
//
// A segment in this process's own memory, so that target code runs without a daemon.
//
// Context:  any (tests)
// Owns:     the mapping, until the process ends
#pragma once

#include <sys/mman.h>

#include <new>

#include "gpuprof/wire/segment.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/thread_block.hpp"

namespace gpuprof::tests {

/// Makes a segment and hands it to inject/hot; false without memory.
inline bool open_in_process_segment(std::uint32_t large_rings, std::uint32_t small_rings) {
  const wire::SegmentLayout at = wire::segment_layout(large_rings, small_rings);
  void* memory =
      mmap(nullptr, at.total_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || page == MAP_FAILED || !hot::map_thread_blocks()) return false;
  madvise(page, 4096, MADV_WIPEONFORK);
  auto* segment = static_cast<std::uint8_t*>(memory);
  auto* directory = new (segment + at.directory_offset) wire::RingEntry[large_rings + small_rings];
  std::uint64_t offset = at.rings_offset;
  for (std::uint32_t i = 0; i < large_rings + small_rings; ++i) {
    const std::uint64_t bytes = wire::ring_bytes(i, large_rings);
    new (segment + offset) wire::RingHeader();
    directory[i].ring.distance = reinterpret_cast<std::int64_t>(segment + offset) -
                                 reinterpret_cast<std::int64_t>(&directory[i].ring);
    directory[i].capacity_bytes = bytes;
    offset += bytes + wire::kRingDataOffset;
  }
  hot::g_state.stats = new (segment + at.stats_offset) wire::Stats();
  hot::g_state.plan = new (segment + at.plan_offset) wire::Plan();
  hot::g_state.rings = directory;
  hot::g_state.ring_count = large_rings + small_rings;
  hot::g_state.large_rings = large_rings;
  hot::g_state.segment_bytes = at.total_bytes;
  hot::g_state.segment.store(segment);
  hot::g_state.epoch.fetch_add(1);
  *static_cast<std::uint32_t*>(page) = 1;
  hot::g_state.owner_page.store(static_cast<const std::uint32_t*>(page));
  return true;
}

}  // namespace gpuprof::tests
