// SPDX-License-Identifier: Apache-2.0
//
// Records in, events out: definitions, ranges, joins, losses.
#include <gmock/gmock.h>

#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using model::LossReason;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string words(std::initializer_list<std::uint64_t> values) {
  std::string bytes;
  for (const std::uint64_t value : values)
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

// ---- definitions ----

TEST_F(AssemblerTest, DefinesAStringOnceHoweverOftenItComes) {
  const std::uint64_t id = name("step");
  name("step");
  put(wire::NvtxMark{5, id, 0, 0, 0, 0, 0});
  ASSERT_THAT(sink_.ranges, SizeIs(1));
  EXPECT_EQ("step", sink_.strings[sink_.ranges[0].name]);
}

TEST_F(AssemblerTest, DefinesStacksWithTheirCode) {
  const std::string file = "a.py", function = "train", table = "\x01\x02";
  put(wire::PyCodeDef{77, 3, 11, 0, 4, 5, 2, 0}, file + function + table);
  std::string tail = words({0x1000, 0x2000});
  const wire::PyFrame frame{77, 16, wire::kPyEntry};
  tail.append(reinterpret_cast<const char*>(&frame), sizeof frame);
  put(wire::StackDef{55, 2, 1, wire::kStackInCallback}, tail);
  put(wire::Sample{9, 55, 100, 0, 10});
  ASSERT_THAT(sink_.stacks, SizeIs(1));
  EXPECT_THAT(sink_.stacks[0].native, ElementsAre(0x1000, 0x2000));
  ASSERT_THAT(sink_.stacks[0].python, SizeIs(1));
  EXPECT_EQ(16, sink_.stacks[0].python[0].instr_offset);
  ASSERT_THAT(sink_.codes, SizeIs(1));
  EXPECT_EQ("a.py", sink_.codes[0].file);
  EXPECT_EQ("train", sink_.codes[0].name);
  EXPECT_EQ(table, sink_.codes[0].table);
  EXPECT_EQ(sink_.stacks[0].id, sink_.samples[0].stack);
}

TEST_F(AssemblerTest, SampleWaitsForItsStackFromAnotherRing) {
  put(wire::Sample{9, 55, 100, 0, 10});
  poll_rounds(1);
  EXPECT_THAT(sink_.samples, IsEmpty());
  put(wire::StackDef{55, 1, 0, 0}, words({0x1000}), {1, 101, 1});
  poll_rounds(1);
  ASSERT_THAT(sink_.samples, SizeIs(1));
  ASSERT_THAT(sink_.stacks, SizeIs(1));
  EXPECT_EQ(0u, sink_.stacks[0].flags & model::kStackLost);
  EXPECT_EQ(0u, sink_.lost(LossReason::kStackUndefined));
}

TEST_F(AssemblerTest, StackThatNeverComesIsLostAndCounted) {
  put(wire::Sample{9, 55, 100, 0, 10});
  assembler_->finish(now_);
  ASSERT_THAT(sink_.samples, SizeIs(1));
  ASSERT_THAT(sink_.stacks, SizeIs(1));
  EXPECT_EQ(model::kStackLost, sink_.stacks[0].flags);
  EXPECT_EQ(1u, sink_.lost(LossReason::kStackUndefined));
}

TEST_F(AssemblerTest, StackLostOnceIsFoundWhenItComesAgain) {
  put(wire::Sample{9, 55, 100, 0, 10});
  poll_rounds(3);
  put(wire::StackDef{55, 1, 0, 0}, words({0x1000}));
  put(wire::Sample{19, 55, 100, 0, 10});
  ASSERT_THAT(sink_.samples, SizeIs(2));
  EXPECT_NE(sink_.samples[0].stack, sink_.samples[1].stack);
  EXPECT_THAT(sink_.stacks.back().native, ElementsAre(0x1000));
}

TEST_F(AssemblerTest, DefinitionsThatDoNotFitTheirFrameAreRefused) {
  put(wire::StackDef{55, 200, 200, 0}, words({1}));
  put(wire::PyCodeDef{77, 3, 11, 0, 0xffffffff, 0xffffffff, 2, 0}, "x");
  put(wire::StringDef{66, 0xffffffff, 0}, "short");
  assembler_->finish(now_);
  EXPECT_THAT(sink_.stacks, IsEmpty());
  EXPECT_EQ(2u, sink_.lost(LossReason::kRecordMalformed));
  EXPECT_EQ("short", sink_.strings.back());
}

