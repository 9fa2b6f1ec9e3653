// SPDX-License-Identifier: Apache-2.0
//
// Drops that a lane has not told of yet, by real lanes: told in time, and once.
#include <gmock/gmock.h>

#include "daemon/ingest/decode/decoder.hpp"
#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using model::LossReason;

class LaneDropsTest : public AssemblerTest {
 protected:
  static constexpr std::uint32_t kLane = 7;  // a small one
  LaneDropsTest() { assembler_->set_process_start(1); }

  /// As a thread that has the lane for itself from now on.
  wire::RingWriter claim(std::uint32_t tid) {
    host_.entry(kLane).tid.store(tid);
    state(wire::RingState::kActive);
    wire::RingWriter lane(host_.ring_header(kLane), host_.ring_data(kLane), host_.capacity(kLane));
    lane.push(wire::RingOpen{tid, 0, ts_}, ts_);
    return lane;
  }
  void state(wire::RingState now) {
    host_.entry(kLane).state.store(static_cast<std::uint32_t>(now));
  }
  bool push(wire::RingWriter& lane) { return lane.push(wire::RangePop{ts_, 0, 0}, ts_); }
  /// Until the ring is full and `count` records found no room.
  void drop(wire::RingWriter& lane, int count) {
    while (push(lane)) {
    }
    for (int i = 1; i < count; ++i) push(lane);
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

TEST_F(LaneDropsTest, OfARingThatIsFullAtAWindowsEndAreTheWindows) {
  auto lane = claim(42);
  drain();
  ts_ = 2'000'000, drop(lane, 17);
  ts_ = 3'000'000, drain();
  cut_window();
  ASSERT_EQ(17u, lost());
  EXPECT_EQ(42u, last().tid);
  EXPECT_EQ(1'000'000u, last().first_ns) << "since the lane was last looked at";
  EXPECT_EQ(3'000'000u, last().last_ns);
}

TEST_F(LaneDropsTest, AreNotCountedAgainWhenTheLaneTellsOfThem) {
  auto lane = claim(42);
  drop(lane, 17);
  ts_ = 3'000'000, drain();
  cut_window();
  ts_ = 5'000'000;
  ASSERT_TRUE(push(lane)) << "with it goes word of the drops";
  ts_ = 6'000'000, drain();
  cut_window();
  EXPECT_EQ(17u, lost());
}

TEST_F(LaneDropsTest, OfWhichSomeWereBookedTheOthersCountWhenTheyAreTold) {
  auto lane = claim(42);
  drop(lane, 17);
  ts_ = 3'000'000, drain();
  cut_window();
  drop(lane, 5);  // the ring has room: word of the 17 goes before
  ts_ = 6'000'000, drain();
  cut_window();
  EXPECT_EQ(22u, lost());
  EXPECT_GE(last().first_ns, 3'000'000u) << "what was dropped before is another window's";
  ts_ = 8'000'000, push(lane);
  ts_ = 9'000'000, drain();
  cut_window();
  EXPECT_EQ(22u, lost());
}

TEST_F(LaneDropsTest, OfOneWordPartIsKnownAndTheRestIsNews) {
  auto lane = claim(42);
  drain();
  drop(lane, 17);
  ts_ = 2'000'000, assembler_->begin_round(ts_);
  decoder_.report_drops(*assembler_);  // the ring stays full
  cut_window();
  ASSERT_EQ(17u, lost());
  ts_ = 3'000'000;
  for (int i = 0; i < 5; ++i) ASSERT_FALSE(push(lane));
  drain();
  push(lane);
  ts_ = 4'000'000, drain();
  cut_window();
  EXPECT_EQ(22u, lost());
  EXPECT_EQ(5u, last().count);
  EXPECT_EQ(2'000'000u, last().first_ns) << "what was dropped before is another window's";
}

TEST_F(LaneDropsTest, OfAThreadThatEndsAreToldAndNotTakenForTheNextOnes) {
  auto lane = claim(42);
  drop(lane, 17);
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

TEST_F(LaneDropsTest, ADamagedCountIsOneLoss) {
  auto lane = claim(42);
  push(lane);
  drain();
  host_.ring_header(kLane)->dropped.store(~0ULL - 3);
  for (int i = 0; i < 3; ++i) drain();
  cut_window();
  EXPECT_EQ(0u, lost());
  EXPECT_EQ(1u, sink_.lost(LossReason::kCountDamaged));
}

}  // namespace
}  // namespace gpuprof::ingest
