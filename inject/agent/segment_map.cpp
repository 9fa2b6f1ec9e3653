// SPDX-License-Identifier: Apache-2.0
//
// mmap of the shared segment.
//
// Context:  worker
#include "inject/agent/segment_map.hpp"

#include <sys/mman.h>

#include <atomic>

#include "gpuprof/wire/segment.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/thread_block.hpp"

namespace gpuprof::agent {

namespace {

// Reads 1 while we own the segment; the kernel hands every forked child a page of zeros instead,
// also after a bare clone(2) that runs no fork handlers.
std::uint32_t* g_alive_page = nullptr;

bool make_alive_page() {
  if (g_alive_page != nullptr) return true;
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  if (madvise(page, 4096, MADV_WIPEONFORK) != 0) {
    munmap(page, 4096);
    return false;
  }
  g_alive_page = static_cast<std::uint32_t*>(page);
  return true;
}

bool fits(const wire::SegmentHeader& header, std::uint64_t bytes) {
  if (header.magic != wire::kSegmentMagic || header.wire_major != wire::kWireMajor) return false;
  if (header.total_bytes != bytes || header.large_lanes > header.lane_count) return false;
  return header.lane_count <= 65536 && header.lane_count > 0;
}

bool lanes_fit(std::uint8_t* base, std::uint64_t bytes, const wire::LaneEntry* lanes,
               std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    auto* lane = lanes[i].lane.resolve<wire::LaneHeader>(base, bytes);
    const std::uint64_t capacity = lanes[i].capacity_bytes;
    if (lane == nullptr || capacity < 4 * wire::kMaxFrameBytes || (capacity & (capacity - 1)) != 0)
      return false;
    const auto at = static_cast<std::uint64_t>(reinterpret_cast<std::uint8_t*>(lane) - base);
    if (capacity > bytes || at > bytes - wire::kRingOffset - capacity) return false;
  }
  return true;
}

}  // namespace

bool publish_segment(int fd, std::uint64_t bytes) {
  if (bytes < 16384 || bytes > (1ULL << 32) || !make_alive_page()) return false;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return false;
  auto* base = static_cast<std::uint8_t*>(memory);
  auto* header = static_cast<wire::SegmentHeader*>(memory);
  auto* stats = header->stats.resolve<wire::Stats>(base, bytes);
  auto* plan = header->plan.resolve<wire::Plan>(base, bytes);
  auto* lanes = header->directory.resolve<wire::LaneEntry>(base, bytes);
  const bool good =
      fits(*header, bytes) && stats != nullptr && plan != nullptr && lanes != nullptr &&
      reinterpret_cast<std::uint8_t*>(lanes) + header->lane_count * sizeof(wire::LaneEntry) <=
          base + bytes &&
      lanes_fit(base, bytes, lanes, header->lane_count) && hot::map_thread_blocks();
  if (!good) {
    munmap(memory, bytes);
    return false;
  }
  hot::State& state = hot::g_state;
  state.segment_bytes = bytes;
  state.lanes = lanes;
  state.lane_count = header->lane_count;
  state.large_lanes = header->large_lanes;
  state.stats = stats;
  state.plan = plan;
  state.segment.store(base, std::memory_order_release);
  state.epoch.fetch_add(1, std::memory_order_acq_rel);
  *g_alive_page = 1;
  state.alive.store(g_alive_page, std::memory_order_release);  // pairs with hot::alive
  return true;
}

void withdraw_segment() {
  hot::g_state.on.store(0, std::memory_order_relaxed);
  hot::g_state.alive.store(nullptr, std::memory_order_release);
}

void drop_segment_after_fork() {
  hot::State& state = hot::g_state;
  state.on.store(0, std::memory_order_relaxed);
  state.alive.store(nullptr, std::memory_order_release);
  std::uint8_t* base = state.segment.exchange(nullptr, std::memory_order_acq_rel);
  state.stats = nullptr;
  state.plan = nullptr;
  state.lanes = nullptr;
  state.epoch.fetch_add(1, std::memory_order_acq_rel);
  if (base != nullptr) munmap(base, state.segment_bytes);
}

}  // namespace gpuprof::agent