TEST_F(AssemblerTest, TimesAtWhichTheProcessDidNotRunGoNoFurther) {
  constexpr std::uint64_t kDay = 86'400'000'000'000, kStart = 100 * kDay, kNever = ~0ULL;
  assembler_->set_process_start(kStart);
  assembler_->begin_round(kStart + 1'000'000);
  for (const std::uint64_t ts : {kStart - kDay, kStart + kDay, kNever}) {
    put(wire::Sample{ts, 0, 100, 0, 10});
    put(wire::StepMark{ts, 0, 1, wire::kStepBegin, 0});
    push(ts, 0);
    pop(ts);
    launch(1, ts);
    kernel(1, ts, ts + (ts == kNever ? 0 : 1));
  }
  put(wire::Sample{kStart + 1, 0, 100, 0, 10});
  assembler_->finish(kStart + 1'000'000);
  EXPECT_THAT(sink_.samples, SizeIs(1));
  EXPECT_THAT(sink_.kernels, IsEmpty());
  EXPECT_THAT(heard_.activity, IsEmpty());
  EXPECT_THAT(heard_.began, IsEmpty());
  EXPECT_LE(12u, sink_.lost(LossReason::kTimeImplausible));
}

TEST_F(AssemblerTest, ACountNobodyCanHaveReachedIsOneDamagedCounter) {
  put(wire::Lost{1ULL << 60, 1, 2});
  put(wire::Lost{5, 1, 2});
  assembler_->finish(now_);
  EXPECT_EQ(5u, sink_.lost(LossReason::kRingFull));
  EXPECT_EQ(1u, sink_.lost(LossReason::kCountDamaged));
}

TEST_F(AssemblerTest, DictionariesAreBounded) {
  Limits limits;
  limits.strings = 10;
  limits.stacks = 10;
  make(limits);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    put(wire::StackDef{i, 1, 0, 0}, words({i}));
    put(wire::Sample{i, i, 100, 0, 10});
    put(wire::NvtxMark{i, name("n" + std::to_string(i)), 0, 0, 0, 0, 0});
  }
  assembler_->finish(now_);
  EXPECT_THAT(sink_.samples, SizeIs(100)) << "the samples themselves stay";
  EXPECT_LE(sink_.stacks.size(), 11u);
  EXPECT_GE(sink_.lost(LossReason::kStackTableFull), 90u);
  EXPECT_GE(sink_.lost(LossReason::kNameTableFull), 90u);
}

TEST_F(AssemblerTest, NamesInCodeObjectsAreRefusedAsOthersAre) {
  Limits limits;
  limits.strings = 1;
  make(limits);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    const std::string file = "f" + std::to_string(10 + i);
    put(wire::PyCodeDef{i, 3, 11, 0, 3, 1, 0, 0}, file + "g");
  }
  assembler_->finish(now_);
  EXPECT_EQ(39u, sink_.lost(LossReason::kNameTableFull)) << "but the first";
}

// ---- ranges ----

TEST_F(AssemblerTest, PushAndPopMakeNestedRangesWithIdsOfTheirOwn) {
  const std::uint64_t outer = name("outer"), inner = name("inner");
  push(10, outer);
  push(20, inner);
  pop(30);
  pop(40);
  ASSERT_THAT(sink_.ranges, SizeIs(2));
  EXPECT_EQ("inner", sink_.strings[sink_.ranges[0].name]);
  EXPECT_EQ(20u, sink_.ranges[0].start_ns);
  EXPECT_EQ(30u, sink_.ranges[0].end_ns);
  EXPECT_EQ(40u, sink_.ranges[1].end_ns);
  EXPECT_NE(0u, sink_.ranges[0].id);
  EXPECT_NE(sink_.ranges[0].id, sink_.ranges[1].id);
  EXPECT_EQ(0u, sink_.ranges[0].flags | sink_.ranges[1].flags);
}

TEST_F(AssemblerTest, CrossingDomainsAreFlagged) {
  const std::uint64_t a = name("a"), b = name("b");
  push(10, a, 1);
  push(20, b, 2);
  pop(30, 1);
  pop(40, 2);
  ASSERT_THAT(sink_.ranges, SizeIs(2));
  EXPECT_EQ(model::kRangeCrossing, sink_.ranges[0].flags);
  EXPECT_EQ(0u, sink_.ranges[1].flags);
}

