// SPDX-License-Identifier: Apache-2.0
//
// An update outside of a plain loop that was chosen, and backward passes outside of one that is to
// be: what becomes of its iterations.
#include <gmock/gmock.h>

#include "tests/unit/ingest/step_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::kMarkLoopEntry;

constexpr std::uint64_t kBatches = 1, kTests = 2, kSteps = 3;
constexpr std::uint64_t kInBatches = 11, kInTests = 12, kInSteps = 13, kOutside = 14;

class DoubtTest : public StepFinderTest {
 protected:
  DoubtTest() {
    loop(kBatches, 30, 35);
    loop(kTests, 40, 45);
    loop(kSteps, 50, 55);
    stack(kInBatches, {kBatches});
    stack(kInTests, {kTests});
    stack(kInSteps, {kSteps});
    stack(kOutside, {});
  }

  /// Iterations of 100 ms, which are the steps.
  void run(std::uint64_t loop, std::uint64_t stack, int count, bool backward = false) {
    for (int i = 0; i < count; ++i) {
      iterate(loop, i == 0 ? kMarkLoopEntry : 0);
      truth_.push_back(t_);
      op("aten::linear", stack, 90 * kMs);
      if (backward) op("autograd::engine::evaluate_function: AddmmBackward0", stack, 2 * kMs);
      pass(10 * kMs);
    }
  }
  void fit() { op("Optimizer.step#LBFGS.step", kOutside, 50 * kMs); }
  void user_step(std::uint64_t number, std::uint32_t flags) {
    put(wire::StepMark{t_, number, static_cast<std::uint32_t>(wire::StepSource::kUser), flags,
                       number + 40});
  }
};

TEST_F(DoubtTest, EndsWithTheProgramsOwnSteps) {
  run(kBatches, kInBatches, 70);
  ASSERT_THAT(heard_.told, SizeIs(1));
  fit();
  std::uint64_t number = counted_;
  for (int i = 0; i < 10; ++i) {
    iterate(kSteps, i == 0 ? kMarkLoopEntry : 0);
    pass(kMs);
    truth_.push_back(t_);
    user_step(number, wire::kStepBegin);
    op("aten::linear", kInSteps, 90 * kMs);
    op("Optimizer.step#SGD.step", kInSteps, 5 * kMs);
    user_step(number++, wire::kStepEnd);
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  ASSERT_THAT(heard_.told, SizeIs(2));
  EXPECT_THAT(heard_.told[1], HasSubstr("ProfilerStep# ranges of the program"));
}

TEST_F(DoubtTest, OfOneUpdateLeavesTheLoopThatFollowsItsSteps) {
  // Given temperatures fitted to what a model said, and then a test
  run(kBatches, kInBatches, 70);
  fit();
  run(kTests, kInTests, 400);
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_THAT(heard_.told, ElementsAre(HasSubstr("train.py:30, confidence 80 %"),
                                       HasSubstr("from step 71 on iterations of the loop at "
                                                 "train.py:40, confidence 80 %")));
}

TEST_F(DoubtTest, OfAnUpdateThatTookLongLeavesTheLoopThatFollowsItsSteps) {
  run(kBatches, kInBatches, 70);
  op("Optimizer.step#LBFGS.step", kOutside, 30 * kSecond);
  run(kTests, kInTests, 60);
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(DoubtTest, OfOneUpdateLeavesTheLoopItsStepsUpToTheNextLoops) {
  run(kBatches, kInBatches, 70);
  fit();
  run(kBatches, kInBatches, 100);
  run(kTests, kInTests, 300);
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_THAT(heard_.told, SizeIs(2));
}

TEST_F(DoubtTest, OfOneUpdateLeavesTheLoopItsStepsWhereTheProgramEnds) {
  run(kBatches, kInBatches, 70);
  fit();
  run(kBatches, kInBatches, 40);
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_THAT(heard_.told, SizeIs(1));
}

TEST_F(DoubtTest, OfOneUpdateIsOverAfterAMinute) {
  run(kBatches, kInBatches, 70);
  fit();
  run(kBatches, kInBatches, 800);
  const std::uint64_t counted = counted_;
  EXPECT_GT(begins_of(sink_.steps).size(), 800u) << "before the program's end";
  EXPECT_GT(counted, 100u) << "the target counts again";
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_THAT(heard_.told, SizeIs(1));
}

TEST_F(DoubtTest, OfOneUpdateLeavesAnotherLoopItsStepsAfterAMinute) {
  run(kBatches, kInBatches, 70);
  fit();
  run(kTests, kInTests, 800);
  EXPECT_THAT(heard_.told, SizeIs(2)) << "before the program's end";
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(DoubtTest, OfOneUpdateDoesNotMakeAStepOfAShortLoop) {
  run(kBatches, kInBatches, 70);
  fit();
  const std::vector<std::uint64_t> steps = truth_;
  run(kTests, kInTests, 15);
  finish();
  EXPECT_EQ(steps, begins_of(sink_.steps));
  EXPECT_THAT(heard_.told, SizeIs(1));
}

TEST_F(DoubtTest, WhatMaySumUpGradientsForTheNextUpdateIsNoStep) {
  run(kBatches, kInBatches, 250, true);
  ASSERT_THAT(heard_.told, SizeIs(1));
  fit();
  const std::vector<std::uint64_t> steps = truth_;
  run(kBatches, kInBatches, 200, true);
  finish();
  EXPECT_EQ(steps, begins_of(sink_.steps));
}

TEST_F(DoubtTest, NoUpdateForLongerThanTheFirstOneTookMakesStepsOfThem) {
  run(kBatches, kInBatches, 250, true);
  fit();
  run(kBatches, kInBatches, 300, true);
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(DoubtTest, AWarmUpThatWentBackwardDoesNotHideTheLoopThatHoldsTheTime) {
  run(kBatches, kInBatches, 3, true);
  truth_.clear();
  run(kTests, kInTests, 300);
  EXPECT_THAT(heard_.told, IsEmpty()) << "it could be an evaluation";
  finish();
  EXPECT_THAT(heard_.told, ElementsAre(HasSubstr("train.py:40, confidence 80 %")));
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(DoubtTest, AWarmUpThatWentBackwardIsForgottenAfterAMinute) {
  run(kBatches, kInBatches, 3, true);
  truth_.clear();
  run(kTests, kInTests, 700);
  EXPECT_THAT(heard_.told, ElementsAre(HasSubstr("train.py:40, confidence 80 %")));
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(DoubtTest, ATrainingIsTheStepThoughAnEvaluationEndsTheProgram) {
  run(kBatches, kInBatches, 30, true);
  const std::vector<std::uint64_t> steps = truth_;
  run(kTests, kInTests, 10);
  finish();
  EXPECT_EQ(steps, begins_of(sink_.steps));
}

}  // namespace
}  // namespace gpuprof::ingest
