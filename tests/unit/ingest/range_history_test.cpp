// SPDX-License-Identifier: Apache-2.0
//
// Whose a call is that was recorded without a callback of ours, and the GPU work of it.
#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class CallsWithoutCallback : public AssemblerTest {
 protected:
  static constexpr RingInfo kFirst{0, 100, 1};

  void begin(std::uint64_t ts, std::uint32_t op_id) {
    put(wire::OpBegin{ts, name("op"), 0, 0, -1, op_id, op_id, 0, 0, 0, 0}, {}, kFirst);
  }
  void end(std::uint64_t ts, std::uint32_t op_id) {
    put(wire::OpEnd{ts, op_id, op_id, 0}, {}, kFirst);
  }
  /// Its operator, by the operator's begin; 0: none.
  std::uint64_t owner_of_call(std::uint32_t correlation) const {
    for (const model::ApiCall& call : sink_.calls)
      if (call.correlation == correlation) return began(call.range);
    ADD_FAILURE() << "no call " << correlation;
    return 0;
  }
  std::uint64_t owner_of_kernel(std::uint32_t correlation) const {
    for (const model::Kernel& kernel : sink_.kernels)
      if (kernel.correlation == correlation) return began(kernel.range);
    ADD_FAILURE() << "no kernel " << correlation;
    return 0;
  }

 private:
  std::uint64_t began(model::RangeId id) const {
    for (const model::Operator& op : sink_.operators)
      if (op.id == id) return op.start_ns;
    for (const model::Range& range : sink_.ranges)
      if (range.id == id) return range.start_ns;
    return 0;
  }
};

TEST_F(CallsWithoutCallback, BelongToWhatTheirThreadWasInByThen) {
  begin(100, 1);
  begin(120, 2);
  end(140, 2);
  push(150, name("range"));
  pop(170);
  end(200, 1);
  api(1, 90, 98);    // before
  api(2, 105, 110);  // in the outer
  api(3, 125, 135);  // in the inner
  api(4, 155, 165);  // in a range inside an operator: the operator's
  api(5, 205, 215);  // behind
  for (std::uint32_t i = 1; i <= 5; ++i) kernel(i, 300 + 10 * i, 305 + 10 * i);
  assembler_->finish(now_);
  const std::uint64_t expected[] = {0, 100, 120, 100, 0};
  for (std::uint32_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(owner_of_call(i), expected[i - 1]) << i;
    EXPECT_EQ(owner_of_kernel(i), expected[i - 1]) << i;
  }
  EXPECT_EQ(assembler_->counts().launches_unseen, 0u);
}

// CUPTI's clock is another one: begin and end may be off by a microsecond.
TEST_F(CallsWithoutCallback, TheirMiddleDecides) {
  begin(100, 1);
  end(200, 1);
  begin(210, 2);
  end(300, 2);
  api(1, 190, 290);
  assembler_->finish(now_);
  EXPECT_EQ(owner_of_call(1), 210u);
}

TEST_F(CallsWithoutCallback, ALaunchThatWasSeenKeepsItsOwn) {
  begin(100, 1);
  launch(1, 110);
  end(120, 1);
  begin(130, 2);
  api(1, 135, 145);
  end(150, 2);
  assembler_->finish(now_);
  EXPECT_EQ(owner_of_call(1), 100u);
}

TEST_F(CallsWithoutCallback, OnlyOfTheirThread) {
  const RingInfo other{1, 101, 1};
  put(wire::OpBegin{100, name("op"), 0, 0, -1, 1, 1, 0, 0, 0, 0}, {}, other);
  put(wire::OpEnd{200, 1, 1, 0}, {}, other);
  api(1, 120, 130);  // thread 100
  assembler_->finish(now_);
  EXPECT_EQ(owner_of_call(1), 0u);
}

