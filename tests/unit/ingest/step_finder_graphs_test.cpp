// SPDX-License-Identifier: Apache-2.0
//
// Trainings whose steps are captured once and replayed: warm-up, capture, replays.
#include <gmock/gmock.h>

#include "tests/unit/ingest/step_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using wire::kMarkLoopEntry;

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
      iterate(kWarmUp, i == 0 ? kMarkLoopEntry : 0);
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
  void replay(int count, std::uint64_t loop, std::uint64_t stack, const char* optimizer = nullptr,
              std::uint64_t rest = 10 * kMs) {
    for (int i = 0; i < count; ++i) {
      iterate(loop, i == 0 ? kMarkLoopEntry : 0);
      truth_.push_back(t_);
      op("aten::copy_", stack, 50 * kUs);
      launch_with(wire::kLaunchDeviceWork | wire::kLaunchGraph);
      if (optimizer != nullptr) op(optimizer, stack, 300 * kUs);
      pass(rest);
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
  // With the capture the finder knows that the program moves on, the target a little later.
  EXPECT_EQ(before + truth_.size() - 1, sink_.steps.size());
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

TEST_F(GraphsTest, ACaptureWhoseEndIsInNoWindowIsOverWithTheNextLaunch) {
  // Given a capture of another model
  launch_with(wire::kLaunchCaptureBegins | wire::kLaunchCaptured);
  op("aten::linear", kOutside, 100 * kUs);
  // When the next window begins behind its end
  launch_with(wire::kLaunchDeviceWork);
  for (int i = 0; i < 30; ++i) {
    iterate(kTests, i == 0 ? kMarkLoopEntry : 0);
    truth_.push_back(t_);
    train(kInTests);
  }
  finish();
  // Then optimizers update again
  ASSERT_THAT(heard_.told, SizeIs(1));
  EXPECT_THAT(heard_.told[0], HasSubstr("train.py:60 (with Optimizer.step), confidence 95 %"));
}

/// A start as on a real device: operators, then seconds until it is ready; kernels are loaded in
/// the first iteration of the warm-up; and replays of 0.2 ms.
class SlowStartTest : public GraphsTest {
 protected:
  /// @param ready_ns  From the first operator to the warm-up.
  void start(std::uint64_t ready_ns) {
    op("aten::linear", kOutside, 100 * kUs);
    pass(ready_ns);
  }
  void slow_warm_up(const char* optimizer = "Optimizer.step#SGD.step") {
    for (int i = 0; i < 3; ++i) {
      iterate(kWarmUp, i == 0 ? kMarkLoopEntry : 0);
      op("aten::linear", kInWarmUp, i == 0 ? 200 * kMs : kMs);
      train(kInWarmUp, optimizer);
    }
    truth_.clear();
  }
  void fast_replays(int count, const char* optimizer = nullptr) {
    replay(count, kReplays, kInReplays, optimizer, 100 * kUs);
  }
  void expect_steps_at(const char* where) {
    finish();
    EXPECT_EQ(truth_, begins_of(sink_.steps));
    ASSERT_THAT(heard_.told, SizeIs(1));
    EXPECT_THAT(heard_.told[0], HasSubstr(where));
  }
};

TEST_F(SlowStartTest, FewFastReplaysAreTheSteps) {
  // Given that the time for looking is over amid the warm-up, and an exit that takes a second
  start(4900 * kMs);
  slow_warm_up();
  capture();
  fast_replays(20);
  pass(kSecond);
  expect_steps_at("train.py:40 (replays CUDA graphs), confidence 95 %");
}

TEST_F(SlowStartTest, TheWarmUpIsNotChosenBeforeTheCapture) {
  start(4900 * kMs);
  slow_warm_up();
  pass(100 * kMs);
  capture();
  pass(100 * kMs);
  fast_replays(20);
  expect_steps_at("train.py:40 (replays CUDA graphs), confidence 95 %");
}

TEST_F(SlowStartTest, AnOptimizerBesideFastReplaysMakesTheSteps) {
  start(4900 * kMs);
  slow_warm_up();
  pass(100 * kMs);
  capture(nullptr);
  pass(100 * kMs);
  fast_replays(20, "Optimizer.step#SGD.step");
  expect_steps_at("train.py:40 (with Optimizer.step), confidence 95 %");
}

TEST_F(SlowStartTest, TwoWarmUpsInTheSameLoopAreNoSteps) {
  start(4900 * kMs);
  for (int model = 0; model < 2; ++model) {
    slow_warm_up();
    pass(100 * kMs);
    capture();
    pass(100 * kMs);
  }
  fast_replays(20);
  expect_steps_at("train.py:40 (replays CUDA graphs), confidence 95 %");
}

TEST_F(SlowStartTest, OfAnInferenceFastReplaysAreTheSteps) {
  // Given three graphs, each with a warm-up in the same loop
  start(4900 * kMs);
  for (int size = 0; size < 3; ++size) {
    slow_warm_up(nullptr);
    pass(100 * kMs);
    capture(nullptr);
    pass(100 * kMs);
  }
  fast_replays(20);
  expect_steps_at("train.py:40 (replays CUDA graphs), confidence 80 %");
}

TEST_F(SlowStartTest, GraphsOfManySizesAreNoSteps) {
  start(4900 * kMs);
  for (int size = 0; size < 30; ++size) {
    slow_warm_up(nullptr);
    capture(nullptr);
    pass(10 * kMs);
  }
  fast_replays(40);
  expect_steps_at("train.py:40 (replays CUDA graphs), confidence 80 %");
}

TEST_F(SlowStartTest, ALoopThatGoesOnAfterACaptureIsChosenWhileItRuns) {
  // Given a training that captures its evaluation between two epochs
  std::vector<std::uint64_t> truth;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int i = 0; i < (epoch == 0 ? 10 : 100); ++i) {
      iterate(kWarmUp, i == 0 ? kMarkLoopEntry : 0);
      truth.push_back(t_);
      train(kInWarmUp);
      pass(20 * kMs);
    }
    if (epoch == 0) capture(nullptr);
  }
  truth_ = truth;
  EXPECT_THAT(heard_.told, SizeIs(1)) << "before the program's end";
  expect_steps_at("train.py:20 (with Optimizer.step)");
}

