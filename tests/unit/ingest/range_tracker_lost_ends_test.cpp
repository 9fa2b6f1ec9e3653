// SPDX-License-Identifier: Apache-2.0
//
// Operators whose ends were dropped: none lasts longer than it did.
#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::SizeIs;

class LostEnds : public AssemblerTest {
 protected:
  void begin(std::uint64_t ts, std::uint64_t object, std::uint32_t op_id) {
    put(wire::OpBegin{ts, name("op"), 0, 0, -1, object, op_id, 0, 0, 0, 0});
  }
  /// @param outer Of those that stay open, the innermost one.
  void end(std::uint64_t ts, std::uint64_t object, std::uint32_t op_id, std::uint32_t outer) {
    put(wire::OpEnd{ts, object, op_id, outer});
  }
  void lost(std::uint64_t count, std::uint64_t first_ns, std::uint64_t last_ns) {
    put(wire::Lost{count, first_ns, last_ns});
  }
  /// The one that began then.
  const model::Operator& at(std::uint64_t start_ns) const {
    const auto found =
        std::find_if(sink_.operators.begin(), sink_.operators.end(),
                     [&](const model::Operator& op) { return op.start_ns == start_ns; });
    EXPECT_NE(found, sink_.operators.end()) << start_ns;
    return found == sink_.operators.end() ? none_ : *found;
  }
  static constexpr std::uint32_t kUnfinished = model::kRangeUnfinished;
  const model::Operator none_{};
};

TEST_F(LostEnds, WhatEndedUnseenLastsUntilTheFirstDropOnly) {
  begin(100, 1, 1);
  begin(110, 2, 2);
  begin(120, 3, 3);
  lost(2, 130, 150);  // the ends of both inner ones
  begin(500, 4, 4);
  end(510, 4, 4, 1);
  end(600, 1, 1, 0);
  ASSERT_THAT(sink_.operators, SizeIs(4));
  for (const std::uint64_t start : {110, 120}) {
    EXPECT_EQ(130u, at(start).end_ns);
    EXPECT_EQ(kUnfinished, at(start).flags);
  }
  EXPECT_EQ(600u, at(100).end_ns);
  EXPECT_EQ(0u, at(100).flags);
  EXPECT_EQ(0u, at(500).flags);
}

TEST_F(LostEnds, WhatBeginsAfterwardsIsInsideWhatIsStillOpen) {
  begin(100, 1, 1);
  begin(110, 2, 2);
  lost(1, 130, 130);
  begin(500, 4, 4);
  begin(510, 5, 5);
  end(520, 5, 5, 4);
  end(530, 4, 4, 1);
  end(600, 1, 1, 0);
  EXPECT_EQ(at(100).id, at(500).parent);
  EXPECT_EQ(at(500).id, at(510).parent);
  EXPECT_EQ(130u, at(110).end_ns);
}

TEST_F(LostEnds, WhatIsStillOpenEndsWhereItEnds) {
  begin(100, 1, 1);
  begin(110, 2, 2);
  lost(40, 130, 200);  // whole operators
  begin(500, 4, 44);
  end(510, 4, 44, 2);
  end(520, 2, 2, 1);
  end(530, 1, 1, 0);
  ASSERT_THAT(sink_.operators, SizeIs(3));
  for (const model::Operator& op : sink_.operators) EXPECT_EQ(0u, op.flags);
  EXPECT_EQ(520u, at(110).end_ns);
  EXPECT_EQ(at(110).id, at(500).parent);
}

TEST_F(LostEnds, OneThatBeganAmongTheDropsTellsNothingOfTheOthers) {
  begin(100, 1, 1);
  lost(1, 130, 130);  // the begin of operator 2
  begin(200, 3, 3);
  end(210, 3, 3, 2);
  ASSERT_THAT(sink_.operators, SizeIs(1));
  end(220, 2, 2, 1);  // nothing is known of it
  end(230, 1, 1, 0);
  ASSERT_THAT(sink_.operators, SizeIs(2));
  EXPECT_EQ(230u, at(100).end_ns);
  EXPECT_EQ(0u, at(100).flags);
}

TEST_F(LostEnds, MemoryThatServesAgainIsNotTheOperatorBefore) {
  begin(100, 1, 1);
  lost(2, 130, 400);  // its end, and the begin of another one in the same memory
  end(500, 1, 2, 0);
  ASSERT_THAT(sink_.operators, SizeIs(1));
  EXPECT_EQ(130u, at(100).end_ns);
  EXPECT_EQ(kUnfinished, at(100).flags);
}

