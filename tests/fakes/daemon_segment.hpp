// SPDX-License-Identifier: Apache-2.0
//
// A segment as a daemon makes it: a file of memory that the test keeps mapped, while rooms of
// inject/ map it a second time, get it published and lose it again.
//
// Context:  tests
// Owns:     the file and the daemon's mapping
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "gpuprof/wire/ring_buffer.hpp"
#include "gpuprof/wire/segment.hpp"
#include "inject/hot/segment_lifetime.hpp"

namespace gpuprof::fakes {

/// Lines of /proc/self/maps that hold `text`; all of them if it is empty.
inline int count_mappings(const std::string& text = "") {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find(text) != std::string::npos;
  return count;
}

class DaemonSegment {
 public:
  explicit DaemonSegment(std::uint32_t large_rings = 4, std::uint32_t small_rings = 28)
      : layout_(wire::segment_layout(large_rings, small_rings)), large_rings_(large_rings) {
    fd_ = memfd_create("daemon_segment", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(fd_, static_cast<off_t>(layout_.total_bytes)), 0);
    base_ = map();
    auto* rings = rings_in(base_);
    std::uint64_t at = layout_.rings_offset;
    for (std::uint32_t i = 0; i < large_rings + small_rings; ++i) {
      const std::uint64_t bytes = wire::ring_bytes(i, large_rings);
      auto* header = new (base_ + at) wire::RingHeader{};
      rings[i].ring.distance = base_ + at - reinterpret_cast<std::uint8_t*>(&rings[i].ring);
      rings[i].capacity_bytes = bytes;
      headers_.push_back(header);
      readers_.emplace_back(
          header, reinterpret_cast<std::byte*>(base_ + at + wire::kRingDataOffset), bytes);
      at += bytes + wire::kRingDataOffset;
    }
  }
  ~DaemonSegment() {
    munmap(base_, layout_.total_bytes);
    close(fd_);
  }
  DaemonSegment(const DaemonSegment&) = delete;
  DaemonSegment& operator=(const DaemonSegment&) = delete;

  /// Maps it for the target and publishes it, as the agent does.
  bool publish() {
    std::uint8_t* base = map();
    const hot::MappedSegment mapped{
        base,
        layout_.total_bytes,
        rings_in(base),
        static_cast<std::uint32_t>(headers_.size()),
        large_rings_,
        reinterpret_cast<const wire::Plan*>(base + layout_.plan_offset),
        reinterpret_cast<const wire::Stats*>(base + layout_.stats_offset)};
    return hot::publish_segment(mapped, fd_);
  }

  /// Empties all ring buffers. @return how many records of each kind came out.
  std::vector<std::uint64_t> drain() {
    std::vector<std::uint64_t> kinds(wire::kKindSlots);
    std::vector<std::byte> scratch(wire::kMaxFrameBytes);
    for (wire::RingReader& reader : readers_) {
      const std::uint64_t limit = reader.head_position();
      wire::RingReader::Frame frame;
      wire::RingReader::Next next;
      while ((next = reader.next(limit, scratch.data(), &frame)) == wire::RingReader::Next::kFrame)
        ++kinds[static_cast<std::size_t>(frame.kind)];
      EXPECT_NE(next, wire::RingReader::Next::kCorrupt);
      reader.consume();
    }
    return kinds;
  }
  template <typename R>
  std::uint64_t drain_count() {
    return drain()[static_cast<std::size_t>(R::kKind)];
  }

  /// Plan, statistics, directory and heads of the ring buffers as one number: changes with whatever
  /// the target does.
  std::uint64_t content_hash() const {
    std::uint64_t hash = base::hash_bytes(base_, layout_.rings_offset);
    for (const wire::RingHeader* header : headers_)
      hash = base::hash_step(hash, base::hash_bytes(header, sizeof *header));
    return hash;
  }

  const wire::Stats& stats() const {
    return *reinterpret_cast<const wire::Stats*>(base_ + layout_.stats_offset);
  }
  std::uint64_t counter(wire::Counter which) const {
    return stats().counters[static_cast<std::uint32_t>(which)].load();
  }

 private:
  std::uint8_t* map() const {
    void* at = mmap(nullptr, layout_.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    EXPECT_NE(at, MAP_FAILED);
    return static_cast<std::uint8_t*>(at);
  }
  wire::RingEntry* rings_in(std::uint8_t* base) const {
    return reinterpret_cast<wire::RingEntry*>(base + layout_.directory_offset);
  }

  wire::SegmentLayout layout_;
  std::uint32_t large_rings_;
  int fd_ = -1;
  std::uint8_t* base_ = nullptr;
  std::vector<wire::RingHeader*> headers_;
  std::vector<wire::RingReader> readers_;
};

}  // namespace gpuprof::fakes