/// A warm-up of eleven iterations, as DistributedDataParallel needs, that was chosen.
class ChosenWarmUpTest : public SlowStartTest {
 protected:
  void run_warm_up(const char* optimizer) {
    start(5 * kSecond);
    for (int i = 0; i < 11; ++i) {
      iterate(kWarmUp, i == 0 ? kMarkLoopEntry : 0);
      train(kInWarmUp, optimizer);
      pass(200 * kMs);
    }
    warm_up_ = truth_;
    ASSERT_THAT(heard_.told, SizeIs(1));
  }
  void expect_also(const char* where) {
    finish();
    truth_.insert(truth_.begin(), warm_up_.begin(), warm_up_.end());
    EXPECT_EQ(truth_, begins_of(sink_.steps));
    ASSERT_THAT(heard_.told, SizeIs(2));
    EXPECT_THAT(heard_.told[1], HasSubstr(where));
  }
  std::vector<std::uint64_t> warm_up_;
};

TEST_F(ChosenWarmUpTest, IsLeftWithTheCapture) {
  run_warm_up("Optimizer.step#SGD.step");
  capture();
  pass(100 * kMs);
  fast_replays(20);
  expect_also("from step 12 on iterations of the loop at train.py:40 (replays CUDA graphs)");
}

TEST_F(ChosenWarmUpTest, IsLeftWithTheCaptureOfWhatHoldsNoOptimizer) {
  run_warm_up("Optimizer.step#SGD.step");
  capture(nullptr);
  pass(100 * kMs);
  fast_replays(20, "Optimizer.step#SGD.step");
  expect_also("from step 12 on iterations of the loop at train.py:40 (with Optimizer.step)");
}

TEST_F(ChosenWarmUpTest, OfAnInferenceIsLeftWithTheCapture) {
  run_warm_up(nullptr);
  capture(nullptr);
  pass(100 * kMs);
  fast_replays(20);
  expect_also("from step 12 on iterations of the loop at train.py:40 (replays CUDA graphs)");
}