// It may have ended on a thread whose records were not dropped.
TEST_F(LostEnds, ARangeThatAFutureEndsStaysOpen) {
  begin(100, 1, 1);
  begin(110, 2, 2);
  lost(2, 130, 150);  // an operator inside both
  end(200, 1, 1, 2);
  put(wire::OpEnd{400, 2, 0, 0}, {}, {1, 101, 1});
  assembler_->finish(now_);
  ASSERT_THAT(sink_.operators, SizeIs(2));
  EXPECT_EQ(200u, at(100).end_ns);
  EXPECT_EQ(400u, at(110).end_ns);
  EXPECT_EQ(101u, at(110).end_tid);
}

TEST_F(LostEnds, CopiesOfWhatIsInDoubtAreNoLongerThanIsKnown) {
  begin(100, 1, 1);
  push(105, name("range"));
  begin(110, 2, 2);
  assembler_->snapshot_open(120);
  lost(3, 130, 150);
  assembler_->snapshot_open(300);
  assembler_->snapshot_open(400);  // nothing is new
  constexpr std::uint32_t kCopy = model::kRangeUnfinished | model::kRangeOpenSnapshot;
  ASSERT_THAT(sink_.operators, SizeIs(4));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(i < 2 ? 120u : 130u, sink_.operators[i].end_ns);
    EXPECT_EQ(i < 2 ? kCopy : kCopy | model::kRangeEndUnknown, sink_.operators[i].flags);
  }
  ASSERT_FALSE(sink_.ranges.empty());
  EXPECT_EQ(kCopy, sink_.ranges[0].flags);
  EXPECT_EQ(0u, assembler_->counts().operators) << "copies do not count";
}

TEST_F(LostEnds, AtTheEndWhatIsInDoubtIsNoLongerThanIsKnown) {
  begin(100, 1, 1);
  lost(3, 130, 150);
  assembler_->finish(now_);
  ASSERT_THAT(sink_.operators, SizeIs(1));
  EXPECT_EQ(130u, at(100).end_ns);
  EXPECT_EQ(kUnfinished, at(100).flags);
}

TEST_F(LostEnds, ALaunchOutsideOfAnyOperatorTellsThatTheyHaveEnded) {
  begin(100, 1, 1);
  lost(1, 130, 130);
  push(200, name("range"));
  launch(7, 210);
  api(7, 209, 220);
  pop(230);
  launch(8, 240);
  api(8, 239, 250);
  assembler_->finish(now_);
  EXPECT_EQ(130u, at(100).end_ns);
  ASSERT_THAT(sink_.ranges, SizeIs(1));
  ASSERT_THAT(sink_.calls, SizeIs(2));
  EXPECT_EQ(sink_.ranges[0].id, sink_.calls[0].range);
  EXPECT_EQ(0u, sink_.calls[1].range);
}

TEST_F(LostEnds, ALaunchThatNamesAnOperatorTellsThatInnerOnesHaveEnded) {
  begin(100, 1, 1);
  begin(110, 2, 2);
  lost(1, 130, 130);
  put(wire::Launch{200, 0, 7, 2, 0, 211, 100, 1, 0});
  push(300, name("range"));
  pop(310);
  end(400, 1, 1, 0);
  EXPECT_EQ(130u, at(110).end_ns);
  ASSERT_THAT(sink_.ranges, SizeIs(1));
  EXPECT_EQ(at(100).id, sink_.ranges[0].parent);
  EXPECT_EQ(400u, at(100).end_ns);
  EXPECT_EQ(0u, at(100).flags);
}

// The thread remembers 192 of them.
TEST_F(LostEnds, WhatItsThreadHasForgottenIsNotSaidToHaveEnded) {
  constexpr std::uint32_t kDeep = 200, kForgotten = 8;
  for (std::uint32_t i = 1; i <= kDeep; ++i) begin(100 + i, i, i);
  for (std::uint32_t i = kDeep; i > kForgotten + 1; --i) end(1000 - i, i, i, i - 1);
  lost(2, 1000, 1010);  // a whole one
  end(1100, kForgotten + 1, kForgotten + 1, wire::kOpUnknown);
  put(wire::Launch{1200, 0, 7, 2, 0, 211, 100, wire::kOpUnknown, 0});
  api(7, 1190, 1210);
  for (std::uint32_t i = kForgotten; i > 0; --i) end(2000 - i, i, 0, i == 1 ? 0 : wire::kOpUnknown);
  assembler_->finish(now_);
  ASSERT_THAT(sink_.operators, SizeIs(kDeep));
  for (const model::Operator& op : sink_.operators)
    EXPECT_EQ(0u, op.flags & ~model::kRangeDeep) << op.start_ns;
  EXPECT_EQ(1999u, at(101).end_ns);
  ASSERT_THAT(sink_.calls, SizeIs(1));
  EXPECT_EQ(at(100 + kForgotten).id, sink_.calls[0].range);
}

}  // namespace
}  // namespace gpuprof::ingest
