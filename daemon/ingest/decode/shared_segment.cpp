// SPDX-License-Identifier: Apache-2.0
//
// Makes the memfd, seals it, and constructs header, plan, statistics and ring buffers in it.
//
// Context:  daemon
#include "daemon/ingest/decode/shared_segment.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/offset_ptr.hpp>
#include <cstring>
#include <new>

#include "daemon/messages/ingest.hpp"

namespace gpuprof::ingest {

namespace bip = boost::interprocess;

namespace {

using RingPointer = bip::offset_ptr<wire::RingHeader>;
static_assert(sizeof(RingPointer) == sizeof(wire::RelPtr));

/// Constructs an offset_ptr in the place where the target reads a RelPtr.
template <typename T>
void construct_pointer(wire::RelPtr* place, T* target) {
  static_assert(sizeof(bip::offset_ptr<T>) == sizeof(wire::RelPtr));
  ::new (static_cast<void*>(place)) bip::offset_ptr<T>(target);
}

support::Error failed(const char* what) {
  const int failure = errno;
  return support::error(
      failure == EFBIG
          ? fmt::format(messages::ingest::kSegmentTooLarge, what, std::strerror(failure))
          : fmt::format(messages::ingest::kCannotCreateSegment, what, std::strerror(failure)));
}

}  // namespace

SharedSegment::Size SharedSegment::size_for(std::uint64_t bytes) {
  Size size;
  if (bytes == 0) return size;
  const std::uint64_t full =
      wire::segment_layout(wire::kDefaultLargeRings, wire::kDefaultSmallRings).total_bytes;
  const auto scale = [&](std::uint32_t count, std::uint32_t least) {
    const auto scaled = static_cast<std::uint32_t>(
        static_cast<double>(count) * static_cast<double>(bytes) / static_cast<double>(full));
    return std::clamp(scaled, least, count * 4);
  };
  size.large_rings = scale(wire::kDefaultLargeRings, 1);
  size.small_rings = scale(wire::kDefaultSmallRings, 4);
  return size;
}

support::Result<SharedSegment> SharedSegment::create(const Size& size, std::uint32_t epoch) {
  SharedSegment host;
  host.size_ = size;
  host.layout_ = wire::segment_layout(size.large_rings, size.small_rings);
  host.fd_.reset(::memfd_create("gpuprof-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!host.fd_) return failed("memfd_create");
  if (::ftruncate(host.fd_.get(), static_cast<off_t>(host.layout_.total_bytes)) != 0)
    return failed("ftruncate");
  if (::fcntl(host.fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return failed("fcntl");
  try {
    host.region_ = bip::mapped_region(host, bip::read_write);
  } catch (const bip::interprocess_exception& problem) {
    return support::error(fmt::format(messages::ingest::kCannotMapSegment, problem.what()));
  }
  host.initialize(epoch);
  return host;
}

bip::mapping_handle_t SharedSegment::get_mapping_handle() const {
  return bip::ipcdetail::mapping_handle_from_file_handle(fd_.get());
}

std::byte* SharedSegment::at(std::uint64_t offset) const {
  return static_cast<std::byte*>(region_.get_address()) + offset;
}

wire::Plan& SharedSegment::plan() const {
  return *std::launder(reinterpret_cast<wire::Plan*>(at(layout_.plan_offset)));
}

wire::Stats& SharedSegment::stats() const {
  return *std::launder(reinterpret_cast<wire::Stats*>(at(layout_.stats_offset)));
}

wire::RingEntry& SharedSegment::entry(std::uint32_t ring) const {
  return std::launder(reinterpret_cast<wire::RingEntry*>(at(layout_.directory_offset)))[ring];
}

std::uint64_t SharedSegment::ring_offset(std::uint32_t ring) const {
  return layout_.rings_offset + wire::ring_offset(ring, size_.large_rings);
}

wire::RingHeader* SharedSegment::ring_header(std::uint32_t ring) const {
  return std::launder(reinterpret_cast<wire::RingHeader*>(at(ring_offset(ring))));
}

std::byte* SharedSegment::ring_data(std::uint32_t ring) const {
  return at(ring_offset(ring) + wire::kRingDataOffset);
}

std::uint64_t SharedSegment::capacity(std::uint32_t ring) const {
  return wire::ring_bytes(ring, size_.large_rings);
}

// A process that is gone needs them no more, and one that lives on may write into them as before.
void SharedSegment::release() {
  [[maybe_unused]] const int ignored =
      ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(layout_.rings_offset),
                  static_cast<off_t>(layout_.total_bytes - layout_.rings_offset));
  region_ = bip::mapped_region();
  fd_.reset();
}

// Ring buffer headers are all zero in a fresh memfd, which is their initial state: they are not
// touched here, so that an idle ring buffer costs no page at all.
void SharedSegment::initialize(std::uint32_t epoch) {
  auto* header = ::new (at(0)) wire::SegmentHeader{};
  auto* plan = ::new (at(layout_.plan_offset)) wire::Plan{};
  auto* stats = ::new (at(layout_.stats_offset)) wire::Stats{};
  plan->on_step.store(wire::kNever, std::memory_order_relaxed);
  plan->off_step.store(wire::kNever, std::memory_order_relaxed);
  auto* directory = reinterpret_cast<wire::RingEntry*>(at(layout_.directory_offset));
  for (std::uint32_t ring = 0; ring < ring_count(); ++ring) {
    auto* one = ::new (directory + ring) wire::RingEntry{};
    construct_pointer(&one->ring, ring_header(ring));
    one->capacity_bytes = capacity(ring);
  }
  header->wire_major = wire::kWireMajor;
  header->wire_minor = wire::kWireMinor;
  header->epoch = epoch;
  header->total_bytes = layout_.total_bytes;
  header->ring_count = ring_count();
  header->large_rings = size_.large_rings;
  construct_pointer(&header->plan, plan);
  construct_pointer(&header->stats, stats);
  construct_pointer(&header->directory, directory);
  // Last, and as a release: a fence would be nothing ThreadSanitizer understands.
  std::atomic_ref<std::uint64_t>(header->magic)
      .store(wire::kSegmentMagic, std::memory_order_release);
}

}  // namespace gpuprof::ingest
