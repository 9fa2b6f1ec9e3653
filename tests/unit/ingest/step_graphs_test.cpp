// SPDX-License-Identifier: Apache-2.0
//
// Trainings whose steps are captured once and replayed: warm-up, capture, replays.
#include <gmock/gmock.h>

#include "tests/unit/ingest/step_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using wire::kMarkFirst;

constexpr std::uint64_t kWarmUp = 1, kReplays = 2, kTests = 3;
constexpr std::uint64_t kInWarmUp = 11, kInReplays = 12, kInTests = 13, kOutside = 14;

class GraphsTest : public StepFinderTest {
 protected:
  GraphsTest() {
    loop(kWarmUp, 20, 25);
    loop(kReplays, 40, 45);
    loop(kTests, 60, 65);
    stack(kInWarmUp, {kWarmUp});
    stack(kInReplays, {kReplays});
    stack(kInTests, {kTests});
    stack(kOutside, {});
  }
  void launch_with(std::uint16_t flags) {
    put(wire::Launch{t_, 0, ++correlation_, 2, flags, 0, 100, 0, 0});
  }
  void warm_up(int count) {
    for (int i = 0; i < count; ++i) {
      iterate(kWarmUp, i == 0 ? kMarkFirst : 0);
      train(kInWarmUp);
    }
    truth_.clear();
  }
  void capture(const char* optimizer = "Optimizer.step#SGD.step") {
    launch_with(wire::kLaunchCaptureBegins);
    train(kOutside, optimizer);
    launch_with(wire::kLaunchCaptureEnds);
    truth_.clear();
  }
  void replay(int count, std::uint64_t loop, std::uint64_t stack, const char* optimizer = nullptr) {
    for (int i = 0; i < count; ++i) {
      iterate(loop, i == 0 ? kMarkFirst : 0);
      truth_.push_back(t_);
      op("aten::copy_", stack, 50 * kUs);
      launch_with(wire::kLaunchRuns | wire::kLaunchGraph);
      if (optimizer != nullptr) op(optimizer, stack, 300 * kUs);
      pass(10 * kMs);
    }
  }

  std::uint32_t correlation_ = 0;
};

TEST_F(GraphsTest, ReplaysAreTheStepsAndTheWarmUpIsNot) {
  warm_up(3);
  capture();
  replay(10, kReplays, kInReplays);
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  ASSERT_THAT(heard_.told, SizeIs(1));
  EXPECT_THAT(heard_.told[0], HasSubstr("train.py:40 (replays CUDA graphs), confidence 95 %"));
}

TEST_F(GraphsTest, ReplaysOfALongTrainingAreChosenWhileItRuns) {
  warm_up(3);
  capture();
  replay(1000, kReplays, kInReplays);
  EXPECT_THAT(heard_.rules, SizeIs(1));
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(GraphsTest, AWarmUpThatWasChosenIsLeft) {
  warm_up(200);
  ASSERT_THAT(heard_.told, SizeIs(1));
  const std::size_t before = 200;
  capture();
  replay(600, kReplays, kInReplays);
  finish();
  ASSERT_THAT(heard_.told, SizeIs(2));
  EXPECT_THAT(heard_.told[1], HasSubstr("train.py:40 (replays CUDA graphs)"));
  // By the launches of three the finder knows that the program has moved on.
  EXPECT_EQ(before + truth_.size() - 3, sink_.steps.size());
}

TEST_F(GraphsTest, AnOptimizerBesideTheGraphsMakesTheSteps) {
  warm_up(3);
  capture(nullptr);
  replay(30, kReplays, kInReplays, "Optimizer.step#SGD.step");
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  ASSERT_THAT(heard_.told, SizeIs(1));
  EXPECT_THAT(heard_.told[0], HasSubstr("train.py:40 (with Optimizer.step)"));
}

TEST_F(GraphsTest, AnInferenceByGraphsBehindATrainingIsNotTheTraining) {
  warm_up(100);
  for (int i = 0; i < 100; ++i) truth_.push_back(0);
  capture(nullptr);
  replay(20, kTests, kInTests);
  finish();
  EXPECT_THAT(sink_.steps, SizeIs(100));
  ASSERT_THAT(heard_.told, SizeIs(1));
  EXPECT_THAT(heard_.told[0], HasSubstr("train.py:20 (with Optimizer.step)"));
}

TEST_F(GraphsTest, AnInferenceByGraphsAloneHasTheStepsOfItsLoop) {
  capture(nullptr);
  replay(40, kTests, kInTests);
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  ASSERT_THAT(heard_.told, SizeIs(1));
  EXPECT_THAT(heard_.told[0], HasSubstr("train.py:60 (replays CUDA graphs), confidence 80 %"));
}

}  // namespace
}  // namespace gpuprof::ingest
