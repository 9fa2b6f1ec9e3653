// SPDX-License-Identifier: Apache-2.0
//
// Whose a launch is, and whose an end that comes from another thread.
#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::SizeIs;

class Owners : public AssemblerTest {
 protected:
  static constexpr std::uint16_t kFunction = 0, kUser = 7;  // at::RecordScope
  static constexpr RingInfo kFirst{0, 100, 1}, kSecond{1, 101, 1}, kThird{2, 102, 1};

  void begin(std::uint64_t ts, std::uint64_t object, std::uint32_t op_id, std::uint16_t scope,
             const RingInfo& ring = kFirst) {
    put(wire::OpBegin{ts, name("op"), 0, 0, -1, object, op_id, 0, 0, scope, 0}, {}, ring);
  }
  void end(std::uint64_t ts, std::uint64_t object, std::uint32_t op_id,
           const RingInfo& ring = kFirst) {
    put(wire::OpEnd{ts, object, op_id, 0}, {}, ring);
  }
  /// A launch in an NVTX range inside an operator or range of PyTorch of this scope.
  void launch_in_a_range_inside(std::uint16_t scope) {
    begin(100, 5, 1, scope);
    push(110, name("cub::DeviceSelect::Flagged"));
    launch(7, 120);
    api(7, 119, 125);
    pop(130);
    end(140, 5, 1);
    assembler_->finish(now_);
  }
  /// Of what began then; 0: nothing did.
  std::uint64_t end_of(std::uint64_t start_ns) const {
    for (const model::Operator& op : sink_.operators)
      if (op.start_ns == start_ns) return op.end_ns;
    return 0;
  }
};

TEST_F(Owners, AnOperatorOwnsTheLaunchesOfARangeInsideIt) {
  launch_in_a_range_inside(kFunction);
  ASSERT_THAT(sink_.operators, SizeIs(1));
  ASSERT_THAT(sink_.calls, SizeIs(1));
  EXPECT_EQ(sink_.operators[0].id, sink_.calls[0].range);
}

TEST_F(Owners, ARangeInsideARangeOfTheProgramOwnsItsLaunches) {
  launch_in_a_range_inside(kUser);
  ASSERT_THAT(sink_.ranges, SizeIs(1));
  ASSERT_THAT(sink_.calls, SizeIs(1));
  EXPECT_EQ(sink_.ranges[0].id, sink_.calls[0].range);
}

TEST_F(Owners, AnEndOnAnotherThreadMayBeReadBeforeItsBegin) {
  end(200, 5, 0, kSecond);
  begin(100, 5, 1, kUser);
  assembler_->finish(now_);
  ASSERT_THAT(sink_.operators, SizeIs(1));
  EXPECT_EQ(sink_.operators[0].end_ns, 200u);
  EXPECT_EQ(sink_.operators[0].end_tid, kSecond.tid);
}

TEST_F(Owners, WhatEndedOnAnotherThreadIsNoParentOfWhatFollows) {
  begin(100, 5, 1, kUser);
  end(200, 5, 0, kSecond);
  begin(300, 6, 2, kFunction);
  end(400, 6, 2);
  assembler_->finish(now_);
  ASSERT_THAT(sink_.operators, SizeIs(2));
  EXPECT_EQ(sink_.operators[1].start_ns, 300u);
  EXPECT_EQ(sink_.operators[1].parent, 0u);
}

TEST_F(Owners, AnEndReadEarlyIsNotThatOfAnotherInTheSameMemoryBefore) {
  end(400, 5, 0, kSecond);
  begin(100, 5, 1, kUser);
  end(200, 5, 1);
  begin(300, 5, 2, kUser);
  begin(500, 6, 3, kUser);
  end(600, 6, 3);
  assembler_->finish(now_);
  EXPECT_EQ(end_of(100), 200u);
  EXPECT_EQ(end_of(300), 400u);
}

TEST_F(Owners, AnEndOfMemoryThatServesAgainEndsTheEarlierOne) {
  begin(100, 5, 1, kUser);
  begin(300, 5, 1, kUser, kThird);
  end(200, 5, 0, kSecond);
  end(400, 5, 1, kThird);
  assembler_->finish(now_);
  EXPECT_EQ(end_of(100), 200u);
  EXPECT_EQ(end_of(300), 400u);
}

TEST_F(Owners, AnEndNobodyBeganEndsNothingThatBeginsLater) {
  end(200, 5, 0, kSecond);
  begin(300, 5, 1, kUser);
  end(350, 5, 1);
  assembler_->finish(now_);
  ASSERT_THAT(sink_.operators, SizeIs(1));
  EXPECT_EQ(sink_.operators[0].end_ns, 350u);
}

// A daemon that had no turn for a while reads all begins, then all ends.
TEST_F(Owners, NoEndOfABurstIsLost) {
  constexpr std::uint32_t kMany = 300;
  for (std::uint32_t i = 1; i <= kMany; ++i) begin(1000 + i, i, i, kUser);
  for (std::uint32_t i = 1; i <= kMany; ++i) end(2000 + i, i, 0, kSecond);
  poll_rounds();
  ASSERT_THAT(sink_.operators, SizeIs(kMany));
  for (const model::Operator& op : sink_.operators) EXPECT_EQ(op.end_ns, op.start_ns + 1000);
  EXPECT_TRUE(assembler_->losses().totals().empty());
}

TEST_F(Owners, EndsThatNobodyBeganAreCountedWhereTheyAreTooMany) {
  for (std::uint32_t i = 1; i <= 4100; ++i) end(2000 + i, i, 0, kSecond);
  const auto& lost = assembler_->losses().totals();
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost.begin()->first, model::LossReason::kPopWithoutPush);
  EXPECT_EQ(lost.begin()->second, 4100u - 4096u);
}

}  // namespace
}  // namespace gpuprof::ingest
