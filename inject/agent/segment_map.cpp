// SPDX-License-Identifier: Apache-2.0
//
// mmap of the shared segment.
//
// Context:  worker
#include "inject/agent/segment_map.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "gpuprof/wire/segment.hpp"
#include "inject/hot/segment_lifetime.hpp"

namespace gpuprof::agent {

namespace {

// A callback is over within microseconds; one that waits for room in its ring buffer takes 50 ms.
constexpr std::uint32_t kGraceMs = 1000;

bool fits(const wire::SegmentHeader& header, std::uint64_t bytes) {
  if (header.magic != wire::kSegmentMagic || header.wire_major != wire::kWireMajor) return false;
  if (header.total_bytes != bytes || header.large_rings > header.ring_count) return false;
  return header.ring_count <= 65536 && header.ring_count > 0;
}

bool rings_fit(std::uint8_t* base, std::uint64_t bytes, const wire::RingEntry* rings,
               std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    auto* ring = rings[i].ring.resolve<wire::RingHeader>(base, bytes);
    const std::uint64_t capacity = rings[i].capacity_bytes;
    if (ring == nullptr || capacity < 4 * wire::kMaxFrameBytes || (capacity & (capacity - 1)) != 0)
      return false;
    const auto at = static_cast<std::uint64_t>(reinterpret_cast<std::uint8_t*>(ring) - base);
    if (capacity > bytes - wire::kRingDataOffset || at > bytes - wire::kRingDataOffset - capacity)
      return false;
  }
  return true;
}

// As long as said, and for good: a read behind a file's end would end the program.
bool stays_as_long(int fd, std::uint64_t bytes) {
  struct stat info {};
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &info) == 0 &&
         static_cast<std::uint64_t>(info.st_size) >= bytes;
}

}  // namespace

bool publish_segment(int fd, std::uint64_t bytes) {
  if (bytes < 16384 || bytes > (1ULL << 32) || !stays_as_long(fd, bytes)) return false;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return false;
  auto* base = static_cast<std::uint8_t*>(memory);
  auto* header = static_cast<wire::SegmentHeader*>(memory);
  auto* stats = header->stats.resolve<wire::Stats>(base, bytes);
  auto* plan = header->plan.resolve<wire::Plan>(base, bytes);
  auto* rings = header->directory.resolve<wire::RingEntry>(base, bytes);
  const bool good =
      fits(*header, bytes) && stats != nullptr && plan != nullptr && rings != nullptr &&
      header->ring_count * sizeof(wire::RingEntry) <=
          bytes - static_cast<std::uint64_t>(reinterpret_cast<std::uint8_t*>(rings) - base) &&
      rings_fit(base, bytes, rings, header->ring_count);
  if (good && hot::publish_segment(
                  {base, bytes, rings, header->ring_count, header->large_rings, plan, stats}, fd))
    return true;
  munmap(memory, bytes);
  return false;
}

void unpublish_segment() { hot::unpublish_segment(kGraceMs); }

void drop_segment_after_fork() { hot::drop_segment_after_fork(); }

}  // namespace gpuprof::agent
