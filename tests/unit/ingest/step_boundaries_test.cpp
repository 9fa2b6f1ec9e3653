// SPDX-License-Identifier: Apache-2.0
//
// Steps without gaps: to which of two iterations the time between their operators belongs, and what
// lies between two loops.
#include <gmock/gmock.h>

#include "tests/unit/ingest/step_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::HasSubstr;
using testing::Not;
using wire::kMarkLoopEntry;

constexpr std::uint64_t kLoop = 1;
constexpr std::uint64_t kStallNs = 60 * kMs;
/// Places in the function: the loop reaches from 40 to 90, its operators run at 50 and 70.
constexpr std::int32_t kHead = 40, kBeforeFirst = 45, kFirst = 50, kLast = 70, kAfterLast = 80,
                       kBehind = 110;
/// Iterations of this test: with the first one the loop is not chosen yet, with the second one the
/// target counts.
constexpr int kEarly = 20, kLate = 250, kAll = 300;

class StepBorders : public StepFinderTest {
 protected:
  /// Without samples, as with `--rate 0`, nothing is sent.
  bool sampled_ = true;

  void SetUp() override {
    loop(kLoop, kHead, 90);
    inside(stack_at(kFirst));
    inside(stack_at(kLast));
    outside(stack_at(kBehind));
  }
  /// Id of the stack of a frame at this place, perhaps with one that it called.
  std::uint64_t stack_at(std::int32_t at, std::int32_t called_at = -1) {
    const std::uint64_t id =
        1000 + static_cast<std::uint64_t>(at) * 1000 + static_cast<std::uint64_t>(called_at + 1);
    std::string frames;
    std::uint16_t count = 0;
    const auto add = [&](std::uint64_t code, std::int32_t offset) {
      const wire::PyFrame frame{code, offset, 0};
      frames.append(reinterpret_cast<const char*>(&frame), sizeof frame);
      ++count;
    };
    if (called_at >= 0) add(8, called_at);
    add(7, at);
    add(6, 12);
    put(wire::StackDef{id, 0, count, 0}, frames);
    return id;
  }
  void inside(std::uint64_t id) { stack(id, {kLoop}); }
  void outside(std::uint64_t id) { stack(id, {}); }

  /// Nothing but this place for so long, seen every ten milliseconds.
  void stall(std::int32_t at, std::int32_t called_at = -1, std::uint64_t ns = kStallNs) {
    const std::uint64_t id = stack_at(at, called_at);
    for (const std::uint64_t end_ns = t_ + ns; t_ < end_ns;) {
      pass(std::min<std::uint64_t>(10 * kMs, end_ns - t_));
      if (sampled_ && t_ < end_ns)
        put(wire::Sample{t_ - kMs, id, 100, 1, 10 * kMs}, {}, {5, 900, 1});
    }
  }
  /// @return When the interpreter jumped back, as the program's own clock would tell.
  template <typename Stall>
  void iteration(int i, bool entered, const Stall& stall) {
    clock_.push_back(t_);
    pass(10 * kUs);
    stall(i, kBeforeFirst);
    iterate(kLoop, entered ? kMarkLoopEntry : 0);
    op("aten::linear", stack_at(kFirst), 300 * kUs);
    stall(i, kFirst);
    op("Optimizer.step#SGD.step", stack_at(kLast), 200 * kUs);
    stall(i, kAfterLast);
    pass(20 * kUs);
  }
  template <typename Stall>
  void run(const Stall& stall) {
    for (int i = 0; i < kAll; ++i) iteration(i, i == 0, stall);
    clock_.push_back(t_);
    op("aten::sum", stack_at(kBehind), kMs);
    finish();
  }
  void expect_lengths_of_the_clock() {
    ASSERT_EQ(clock_.size(), sink_.steps.size() + 1);
    for (std::size_t i = 0; i + 1 < clock_.size(); ++i) {
      const auto length = static_cast<double>(sink_.steps[i].end_ns - sink_.steps[i].start_ns);
      EXPECT_NEAR(static_cast<double>(clock_[i + 1] - clock_[i]), length, 50 * kUs) << i;
      if (i == 0) continue;
      EXPECT_EQ(sink_.steps[i - 1].end_ns, sink_.steps[i].start_ns) << i;
    }
  }
  std::vector<std::uint64_t> clock_;  // at the head of the loop
};

