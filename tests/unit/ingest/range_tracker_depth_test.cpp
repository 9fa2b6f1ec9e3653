// SPDX-License-Identifier: Apache-2.0
//
// Operators and ranges inside very many others.
#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::SizeIs;

class Depth : public AssemblerTest {
 protected:
  /// A range where `i` is odd, else an operator.
  void begin(std::uint64_t i) {
    if (i % 2 == 1) return push(100 + i, name("range"));
    put(wire::OpBegin{100 + i, name("op"), 0, 0, -1, i + 1, static_cast<std::uint32_t>(i + 1), 0, 0,
                      7, 0});
  }
  void end(std::uint64_t i) {
    if (i % 2 == 1) return pop(2000 - i);
    put(wire::OpEnd{2000 - i, i + 1, static_cast<std::uint32_t>(i + 1), 0});
  }
};

TEST_F(Depth, MarksWhatLiesBelowTooManyOperatorsAndRanges) {
  Limits limits;
  limits.viewer_depth = 10;
  make(limits);
  for (std::uint64_t i = 0; i < 16; ++i) begin(i);
  for (std::uint64_t i = 16; i-- > 0;) end(i);
  assembler_->finish(now_);
  ASSERT_THAT(sink_.ranges, SizeIs(8));
  ASSERT_THAT(sink_.operators, SizeIs(8));
  for (const auto& range : sink_.ranges)
    EXPECT_EQ(range.start_ns >= 110, (range.flags & model::kRangeDeep) != 0) << range.start_ns;
  for (const auto& op : sink_.operators)
    EXPECT_EQ(op.start_ns >= 110, (op.flags & model::kRangeDeep) != 0) << op.start_ns;
}

TEST_F(Depth, EndsOfWhatTheThreadNoLongerKnewNest) {
  for (std::uint64_t i = 0; i < 8; i += 2) begin(i);
  for (std::uint64_t i = 6; i > 2; i -= 2) end(i);
  for (const std::uint64_t i : {2, 0}) put(wire::OpEnd{2000 - i, i + 1, 0, 0});
  ASSERT_THAT(sink_.operators, SizeIs(4));
  for (const auto& op : sink_.operators) {
    EXPECT_EQ(0u, op.flags);
    EXPECT_EQ(2100 - op.start_ns, op.end_ns);
  }
}

TEST_F(Depth, WhatFollowsIsNoLongerDeep) {
  Limits limits;
  limits.viewer_depth = 3;
  make(limits);
  for (std::uint64_t i = 0; i < 5; ++i) begin(i);
  for (std::uint64_t i = 5; i-- > 2;) end(i);
  push(2100, name("next"));
  pop(2200);
  EXPECT_EQ(0u, sink_.ranges.back().flags);
}

TEST_F(Depth, LaunchesBelongToTheInnermostThatIsNotDeep) {
  Limits limits;
  limits.viewer_depth = 4;
  make(limits);
  for (std::uint64_t i = 0; i < 8; ++i) begin(i);
  launch(7, 150);
  api(7, 149, 152);
  for (std::uint64_t i = 8; i-- > 0;) end(i);
  assembler_->finish(now_);
  ASSERT_THAT(sink_.calls, SizeIs(1));
  const auto owner = std::find_if(sink_.ranges.begin(), sink_.ranges.end(),
                                  [](const model::Range& r) { return r.start_ns == 103; });
  ASSERT_NE(owner, sink_.ranges.end());
  EXPECT_EQ(owner->id, sink_.calls[0].range);
}

}  // namespace
}  // namespace gpuprof::ingest
