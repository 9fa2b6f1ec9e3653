// SPDX-License-Identifier: Apache-2.0
//
// Drops that a ring buffer has not told of yet, by real ring buffers: told in time, and once.
#include <gmock/gmock.h>

#include "daemon/ingest/decode/decoder.hpp"
#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using model::LossReason;

class RingDropsTest : public AssemblerTest {
 protected:
  static constexpr std::uint32_t kRing = 7;  // a small one
  RingDropsTest() { assembler_->set_process_start(1); }

  /// As a thread that has the ring buffer for itself from now on.
  wire::RingWriter claim(std::uint32_t tid) {
    host_.entry(kRing).tid.store(tid);
    state(wire::RingState::kActive);
    wire::RingWriter ring(host_.ring_header(kRing), host_.ring_data(kRing), host_.capacity(kRing));
    ring.push(wire::RingOpen{tid, 0, ts_}, ts_);
    return ring;
  }
  void state(wire::RingState now) {
    host_.entry(kRing).state.store(static_cast<std::uint32_t>(now));
  }
  bool push(wire::RingWriter& ring) { return ring.push(wire::RangePop{ts_, 0, 0}, ts_); }
  /// Until the ring is full and `count` records found no room.
  void drop(wire::RingWriter& ring, int count) {
    while (push(ring)) {
    }
    for (int i = 1; i < count; ++i) push(ring);
  }
  /// As a daemon that comes by at `ts_`.
  void drain() {
    assembler_->begin_round(ts_);
    decoder_.drain(*assembler_);
    decoder_.report_drops(*assembler_);
    assembler_->end_round(ts_);
  }
  void cut_window() {
    assembler_->flush_drops();
    assembler_->write_losses(ts_);
  }
  std::uint64_t lost() const { return sink_.lost(LossReason::kRingFull); }
  /// The last ring-full loss that was written.
  const model::Loss& last() const {
    const auto at = std::find_if(sink_.losses.rbegin(), sink_.losses.rend(), [](const auto& loss) {
      return loss.reason == static_cast<std::uint32_t>(LossReason::kRingFull);
    });
    return *at;
  }

  SharedSegment host_ = SharedSegment::create({2, 6}, 3).take();
  Decoder decoder_{host_};
  std::uint64_t ts_ = 1'000'000;
};

TEST_F(RingDropsTest, OfARingThatIsFullAtAWindowsEndAreTheWindows) {
  auto ring = claim(42);
  drain();
  ts_ = 2'000'000, drop(ring, 17);
  ts_ = 3'000'000, drain();
  cut_window();
  ASSERT_EQ(17u, lost());
  EXPECT_EQ(42u, last().tid);
  EXPECT_EQ(1'000'000u, last().first_ns) << "since the ring buffer was last looked at";
  EXPECT_EQ(3'000'000u, last().last_ns);
}

TEST_F(RingDropsTest, AreNotCountedAgainWhenTheRingTellsOfThem) {
  auto ring = claim(42);
  drop(ring, 17);
  ts_ = 3'000'000, drain();
  cut_window();
  ts_ = 5'000'000;
  ASSERT_TRUE(push(ring)) << "with it goes word of the drops";
  ts_ = 6'000'000, drain();
  cut_window();
  EXPECT_EQ(17u, lost());
}

TEST_F(RingDropsTest, OfWhichSomeWereBookedTheOthersCountWhenTheyAreTold) {
  auto ring = claim(42);
  drop(ring, 17);
  ts_ = 3'000'000, drain();
  cut_window();
  drop(ring, 5);  // the ring has room: word of the 17 goes before
  ts_ = 6'000'000, drain();
  cut_window();
  EXPECT_EQ(22u, lost());
  EXPECT_GE(last().first_ns, 3'000'000u) << "what was dropped before is another window's";
  ts_ = 8'000'000, push(ring);
  ts_ = 9'000'000, drain();
  cut_window();
  EXPECT_EQ(22u, lost());
}

TEST_F(RingDropsTest, OfOneWordPartIsKnownAndTheRestIsNews) {
  auto ring = claim(42);
  drain();
  drop(ring, 17);
  ts_ = 2'000'000, assembler_->begin_round(ts_);
  decoder_.report_drops(*assembler_);  // the ring stays full
  cut_window();
  ASSERT_EQ(17u, lost());
  ts_ = 3'000'000;
  for (int i = 0; i < 5; ++i) ASSERT_FALSE(push(ring));
  drain();
  push(ring);
  ts_ = 4'000'000, drain();
  cut_window();
  EXPECT_EQ(22u, lost());
  EXPECT_EQ(5u, last().count);
  EXPECT_EQ(2'000'000u, last().first_ns) << "what was dropped before is another window's";
}

TEST_F(RingDropsTest, OfAThreadThatEndsAreToldAndNotTakenForTheNextOnes) {
  auto ring = claim(42);
  drop(ring, 17);
  state(wire::RingState::kRetired);
  ts_ = 3'000'000, drain();
  assembler_->write_losses(ts_);
  EXPECT_EQ(17u, lost());
  EXPECT_EQ(42u, last().tid);
  auto next = claim(43);
  ts_ = 4'000'000, drain();
  drop(next, 4);
  ts_ = 5'000'000, drain();
  push(next);
  ts_ = 6'000'000, drain();
  cut_window();
  EXPECT_EQ(21u, lost());
  EXPECT_EQ(43u, last().tid);
}

TEST_F(RingDropsTest, ADamagedCountIsOneLoss) {
  auto ring = claim(42);
  push(ring);
  drain();
  host_.ring_header(kRing)->dropped.store(~0ULL - 3);
  for (int i = 0; i < 3; ++i) drain();
  cut_window();
  EXPECT_EQ(0u, lost());
  EXPECT_EQ(1u, sink_.lost(LossReason::kCountDamaged));
}

}  // namespace
}  // namespace gpuprof::ingest
