// SPDX-License-Identifier: Apache-2.0
//
// The shared segment of one target process, made and owned on this side.
//
// Context:  daemon
// Owns:     the memfd and its mapping
// Promises: the memfd can neither grow nor shrink; no address or size is ever read back from the
//           shared bytes: ring buffers are found by the layout alone
// Not here: what the bytes mean (include/gpuprof/wire/segment.hpp), reading ring buffers
//           (decoder.hpp)
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>

#include "gpuprof/base/unique_fd.hpp"
#include "gpuprof/wire/segment.hpp"
#include "support/result.hpp"

namespace gpuprof::ingest {

/// A sealed memfd laid out as wire::SegmentHeader says. Satisfies Boost's memory-mappable
/// concept, so that `boost::interprocess::mapped_region(host, mode)` maps it again.
class SharedSegment {
 public:
  struct Size {
    std::uint32_t large_rings = wire::kDefaultLargeRings;
    std::uint32_t small_rings = wire::kDefaultSmallRings;
  };

  /// @param epoch Which daemon owns it; grows at a hand-over.
  static support::Result<SharedSegment> create(const Size& size, std::uint32_t epoch);

  /// Scales the default ring buffer counts to a segment of at most `bytes` (0: default). Never
  /// fewer than one large and four small ring buffers.
  static Size size_for(std::uint64_t bytes);

  SharedSegment(SharedSegment&&) noexcept = default;
  SharedSegment& operator=(SharedSegment&&) noexcept = default;

  int fd() const { return fd_.get(); }
  std::uint64_t total_bytes() const { return layout_.total_bytes; }
  std::uint32_t ring_count() const { return size_.large_rings + size_.small_rings; }

  wire::Plan& plan() const;
  wire::Stats& stats() const;
  wire::RingEntry& entry(std::uint32_t ring) const;
  wire::RingHeader* ring_header(std::uint32_t ring) const;
  std::byte* ring_data(std::uint32_t ring) const;
  std::uint64_t capacity(std::uint32_t ring) const;

  /// Gives up descriptor and mapping, and the ring buffers' memory also where a process still has
  /// it. Nothing of the segment may be asked any more.
  void release();

  boost::interprocess::mapping_handle_t get_mapping_handle() const;
  boost::interprocess::mode_t get_mode() const { return boost::interprocess::read_write; }

 private:
  SharedSegment() = default;
  std::uint64_t ring_offset(std::uint32_t ring) const;
  std::byte* at(std::uint64_t offset) const;
  void initialize(std::uint32_t epoch);

  base::UniqueFd fd_;
  Size size_;
  wire::SegmentLayout layout_{};
  boost::interprocess::mapped_region region_;
};

}  // namespace gpuprof::ingest