TEST_F(CallsWithoutCallback, WhatWasLostIsNobodys) {
  begin(100, 1);
  put(wire::Lost{3, 120, 180}, {}, kFirst);
  begin(200, 2);
  end(220, 2);
  api(1, 105, 115);
  api(2, 125, 135);
  api(3, 205, 215);
  assembler_->finish(now_);
  EXPECT_EQ(owner_of_call(1), 100u);
  EXPECT_EQ(owner_of_call(2), 0u);
  EXPECT_EQ(owner_of_call(3), 200u);
}

TEST_F(CallsWithoutCallback, AnOperatorOfTheWindowBeforeIsNobodys) {
  begin(100, 1);
  assembler_->recording_stopped(200);
  poll_rounds(3);
  api(1, 150, 160);
  api(2, 300, 310);
  assembler_->finish(now_);
  EXPECT_EQ(owner_of_call(1), 100u);
  EXPECT_EQ(owner_of_call(2), 0u);
}

TEST_F(CallsWithoutCallback, AKernelWaitsForItsCall) {
  begin(100, 1);
  end(200, 1);
  api(1, 110, 120);
  kernel(2, 300, 310);
  poll_rounds(4);
  EXPECT_THAT(sink_.calls, SizeIs(1));
  EXPECT_THAT(sink_.kernels, IsEmpty());
  api(2, 130, 140);
  poll_rounds();
  ASSERT_THAT(sink_.kernels, SizeIs(1));
  assembler_->finish(now_);
  EXPECT_EQ(owner_of_kernel(2), 100u);
  EXPECT_EQ(sink_.kernels[0].launch_tid, 100u);
}

TEST_F(CallsWithoutCallback, AKernelDoesNotWaitForEver) {
  api(1, 110, 120);
  kernel(2, 300, 310);
  poll_rounds(20);
  EXPECT_THAT(sink_.kernels, SizeIs(1));
  EXPECT_EQ(assembler_->counts().launches_unseen, 1u);
}

TEST_F(CallsWithoutCallback, AKernelWaitsForNoneWhereAFileIsDue) {
  api(1, 110, 120);
  kernel(2, 300, 310);
  assembler_->expedite();
  poll_rounds(2);
  EXPECT_THAT(sink_.kernels, SizeIs(1));
}

TEST_F(CallsWithoutCallback, AKernelWaitsForNoneWhereCallsDoNotComeAsRecords) {
  kernel(2, 300, 310);
  poll_rounds(2);
  EXPECT_THAT(sink_.kernels, SizeIs(1));
}

TEST(RangeHistoryTest, ForgetsTheOldestOfAThread) {
  RangeHistory history;
  constexpr std::uint64_t kTurns = 3 * RangeHistory::kMaxOfOne;
  for (std::uint64_t i = 1; i <= kTurns; ++i) history.enter(7, 10 * i, i);
  EXPECT_EQ(history.at(7, 10 * kTurns + 5), kTurns);
  const std::uint64_t kept = kTurns - RangeHistory::kMaxOfOne / 2 + 1;
  EXPECT_EQ(history.at(7, 10 * kept + 5), kept);
  EXPECT_EQ(history.at(7, 15), 0u);
}

TEST(RangeHistoryTest, ForgetsThreadsThatAreGone) {
  RangeHistory history;
  history.enter(1, 10, 1);
  std::uint64_t ts_ns = 100;
  for (std::uint32_t tid = 2; tid < 80; ++tid) {
    for (std::uint32_t i = 0; i < RangeHistory::kMaxOfOne; ++i) {
      ++ts_ns;
      history.enter(tid, ts_ns, ts_ns);
    }
  }
  EXPECT_EQ(history.at(1, 20), 0u);
  EXPECT_EQ(history.at(2, 200), 0u);
  EXPECT_EQ(history.at(79, ts_ns), ts_ns);
}

TEST(RangeHistoryTest, ATimeThatFallsIsTheOneBefore) {
  RangeHistory history;
  history.enter(1, 100, 5);
  history.enter(1, 90, 6);
  EXPECT_EQ(history.at(1, 95), 0u);
  EXPECT_EQ(history.at(1, 100), 6u);
}

}  // namespace
}  // namespace gpuprof::ingest
