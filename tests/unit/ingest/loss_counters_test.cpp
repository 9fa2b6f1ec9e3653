// SPDX-License-Identifier: Apache-2.0
//
// When something was lost: what windows are told by.
#include <gmock/gmock.h>

#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using model::LossReason;
using testing::SizeIs;

using Losses = AssemblerTest;

TEST_F(Losses, OfUnknownTimeHappenedSinceTheRoundBefore) {
  assembler_->set_process_start(1000);
  assembler_->begin_round(2000);
  assembler_->begin_round(3000);
  kernel(1, 0, 0);  // bad times
  assembler_->write_losses(3500);
  ASSERT_THAT(sink_.losses, SizeIs(1));
  EXPECT_EQ(1u, sink_.lost(LossReason::kCuptiBadTime));
  EXPECT_EQ(2000u, sink_.losses[0].first_ns);
  EXPECT_EQ(3000u, sink_.losses[0].last_ns);
}

TEST_F(Losses, AreToldApartOnceTheyAreWritten) {
  assembler_->begin_round(1000);
  assembler_->begin_round(2000);
  kernel(1, 0, 0);
  assembler_->write_losses(2500);
  assembler_->begin_round(9000);
  assembler_->begin_round(9500);
  kernel(2, 0, 0);
  assembler_->write_losses(9600);
  ASSERT_THAT(sink_.losses, SizeIs(2));
  EXPECT_EQ(1000u, sink_.losses[0].first_ns);
  EXPECT_EQ(9000u, sink_.losses[1].first_ns);
}

TEST_F(Losses, ARangeOfDamagedMemoryIsNotCopiedIntoWindows) {
  assembler_->set_process_start(100'000'000'000);
  assembler_->begin_round(200'000'000'000);
  push(0, name("early"));
  push(1ULL << 63, name("late"));
  put(wire::RangeStart{1ULL << 62, name("later"), 3, 0, 0, 0, 0, 0});
  push(150'000'000'000, name("right"));
  assembler_->snapshot_open(190'000'000'000);
  ASSERT_THAT(sink_.ranges, SizeIs(1));
  EXPECT_EQ(150'000'000'000u, sink_.ranges[0].start_ns);
}

TEST_F(Losses, ANameSentCutIsMarkedAndCounted) {
  const std::uint64_t one = 0x1234567800000000, two = 0x8765432100000000;
  put(wire::StringDef{one, 4, wire::kStringCut}, "same");
  put(wire::StringDef{two, 4, wire::kStringCut}, "same");
  assembler_->finish(now_);
  ASSERT_GE(sink_.strings.size(), 2u);
  EXPECT_EQ("same…#87654321", sink_.strings.back());
  EXPECT_EQ("same…#12345678", sink_.strings[sink_.strings.size() - 2]);
  EXPECT_EQ(2u, sink_.lost(LossReason::kNameTruncated));
}

TEST_F(Losses, UndeliveredAreLaunchesOfWhichCuptiToldNothing) {
  const auto runs = [this](std::uint32_t correlation) {
    put(wire::Launch{10, 0, correlation, 2, wire::kLaunchDeviceWork, 211, 100, 0, 0});
  };
  runs(1), api(1, 20, 30), kernel(1, 40, 50);
  runs(2), api(2, 20, 30);  // captured, or refused: no GPU record is to come
  runs(3), kernel(3, 40, 50);
  runs(4), runs(5);
  launch(6);  // a copy
  poll_rounds(4);
  EXPECT_EQ(2u, assembler_->undelivered_launches());
}

}  // namespace
}  // namespace gpuprof::ingest
