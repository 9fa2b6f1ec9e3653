// SPDX-License-Identifier: Apache-2.0
//
// Marks of steps that the target counts: order, ends, numbers, and one that is lost.
#include <gmock/gmock.h>

#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using model::LossReason;
using testing::ElementsAre;
using testing::SizeIs;

wire::StepMark mark_begin(std::uint64_t number, std::uint64_t ts) {
  return {ts, number, static_cast<std::uint32_t>(wire::StepSource::kNvtx), wire::kStepBegin, 0};
}
wire::StepMark mark_end(std::uint64_t number, std::uint64_t ts) {
  return {ts, number, static_cast<std::uint32_t>(wire::StepSource::kNvtx), wire::kStepEnd, 0};
}

TEST_F(AssemblerTest, StepsEndAtTheirEndOrAtTheNextBegin) {
  put(mark_begin(0, 10));
  put(mark_end(0, 18));
  put(mark_begin(1, 20));
  put(mark_begin(2, 30));
  assembler_->finish(now_);
  ASSERT_THAT(sink_.steps, SizeIs(2)) << "the last one never ended";
  EXPECT_EQ(18u, sink_.steps[0].end_ns);
  EXPECT_EQ(30u, sink_.steps[1].end_ns);
  EXPECT_EQ(100u, sink_.steps[0].tid);
  EXPECT_THAT(heard_.began, ElementsAre(0, 1, 2));
  EXPECT_THAT(heard_.ended, ElementsAre(0));
}

TEST_F(AssemblerTest, MarksOfTwoThreadsAreSorted) {
  put(mark_begin(1, 20), {}, {1, 101, 1});
  poll_rounds(1);
  put(mark_begin(0, 10));
  poll_rounds(2);
  EXPECT_THAT(heard_.began, ElementsAre(0, 1));
  heard_.began.clear();
  put(mark_begin(3, 40), {}, {1, 101, 1});
  put(mark_begin(2, 30));
  poll_rounds(2);
  EXPECT_THAT(heard_.began, ElementsAre(2, 3));
}

TEST_F(AssemblerTest, AStepWhoseMarkIsLostIsCountedAndTheOthersKeepTheirNumbers) {
  put(mark_begin(0, 10));
  put(mark_begin(1, 20));
  put(mark_begin(4, 50));
  put(mark_begin(5, 60));
  assembler_->finish(now_);
  EXPECT_THAT(heard_.began, ElementsAre(0, 1, 4, 5));
  ASSERT_THAT(sink_.steps, SizeIs(3));
  EXPECT_EQ(1u, sink_.steps[1].number);
  EXPECT_EQ(50u, sink_.steps[1].end_ns);
  EXPECT_EQ(4u, sink_.steps[2].number);
  EXPECT_EQ(2u, sink_.lost(LossReason::kStepLost));
}

TEST_F(AssemblerTest, KernelMarksGetTheNumbersBeforeTheTargetsOwn) {
  put(wire::UnmatchedLaunch{10, 5});
  put(wire::UnmatchedLaunch{11, 6});
  put(wire::UnmatchedLaunch{20, 5});
  put(wire::KernelNameMatch{6, 0}, {}, {9, 900, 1});
  put(wire::KernelNameMatch{5, 1}, {}, {9, 900, 1});
  put(mark_begin(0, 30));
  poll_rounds(2);
  EXPECT_THAT(heard_.began, ElementsAre(0, 1, 2));
  EXPECT_EQ(2u, assembler_->steps().offset());
  ASSERT_THAT(sink_.steps, SizeIs(2));
  EXPECT_EQ(10u, sink_.steps[0].start_ns);
  EXPECT_EQ(20u, sink_.steps[0].end_ns);
}

}  // namespace
}  // namespace gpuprof::ingest