TEST_F(AssemblerTest, PopWithoutPushIsCountedOnly) {
  pop(10);
  assembler_->finish(now_);
  EXPECT_THAT(sink_.ranges, IsEmpty());
  EXPECT_EQ(1u, sink_.lost(LossReason::kPopWithoutPush));
}

TEST_F(AssemblerTest, OpenRangesAreClosedUnfinishedAtTheEnd) {
  push(10, name("open"));
  put(wire::RangeStart{15, name("started"), 5, 0, 0, 0, 0, 0});
  assembler_->finish(now_);
  ASSERT_THAT(sink_.ranges, SizeIs(2));
  for (const auto& range : sink_.ranges) {
    EXPECT_EQ(model::kRangeUnfinished, range.flags);
    EXPECT_EQ(now_, range.end_ns);
  }
}

TEST_F(AssemblerTest, RangesOpenWhenRecordingStopsDoNotReachIntoTheNextWindow) {
  push(10, name("old"));
  assembler_->recording_stopped(100);
  push(200, name("new"));
  poll_rounds(2);
  pop(300);
  ASSERT_THAT(sink_.ranges, SizeIs(2));
  EXPECT_EQ(100u, sink_.ranges[0].end_ns);
  EXPECT_EQ(model::kRangeUnfinished, sink_.ranges[0].flags);
  EXPECT_EQ(200u, sink_.ranges[1].start_ns);
  EXPECT_EQ(300u, sink_.ranges[1].end_ns);
}

TEST_F(AssemblerTest, StartEndRangesMayEndOnAnotherThread) {
  put(wire::RangeStart{15, name("r"), 5, 3, 0, 0, 0, 0});
  put(wire::RangeEnd{25, 5}, {}, {1, 200, 1});
  ASSERT_THAT(sink_.ranges, SizeIs(1));
  EXPECT_EQ(model::RangeKind::kStartEnd, sink_.ranges[0].kind);
  EXPECT_EQ(100u, sink_.ranges[0].tid);
  EXPECT_EQ(200u, sink_.ranges[0].end_tid);
}

TEST_F(AssemblerTest, DropsInARingEndItsOpenRanges) {
  push(10, name("a"));
  put(wire::Lost{7, 20, 30});
  pop(40);
  assembler_->finish(now_);
  ASSERT_THAT(sink_.ranges, SizeIs(1));
  EXPECT_EQ(20u, sink_.ranges[0].end_ns);
  EXPECT_EQ(7u, sink_.lost(LossReason::kRingFull));
  EXPECT_EQ(1u, sink_.lost(LossReason::kPopWithoutPush));
}

TEST_F(AssemblerTest, DepthIsBoundedAndStaysInStep) {
  Limits limits;
  limits.range_depth = 3;
  make(limits);
  const std::uint64_t id = name("r");
  for (std::uint64_t i = 0; i < 10; ++i) push(i + 1, id);
  for (std::uint64_t i = 0; i < 10; ++i) pop(100 + i);
  ASSERT_THAT(sink_.ranges, SizeIs(3));
  EXPECT_EQ(1u, sink_.ranges[2].start_ns);
  EXPECT_EQ(109u, sink_.ranges[2].end_ns);
}

// ---- joins ----

TEST_F(AssemblerTest, KernelTakesThreadAndRangeOfItsLaunchWhateverCameFirst) {
  const std::uint64_t op = name("op");
  push(10, op);
  kernel(42, 50, 60);  // another ring buffer, drained first
  put(wire::StackDef{55, 1, 0, 0}, words({0x1000}));
  launch(42, 20, 55);
  api(42, 21, 25);
  pop(30);
  poll_rounds();
  ASSERT_THAT(sink_.kernels, SizeIs(1));
  ASSERT_THAT(sink_.ranges, SizeIs(1));
  ASSERT_THAT(sink_.calls, SizeIs(1));
  EXPECT_EQ(sink_.ranges[0].id, sink_.kernels[0].range);
  EXPECT_EQ(100u, sink_.kernels[0].launch_tid);
  EXPECT_EQ(50u, sink_.kernels[0].start_ns);
  EXPECT_EQ(60u, sink_.kernels[0].end_ns);
  EXPECT_EQ(sink_.ranges[0].id, sink_.calls[0].range);
  EXPECT_EQ(sink_.stacks[0].id, sink_.calls[0].stack);
  EXPECT_EQ(sink_.stacks[0].id, sink_.ranges[0].stack) << "the first launch inside";
  EXPECT_THAT(heard_.activity, ElementsAre(20));
}

