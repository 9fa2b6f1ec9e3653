// SPDX-License-Identifier: Apache-2.0
//
// The segment seen from both sides: Boost's mapping here, a plain mmap there.
#include "daemon/ingest/decode/shared_segment.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "daemon/ingest/decode/decoder.hpp"

namespace gpuprof::ingest {
namespace {

namespace bip = boost::interprocess;

/// The target's view: nothing but the descriptor and the layout's promises.
struct PlainView {
  PlainView(int fd, std::uint64_t total) : bytes(total) {
    base = static_cast<std::uint8_t*>(
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  }
  ~PlainView() { ::munmap(base, bytes); }
  const wire::SegmentHeader& header() const {
    return *reinterpret_cast<const wire::SegmentHeader*>(base);
  }
  wire::RingEntry* directory() const {
    return header().directory.resolve<wire::RingEntry>(base, bytes);
  }
  wire::RingWriter writer(std::uint32_t ring) const {
    wire::RingEntry& entry = directory()[ring];
    entry.state.store(static_cast<std::uint32_t>(wire::RingState::kActive));
    auto* at = entry.ring.resolve<wire::RingHeader>(base, bytes);
    return {at, reinterpret_cast<std::byte*>(at) + wire::kRingDataOffset, entry.capacity_bytes};
  }
  std::uint8_t* base;
  std::uint64_t bytes;
};

class SegmentHostTest : public testing::Test {
 protected:
  SegmentHostTest() : host_(SharedSegment::create({2, 6}, 3).take()) {}
  SharedSegment host_;
};

TEST_F(SegmentHostTest, CanBeMappedAgainThroughBoostAndPlainlyWithTheSameBytes) {
  host_.plan().on_step.store(1234);
  const PlainView plain(host_.fd(), host_.total_bytes());
  const bip::mapped_region again(host_, bip::read_write);
  ASSERT_EQ(host_.total_bytes(), again.get_size());
  ASSERT_NE(again.get_address(), plain.base);
  EXPECT_EQ(0, std::memcmp(again.get_address(), plain.base, again.get_size()));
}

TEST_F(SegmentHostTest, TargetFindsEverythingThroughRelativePointers) {
  const PlainView plain(host_.fd(), host_.total_bytes());
  const wire::SegmentHeader& header = plain.header();
  EXPECT_EQ(wire::kSegmentMagic, header.magic);
  EXPECT_EQ(wire::kWireMajor, header.wire_major);
  EXPECT_EQ(3u, header.epoch);
  EXPECT_EQ(8u, header.ring_count);
  EXPECT_EQ(2u, header.large_rings);
  const auto layout = wire::segment_layout(2, 6);
  EXPECT_EQ(layout.total_bytes, header.total_bytes);
  auto* plan = header.plan.resolve<wire::Plan>(plain.base, plain.bytes);
  auto* stats = header.stats.resolve<wire::Stats>(plain.base, plain.bytes);
  EXPECT_EQ(layout.plan_offset, reinterpret_cast<std::uint8_t*>(plan) - plain.base);
  EXPECT_EQ(layout.stats_offset, reinterpret_cast<std::uint8_t*>(stats) - plain.base);
  for (std::uint32_t ring = 0; ring < 8; ++ring) {
    const wire::RingEntry& entry = plain.directory()[ring];
    EXPECT_EQ(ring < 2 ? wire::kLargeRingBytes : wire::kSmallRingBytes, entry.capacity_bytes);
    auto* at = entry.ring.resolve<wire::RingHeader>(plain.base, plain.bytes);
    ASSERT_NE(nullptr, at);
    EXPECT_EQ(reinterpret_cast<std::byte*>(host_.ring_header(ring)) - host_.ring_data(0),
              reinterpret_cast<std::byte*>(at) -
                  (reinterpret_cast<std::byte*>(plain.base) +
                   (host_.ring_data(0) - reinterpret_cast<std::byte*>(&host_.plan())) +
                   static_cast<std::ptrdiff_t>(layout.plan_offset)));
  }
}

TEST(SharedSegment, ManyLargeRingsBeginWithSomeForDeliveries) {
  const SharedSegment::Size size{7, 2};
  auto made = SharedSegment::create(size, 1);
  ASSERT_TRUE(made.ok());
  const SharedSegment& host = made.value();
  for (std::uint32_t ring = 0; ring < 9; ++ring) {
    const std::uint64_t bytes = ring < 3   ? wire::kDeliveryRingBytes
                                : ring < 7 ? wire::kLargeRingBytes
                                           : wire::kSmallRingBytes;
    EXPECT_EQ(bytes, host.entry(ring).capacity_bytes);
    EXPECT_EQ(bytes, host.capacity(ring));
    const std::byte* end = host.ring_data(ring) + bytes;
    const std::byte* next = ring == 8
                                ? reinterpret_cast<const std::byte*>(&host.plan()) -
                                      wire::segment_layout(7, 2).plan_offset + host.total_bytes()
                                : reinterpret_cast<const std::byte*>(host.ring_header(ring + 1));
    EXPECT_EQ(next, end);
  }
}

TEST_F(SegmentHostTest, CanNeitherGrowNorShrink) {
  EXPECT_NE(0, ::ftruncate(host_.fd(), 4096));
  EXPECT_NE(0, ::ftruncate(host_.fd(), static_cast<off_t>(host_.total_bytes() * 2)));
  EXPECT_NE(0, ::fcntl(host_.fd(), F_GETFD) & FD_CLOEXEC);
}

TEST_F(SegmentHostTest, ScalesWithTheBufferSize) {
  const auto full = SharedSegment::size_for(0);
  EXPECT_EQ(wire::kDefaultLargeRings, full.large_rings);
  const auto half = SharedSegment::size_for(
      wire::segment_layout(full.large_rings, full.small_rings).total_bytes / 2);
  EXPECT_EQ(full.large_rings / 2, half.large_rings);
  EXPECT_EQ(1u, SharedSegment::size_for(1).large_rings);
  EXPECT_EQ(4u, SharedSegment::size_for(1).small_rings);
}

struct Counting {
  template <typename R>
  void on(const RingInfo&, const R& record, const Tail&) {
    if constexpr (std::is_same_v<R, wire::Sample>) {
      ordered = ordered && record.ts_ns == samples;
      ++samples;
    }
  }
  std::uint64_t samples = 0;
  bool ordered = true;
};

TEST_F(SegmentHostTest, KilledWriterLeavesOnlyWholeRecords) {
  // Given a child that pushes as fast as it can and says how much is in the ring buffer
  const pid_t child = ::fork();
  if (child == 0) {
    const PlainView view(host_.fd(), host_.total_bytes());
    auto ring = view.writer(0);
    for (std::uint64_t i = 0;; ++i)
      while (!ring.push(wire::Sample{i, 0, 1, 0, 0}, i)) {
      }
  }
  Decoder decoder(host_);
  Counting sink;
  while (sink.samples < 50'000) decoder.drain(sink);
  // When it is killed wherever it is
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  decoder.drain(sink);
  // Then every record that came is whole and in order, and the ring buffer is still good
  EXPECT_TRUE(sink.ordered);
  EXPECT_EQ(0u, decoder.counts().corrupt_rings);
  EXPECT_EQ(0u, decoder.counts().malformed);
}

// ---- decoder ----

struct Everything {
  template <typename R>
  void on(const RingInfo& ring, const R&, const Tail& tail) {
    kinds.push_back(R::kKind);
    tids.push_back(ring.tid);
    bytes += tail.bytes;
  }
  std::vector<wire::Kind> kinds;
  std::vector<std::uint32_t> tids;
  std::size_t bytes = 0;
};

TEST_F(SegmentHostTest, DecoderSkipsUnknownKindsAndCountsThem) {
  const PlainView view(host_.fd(), host_.total_bytes());
  auto ring = view.writer(0);
  const std::uint64_t body[3] = {1, 2, 3};
  ring.push_raw(static_cast<wire::Kind>(999), body, sizeof body, nullptr, 0, 0);
  ring.push_raw(wire::Kind::kSample, body, 8, nullptr, 0, 0);  // too short
  ring.push(wire::RangePop{1, 0, 0}, 0);
  Decoder decoder(host_);
  Everything sink;
  decoder.drain(sink);
  EXPECT_THAT(sink.kinds, testing::ElementsAre(wire::Kind::kRangePop));
  EXPECT_EQ(1u, decoder.counts().unknown_kind);
  EXPECT_EQ(1u, decoder.counts().malformed);
}

TEST_F(SegmentHostTest, DecoderGivesUpACorruptRingAndReadsTheOthers) {
  const PlainView view(host_.fd(), host_.total_bytes());
  auto bad = view.writer(0), good = view.writer(1);
  bad.push(wire::RangePop{1, 0, 0}, 0);
  std::memset(host_.ring_data(0), 0xff, 64);
  good.push(wire::RangePop{1, 0, 0}, 0);
  host_.ring_header(2)->head.store(~0ULL);
  view.directory()[2].state.store(1);
  Decoder decoder(host_);
  Everything sink;
  decoder.drain(sink);
  decoder.drain(sink);
  EXPECT_THAT(sink.kinds, testing::SizeIs(1));
  EXPECT_EQ(2u, decoder.counts().corrupt_rings);
}

TEST_F(SegmentHostTest, DecoderDrainsRetiredRingsThenFreesThemForTheNextThread) {
  const PlainView view(host_.fd(), host_.total_bytes());
  auto first = view.writer(0);
  first.push(wire::RingOpen{11, 1, 0}, 0);
  first.push(wire::RangePop{1, 0, 0}, 0);
  view.directory()[0].state.store(static_cast<std::uint32_t>(wire::RingState::kRetired));
  Decoder decoder(host_);
  Everything sink;
  decoder.drain(sink);
  EXPECT_EQ(static_cast<std::uint32_t>(wire::RingState::kFree), view.directory()[0].state.load());
  auto second = view.writer(0);
  second.push(wire::RingOpen{12, 1, 0}, 0);
  second.push(wire::RangePop{2, 0, 0}, 0);
  decoder.drain(sink);
  EXPECT_THAT(sink.tids, testing::ElementsAre(11, 11, 12, 12));
}

}  // namespace
}  // namespace gpuprof::ingest
