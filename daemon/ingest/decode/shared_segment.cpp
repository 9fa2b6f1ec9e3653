// SPDX-License-Identifier: Apache-2.0
//
// Makes the memfd, seals it, and constructs header, plan, statistics and lanes in it.
//
// Context:  daemon
// Owns:     see shared_segment.hpp
#include "daemon/ingest/decode/shared_segment.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/offset_ptr.hpp>
#include <cstring>
#include <new>

namespace gpuprof::ingest {

namespace bip = boost::interprocess;

namespace {

using LanePointer = bip::offset_ptr<wire::LaneHeader>;
static_assert(sizeof(LanePointer) == sizeof(wire::RelPtr));

/// Constructs an offset_ptr in the place where the target reads a RelPtr.
template <typename T>
void construct_pointer(wire::RelPtr* place, T* target) {
  static_assert(sizeof(bip::offset_ptr<T>) == sizeof(wire::RelPtr));
  ::new (static_cast<void*>(place)) bip::offset_ptr<T>(target);
}

support::Error failed(const char* what) {
  return support::error(
      std::string("Shared memory for a process could not be made: ") + what +
      " failed: " + std::strerror(errno) +
      (errno == EFBIG ? " (the limit on file sizes, ulimit -f); raise it." : "."));
}

}  // namespace

SegmentHost::Size SegmentHost::size_for(std::uint64_t bytes) {
  Size size;
  if (bytes == 0) return size;
  const std::uint64_t full =
      wire::segment_layout(wire::kDefaultLargeLanes, wire::kDefaultSmallLanes).total_bytes;
  const auto scale = [&](std::uint32_t count, std::uint32_t least) {
    const auto scaled = static_cast<std::uint32_t>(
        static_cast<double>(count) * static_cast<double>(bytes) / static_cast<double>(full));
    return std::clamp(scaled, least, count * 4);
  };
  size.large_lanes = scale(wire::kDefaultLargeLanes, 1);
  size.small_lanes = scale(wire::kDefaultSmallLanes, 4);
  return size;
}

support::Result<SegmentHost> SegmentHost::create(const Size& size, std::uint32_t epoch) {
  SegmentHost host;
  host.size_ = size;
  host.layout_ = wire::segment_layout(size.large_lanes, size.small_lanes);
  host.fd_.reset(::memfd_create("gpuprof-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!host.fd_) return failed("memfd_create");
  if (::ftruncate(host.fd_.get(), static_cast<off_t>(host.layout_.total_bytes)) != 0)
    return failed("ftruncate");
  if (::fcntl(host.fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return failed("sealing");
  try {
    host.region_ = bip::mapped_region(host, bip::read_write);
  } catch (const bip::interprocess_exception& problem) {
    return support::error(std::string("Shared memory for a process could not be mapped: ") +
                          problem.what() + ".");
  }
  host.lay_out(epoch);
  return host;
}

bip::mapping_handle_t SegmentHost::get_mapping_handle() const {
  return bip::ipcdetail::mapping_handle_from_file_handle(fd_.get());
}

std::byte* SegmentHost::at(std::uint64_t offset) const {
  return static_cast<std::byte*>(region_.get_address()) + offset;
}

wire::Plan& SegmentHost::plan() const {
  return *std::launder(reinterpret_cast<wire::Plan*>(at(layout_.plan_offset)));
}

wire::Stats& SegmentHost::stats() const {
  return *std::launder(reinterpret_cast<wire::Stats*>(at(layout_.stats_offset)));
}

wire::LaneEntry& SegmentHost::entry(std::uint32_t lane) const {
  return std::launder(reinterpret_cast<wire::LaneEntry*>(at(layout_.directory_offset)))[lane];
}

std::uint64_t SegmentHost::lane_offset(std::uint32_t lane) const {
  return layout_.lanes_offset + wire::lane_offset(lane, size_.large_lanes);
}

wire::LaneHeader* SegmentHost::lane_header(std::uint32_t lane) const {
  return std::launder(reinterpret_cast<wire::LaneHeader*>(at(lane_offset(lane))));
}

std::byte* SegmentHost::ring(std::uint32_t lane) const {
  return at(lane_offset(lane) + wire::kRingOffset);
}

std::uint64_t SegmentHost::capacity(std::uint32_t lane) const {
  return wire::lane_bytes(lane, size_.large_lanes);
}

// A process that is gone needs them no more, and one that lives on may write into them as before.
void SegmentHost::release() {
  [[maybe_unused]] const int ignored =
      ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(layout_.lanes_offset),
                  static_cast<off_t>(layout_.total_bytes - layout_.lanes_offset));
  region_ = bip::mapped_region();
  fd_.reset();
}

// Lane headers are all zero in a fresh memfd, which is their initial state: they are not touched
// here, so that an idle lane costs no page at all.
void SegmentHost::lay_out(std::uint32_t epoch) {
  auto* header = ::new (at(0)) wire::SegmentHeader{};
  auto* plan = ::new (at(layout_.plan_offset)) wire::Plan{};
  auto* stats = ::new (at(layout_.stats_offset)) wire::Stats{};
  plan->on_step.store(wire::kNever, std::memory_order_relaxed);
  plan->off_step.store(wire::kNever, std::memory_order_relaxed);
  auto* directory = reinterpret_cast<wire::LaneEntry*>(at(layout_.directory_offset));
  for (std::uint32_t lane = 0; lane < lane_count(); ++lane) {
    auto* one = ::new (directory + lane) wire::LaneEntry{};
    construct_pointer(&one->lane, lane_header(lane));
    one->capacity_bytes = capacity(lane);
  }
  header->wire_major = wire::kWireMajor;
  header->wire_minor = wire::kWireMinor;
  header->epoch = epoch;
  header->total_bytes = layout_.total_bytes;
  header->lane_count = lane_count();
  header->large_lanes = size_.large_lanes;
  construct_pointer(&header->plan, plan);
  construct_pointer(&header->stats, stats);
  construct_pointer(&header->directory, directory);
  // Last, and as a release: a fence would be nothing ThreadSanitizer understands.
  std::atomic_ref<std::uint64_t>(header->magic)
      .store(wire::kSegmentMagic, std::memory_order_release);
}

}  // namespace gpuprof::ingest