TEST_F(AssemblerTest, RangesKeepTheStackOfTheirFirstLaunch) {
  put(wire::StackDef{1, 1, 0, 0}, words({1}));
  put(wire::StackDef{2, 1, 0, 0}, words({2}));
  push(10, name("outer"));
  launch(1, 11, 1);
  push(12, name("inner"));
  launch(2, 13, 2);
  pop(14);
  pop(15);
  ASSERT_THAT(sink_.ranges, SizeIs(2));
  EXPECT_EQ(sink_.stacks[1].id, sink_.ranges[0].stack);
  EXPECT_EQ(sink_.stacks[0].id, sink_.ranges[1].stack);
}

TEST_F(AssemblerTest, OneGraphLaunchHasManyKernels) {
  launch(7);
  for (std::uint64_t i = 0; i < 5; ++i) kernel(7, 100 + 10 * i, 105 + 10 * i);
  poll_rounds();
  ASSERT_THAT(sink_.kernels, SizeIs(5));
  for (const auto& k : sink_.kernels) EXPECT_EQ(100u, k.launch_tid);
}

TEST_F(AssemblerTest, KernelWithoutLaunchStaysAndIsCounted) {
  kernel(9, 100, 110);
  poll_rounds();
  ASSERT_THAT(sink_.kernels, SizeIs(1));
  EXPECT_EQ(0u, sink_.kernels[0].launch_tid);
  EXPECT_EQ(1u, assembler_->counts().launches_unseen);
}

TEST_F(AssemblerTest, WritesOnlyTheOuterOfTwoCallsWithOneId) {
  launch(5, 10, 0, 2);
  launch(5, 11, 0, 1);  // the driver's, inside
  api(5, 12, 13, 1);
  poll_rounds();
  EXPECT_THAT(sink_.calls, IsEmpty()) << "its runtime call is expected";
  api(5, 10, 15, 2);
  poll_rounds();
  assembler_->finish(now_);
  ASSERT_THAT(sink_.calls, SizeIs(1));
  EXPECT_EQ(2u, sink_.calls[0].api);
  EXPECT_EQ(1u, sink_.lost(LossReason::kDuplicateCall));
}

TEST_F(AssemblerTest, WritesTheInnerCallWhenTheOuterWasLost) {
  launch(5, 10, 0, 2);
  api(5, 12, 13, 1);
  poll_rounds(12);
  ASSERT_THAT(sink_.calls, SizeIs(1));
  EXPECT_EQ(1u, sink_.calls[0].api);
}

TEST_F(AssemblerTest, CorrelationIdsThatComeAgainMeanTheNewerLaunch) {
  const RingInfo other{3, 300, 1};
  launch(5, 10);
  launch(5, 20, 0, 2, other);
  kernel(5, 100, 110);
  poll_rounds();
  ASSERT_THAT(sink_.kernels, SizeIs(1));
  EXPECT_EQ(300u, sink_.kernels[0].launch_tid);
}

TEST_F(AssemblerTest, BadTimesAreCountedAndNeverWritten) {
  kernel(1, 0, 10);
  kernel(2, 20, 10);
  kernel(3, 10, 20, wire::kGpuBadTime);
  kernel(4, 10, 20);
  assembler_->finish(now_);
  EXPECT_THAT(sink_.kernels, SizeIs(1));
  EXPECT_EQ(3u, sink_.lost(LossReason::kCuptiBadTime));
}

// The agent counts them, too; once is enough.
TEST_F(AssemblerTest, WorkThatHadNotEndedIsOneLoss) {
  kernel(1, 10, 0);
  assembler_->finish(now_);
  EXPECT_THAT(sink_.kernels, SizeIs(0));
  EXPECT_EQ(1u, sink_.lost(LossReason::kCuptiIncomplete));
  EXPECT_EQ(0u, sink_.lost(LossReason::kCuptiBadTime));
}

TEST_F(AssemblerTest, SaysWhenTheSystemClockWasSet) {
  put(wire::ClockSync{kRealOffset + 10, 10, kRealOffset + 10, 0, 0, 20, 0});
  put(wire::ClockSync{2 * kRealOffset, 20, 2 * kRealOffset, 0, 0, 20, 0});
  ASSERT_THAT(sink_.notices, SizeIs(1));
  EXPECT_THAT(sink_.notices[0], HasSubstr("clock was set"));
}

}  // namespace
}  // namespace gpuprof::ingest