TEST_F(ChosenWarmUpTest, IsNotLeftForAFewUpdatesAtTheEnd) {
  run_warm_up("Optimizer.step#SGD.step");
  capture(nullptr);
  pass(20 * kMs);
  for (int i = 0; i < 5; ++i) {
    iterate(kTests, i == 0 ? kMarkLoopEntry : 0);
    train(kInTests);
  }
  truth_.clear();
  finish();
  EXPECT_EQ(warm_up_, begins_of(sink_.steps));
}

TEST_F(ChosenWarmUpTest, GoesOnAfterACaptureOfSomethingElse) {
  run_warm_up("Optimizer.step#SGD.step");
  capture(nullptr);
  pass(100 * kMs);
  for (int i = 0; i < 30; ++i) {
    iterate(kWarmUp, i == 0 ? kMarkLoopEntry : 0);
    train(kInWarmUp);
    pass(10 * kMs);
  }
  finish();
  truth_.insert(truth_.begin(), warm_up_.begin(), warm_up_.end());
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_THAT(heard_.told, SizeIs(1));
}

/// Between windows: what the target tells while it only counts steps.
class CountedGraphsTest : public GraphsTest {
 protected:
  void train_long() {
    warm_up(200);
    ASSERT_THAT(heard_.told, SizeIs(1));
    recording_ = false;
  }
  void stands_in(const std::vector<std::uint64_t>& loops) { stack(0, loops); }
  void told(std::uint32_t flags, std::uint32_t count = 0) {
    put(wire::LoopMark{t_, 0, flags, count});
  }
  void captured_in(const std::vector<std::uint64_t>& loops, bool optimizer) {
    stands_in(loops);
    told(wire::kMarkGraphCapture);
    if (optimizer) told(wire::kMarkGraphCapture | wire::kMarkOptimizer);
    pass(50 * kMs);
  }
  /// Of the last one nothing but its begin was reported.
  void expect_steps(std::size_t begun) { EXPECT_EQ(begun - 1, sink_.steps.size()); }
  bool asked() const { return rule_seen_.first == wire::StepRule::kNone; }
  void counted_replays(int count, std::uint64_t loop) {
    for (int i = 0; i < count; ++i) {
      if (asked() && i != 0) told(wire::kMarkGraphReplays, 1);
      if (asked()) stands_in({loop});
      iterate(loop, i == 0 ? kMarkLoopEntry : 0);
      truth_.push_back(t_);
      pass(10 * kMs);
    }
  }
  void counted_iterations(int count, std::uint64_t loop) {
    for (int i = 0; i < count; ++i) {
      iterate(loop, 0);
      truth_.push_back(t_);
      pass(kMs);
    }
  }
};

TEST_F(CountedGraphsTest, AWarmUpThatWasChosenIsLeftWithTheCapture) {
  train_long();
  captured_in({}, true);
  counted_replays(600, kReplays);
  finish();
  ASSERT_THAT(heard_.told, SizeIs(2));
  EXPECT_THAT(heard_.told[1], HasSubstr("from step 201 on iterations of the loop at "));
  EXPECT_THAT(heard_.told[1], HasSubstr("train.py:40 (replays CUDA graphs), confidence 95 %"));
  expect_steps(200 + truth_.size());
}

TEST_F(CountedGraphsTest, ACaptureInsideOfTheLoopChangesNothing) {
  train_long();
  captured_in({kWarmUp}, true);
  counted_iterations(100, kWarmUp);
  finish();
  EXPECT_THAT(heard_.rules, SizeIs(1));
  expect_steps(300);
}

TEST_F(CountedGraphsTest, AnEvaluationByGraphsIsNotTheTraining) {
  train_long();
  captured_in({}, false);
  counted_replays(40, kTests);
  counted_iterations(100, kWarmUp);
  finish();
  EXPECT_THAT(heard_.told, Not(Contains(HasSubstr("from step"))));
  expect_steps(300);
}

}  // namespace
}  // namespace gpuprof::ingest