/// At this place of these iterations.
class Stalled : public StepBorders, public testing::WithParamInterface<std::int32_t> {};

TEST_P(Stalled, TimeIsOfTheIterationItPassesIn) {
  run([this](int i, std::int32_t at) {
    if ((i == kEarly || i == kLate) && at == GetParam()) stall(at);
  });
  expect_lengths_of_the_clock();
  EXPECT_EQ(begins_of(sink_.steps), heard_.begins) << "windows begin where steps do";
  EXPECT_GT(counted_, 100u) << "the target counts once it was told";
  EXPECT_THAT(heard_.told.back(), Not(HasSubstr("pause")));
}
INSTANTIATE_TEST_SUITE_P(Before, Stalled, testing::Values(kBeforeFirst));
INSTANTIATE_TEST_SUITE_P(Between, Stalled, testing::Values(kFirst));
INSTANTIATE_TEST_SUITE_P(After, Stalled, testing::Values(kAfterLast));

TEST_F(StepBorders, ALoadersTimeIsOfTheIterationItLoadsFor) {
  run([this](int i, std::int32_t at) {
    if ((i == kEarly || i == kLate) && at == kBeforeFirst) stall(kHead, 30);
  });
  expect_lengths_of_the_clock();
}

// The last operator is over, and the call that it came from has not come back.
TEST_F(StepBorders, AWaitForTheInterpretersLockIsOfTheIterationItsCallIsIn) {
  run([this](int i, std::int32_t at) {
    if ((i == kEarly || i == kLate) && at == kAfterLast) stall(kLast);
  });
  expect_lengths_of_the_clock();
}

TEST_F(StepBorders, WhereOneCallDoesAllTheFramesInItTell) {
  // Given a loop of a single call, whose operators run at 10 and 30 of the function it calls
  inside(stack_at(kFirst, 10));
  inside(stack_at(kFirst, 30));
  for (int i = 0; i < kAll; ++i) {
    clock_.push_back(t_);
    if (i == kEarly || i == kLate) stall(kFirst, 5);
    iterate(kLoop, i == 0 ? kMarkLoopEntry : 0);
    op("aten::linear", stack_at(kFirst, 10), 300 * kUs);
    op("Optimizer.step#SGD.step", stack_at(kFirst, 30), 200 * kUs);
    if (i == kEarly + 5 || i == kLate + 5) stall(kFirst, 40);
    pass(20 * kUs);
  }
  clock_.push_back(t_);
  op("aten::sum", stack_at(kBehind), kMs);
  finish();
  expect_lengths_of_the_clock();
}

TEST_F(StepBorders, TimeOnBothSidesIsDividedWhereTheSamplesChange) {
  run([this](int i, std::int32_t at) {
    if ((i == kEarly || i == kLate) && at == kAfterLast) stall(at);
    if ((i == kEarly + 1 || i == kLate + 1) && at == kBeforeFirst) stall(at);
  });
  for (const int i : {kEarly, kEarly + 1, kLate, kLate + 1}) {
    const model::Step& step = sink_.steps[static_cast<std::size_t>(i)];
    EXPECT_NEAR(static_cast<double>(kStallNs), static_cast<double>(step.end_ns - step.start_ns),
                12 * kMs)
        << i;
  }
}

// Signals wait until a call into the kernel is over, and a thread that is kept from running may be
// looked at as it goes on.
class SampledAtTheEnd : public StepBorders, public testing::WithParamInterface<bool> {};

