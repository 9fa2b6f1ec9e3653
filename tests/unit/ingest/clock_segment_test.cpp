// SPDX-License-Identifier: Apache-2.0
//
// What the assembler does with records of a clock that must be learnt first.
#include <gmock/gmock.h>

#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using model::LossReason;
using testing::HasSubstr;
using testing::SizeIs;

/// A reading of a counter that runs at 2 ticks a nanosecond.
wire::ClockSync counter_at(std::uint64_t mono) {
  return {2 * mono, mono, 1'000'000'000'000'000 + mono, mono, 2 * mono, 20, wire::kClockForeign};
}
wire::KernelExec kernel_at(std::uint64_t start, std::uint64_t end) {
  wire::KernelExec k{};
  k.start_ns = start, k.end_ns = end;
  return k;
}
constexpr RingInfo kFlushRing{5, 900, 1};

TEST_F(AssemblerTest, RecordsOfAForeignClockWaitForItsRate) {
  put(counter_at(40'000'000), {}, kFlushRing);
  put(kernel_at(90'000'000, 92'000'000), {}, kFlushRing);
  put(counter_at(50'000'000), {}, kFlushRing);
  poll_rounds();
  EXPECT_THAT(sink_.kernels, SizeIs(0)) << "10 ms of readings are too little for a good rate";
  put(counter_at(150'000'000), {}, kFlushRing);
  poll_rounds(1);
  ASSERT_THAT(sink_.kernels, SizeIs(1));
  EXPECT_EQ(45'000'000u, sink_.kernels[0].start_ns);
  EXPECT_EQ(46'000'000u, sink_.kernels[0].end_ns);
  EXPECT_EQ(0u, sink_.facts.count("clock.rough_records")) << "it had waited for a good one";
}

TEST_F(AssemblerTest, AWindowThatIsWrittenWaitsForNoRate) {
  put(counter_at(40'000'000), {}, kFlushRing);
  put(kernel_at(90'000'000, 92'000'000), {}, kFlushRing);
  put(counter_at(50'000'000), {}, kFlushRing);
  assembler_->expedite();
  poll_rounds(3);
  ASSERT_THAT(sink_.kernels, SizeIs(1));
  EXPECT_EQ(45'000'000u, sink_.kernels[0].start_ns);
  EXPECT_EQ("1", sink_.facts["clock.rough_records"]);
  EXPECT_EQ("2", sink_.facts["clock.rough_ppm"]) << "20 ns in 10 ms";
}

TEST_F(AssemblerTest, AReadingThatNeverComesHoldsNothingForLong) {
  put(wire::ClockSync{kRealOffset + 10, 10, kRealOffset + 10, 0, 0, 20, 0}, {}, kFlushRing);
  kernel(1, 100, 110);
  poll_rounds(2);
  EXPECT_THAT(sink_.kernels, SizeIs(0)) << "the reading behind a delivery usually comes at once";
  poll_rounds(60);
  EXPECT_THAT(sink_.kernels, SizeIs(1));
}

TEST_F(AssemblerTest, WithoutAnyRateRecordsAreCounted) {
  put(counter_at(40'000'000), {}, kFlushRing);
  put(kernel_at(90'000'000, 92'000'000), {}, kFlushRing);
  assembler_->finish(now_);
  EXPECT_THAT(sink_.kernels, SizeIs(0));
  EXPECT_EQ(1u, sink_.lost(LossReason::kGpuNoClock));
}

/// CUPTI's clock is set back by a second between two readings.
class SetBack : public AssemblerTest {
 protected:
  static constexpr std::uint64_t kBack = 1'000'000'000;

  void SetUp() override {
    AssemblerTest::SetUp();
    now_ = 3'000'000'000;
    reading(1'990'000'000, 0);
  }
  void reading(std::uint64_t mono, std::uint64_t back) {
    put(wire::ClockSync{kRealOffset + mono - back, mono, kRealOffset + mono - back, mono, 0, 20, 0},
        {}, kFlushRing);
  }
  void one_call_began_at(std::uint64_t ns) {
    reading(2'200'000'000, kBack);
    poll_rounds(4);
    ASSERT_THAT(sink_.calls, SizeIs(1));
    EXPECT_EQ(ns, sink_.calls[0].start_ns);
  }
};

TEST_F(SetBack, ACallWhoseCallbackCameLateIsOfTheClockItWasWrittenWith) {
  reading(2'100'000'000, kBack);
  launch(11, 2'001'000'000);  // a millisecond after the call began
  api(11, 2'000'000'000, 2'001'100'000);
  one_call_began_at(2'000'000'000);
}

TEST_F(SetBack, ACallWithoutACallbackLiesBetweenItsNeighbours) {
  launch(10, 2'000'000'000);
  launch(12, 2'001'000'000);
  api(11, 2'000'500'000 - kBack, 2'000'501'000 - kBack);
  reading(2'100'000'000, kBack);
  one_call_began_at(2'000'500'000);
}

TEST_F(SetBack, WhatFitsNoClockIsOfTheNearest) {
  launch(10, 2'002'000'000);  // its thread lost the processor between its number and its callback
  launch(12, 2'003'000'000);
  reading(2'100'000'000, kBack);
  api(11, 2'000'500'000, 2'000'501'000);
  one_call_began_at(2'000'500'000);
}

TEST_F(AssemblerTest, SaysWhenCuptisClockBecomesAnother) {
  put(wire::ClockSync{kRealOffset + 10, 10, kRealOffset + 10, 0, 0, 20, 0}, {}, kFlushRing);
  put(wire::ClockSync{2'000'000, 20, kRealOffset + 20, 0, 2'000'050, 20, 0}, {}, kFlushRing);
  ASSERT_THAT(sink_.notices, SizeIs(1));
  EXPECT_THAT(sink_.notices[0], HasSubstr("changed CUPTI's clock to the time-stamp counter"));
}

}  // namespace
}  // namespace gpuprof::ingest