TEST_P(SampledAtTheEnd, ASampleRightBeforeTheFirstOperatorSaysNothingOfALongPause) {
  sampled_ = GetParam();
  run([this](int i, std::int32_t at) {
    if ((i == kEarly || i == kLate) && at == kAfterLast) stall(at);
    if ((i != kEarly + 1 && i != kLate + 1) || at != kBeforeFirst) return;
    put(wire::Sample{t_, stack_at(at), 100, 0, 10 * kMs}, {}, {6, 100, 2});
    pass(30 * kUs);
  });
  expect_lengths_of_the_clock();
}
INSTANTIATE_TEST_SUITE_P(Alone, SampledAtTheEnd, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(BesideOthers, SampledAtTheEnd, testing::Values(true));

TEST_F(StepBorders, ASampleRightAfterTheLastOperatorSaysNothingOfALongPause) {
  run([&](int i, std::int32_t at) {
    if ((i == kEarly || i == kLate) && at == kAfterLast)
      put(wire::Sample{t_, stack_at(at), 100, 0, 10 * kMs}, {}, {6, 100, 2});
    if ((i == kEarly + 1 || i == kLate + 1) && at == kBeforeFirst) stall(at);
  });
  expect_lengths_of_the_clock();
}

TEST_F(StepBorders, WhatNobodySawIsOfTheStepBeforeAndTold) {
  sampled_ = false;
  run([this](int i, std::int32_t at) {
    if (i == kLate && at == kBeforeFirst) stall(at);
  });
  ASSERT_EQ(static_cast<std::size_t>(kAll), sink_.steps.size());
  EXPECT_GT(sink_.steps[kLate - 1].end_ns - sink_.steps[kLate - 1].start_ns, kStallNs);
  EXPECT_LT(sink_.steps[kLate].end_ns - sink_.steps[kLate].start_ns, kMs);
  EXPECT_THAT(heard_.told.back(), HasSubstr("1 pause"));
}

TEST_F(StepBorders, AnEvaluationInsideAnIterationIsPartOfIt) {
  inside(stack_at(kAfterLast, 20));
  run([this](int i, std::int32_t at) {
    if ((i == kEarly || i == kLate) && at == kAfterLast)
      for (int batch = 0; batch < 30; ++batch) op("aten::linear", stack_at(kAfterLast, 20), kMs);
  });
  expect_lengths_of_the_clock();
}

TEST_F(StepBorders, BetweenTwoLoopsIsNoStep) {
  // Given epochs with a stall at the end of the last iteration of each, an evaluation, a pause, and
  // a loader that takes its time for the first one
  std::vector<std::uint64_t> left;
  for (int epoch = 0; epoch < 6; ++epoch) {
    for (int i = 0; i < 50; ++i)
      iteration(i, i == 0, [this](int one, std::int32_t at) {
        if (one == 0 && at == kBeforeFirst) stall(kHead, 30);
        if (one == 49 && at == kAfterLast) stall(at);
      });
    left.push_back(t_);
    for (int batch = 0; batch < 20; ++batch) op("aten::linear", stack_at(kBehind), kMs);
    stall(kBehind + 10);
  }
  finish();
  ASSERT_EQ(300u, sink_.steps.size());
  for (std::size_t epoch = 0; epoch < 6; ++epoch) {
    const model::Step &first = sink_.steps[epoch * 50], &last = sink_.steps[epoch * 50 + 49];
    EXPECT_NEAR(static_cast<double>(clock_[epoch * 50]), static_cast<double>(first.start_ns),
                12 * kMs);
    EXPECT_NEAR(static_cast<double>(left[epoch]), static_cast<double>(last.end_ns), 12 * kMs);
    if (epoch != 0) {
      EXPECT_GT(first.start_ns, sink_.steps[epoch * 50 - 1].end_ns + 70 * kMs);
    }
    for (std::size_t i = 1; i < 50; ++i)
      EXPECT_EQ(sink_.steps[epoch * 50 + i - 1].end_ns, sink_.steps[epoch * 50 + i].start_ns);
  }
}

// The same loop entered again at once, without an operator outside of it.
TEST_F(StepBorders, ALoopEnteredAgainLeavesThePauseBetweenNoStep) {
  for (int epoch = 0; epoch < 6; ++epoch) {
    for (int i = 0; i < 50; ++i) iteration(i, i == 0, [](int, std::int32_t) {});
    stall(kBehind);
  }
  finish();
  ASSERT_EQ(300u, sink_.steps.size());
  for (const model::Step& step : sink_.steps) EXPECT_LT(step.end_ns - step.start_ns, kMs);
}

}  // namespace
}  // namespace gpuprof::ingest
