// SPDX-License-Identifier: Apache-2.0
//
// Single steps that take long, and what lies between steps: what ran, on which line, how often.
#include <functional>

#include "analysis/report/wall_time/time_attribution.hpp"
#include "analysis/report/wall_time/wall_time.hpp"
#include "tests/unit/advice/story_builder.hpp"

namespace gpuprof::report::advice {
namespace {

using test::kMs;
using test::kUs;
using test::Names;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class StallTest : public test::StepThreadTest {
 protected:
  /// A usual iteration: forward on line 12, backward on 13, the optimizer on 14; each 150 us, and
  /// 50 us between them. What `more` has comes before the operator of its number.
  struct More {
    int before;  // 0: first operator, …, 3: after the last one
    std::uint64_t ns;
  };
  void iteration(More more) {
    const std::uint64_t began = now_;
    const char* const names[] = {"aten::linear", "AddmmBackward0", "Optimizer.step#SGD.step"};
    for (int i = 0; i < 3; ++i) {
      now_ += 50 * kUs;
      if (more.ns != 0 && more.before == i) stall(more.ns);
      StepThreadOp& made = op(names[i], now_, 150, line(12 + i));
      made.sequence = i == 0 ? 5 : -1;
      if (i == 1) made.kind = StepThreadOpKind::kEvaluate;
      if (i == 2) made.kind = StepThreadOpKind::kOptimizer;
      now_ += 150 * kUs;
    }
    if (more.ns != 0 && more.before == 3) stall(more.ns);
    step_thread.steps.push_back({began, now_, 7, ++label_});
  }
  void stall(std::uint64_t ns) {
    if (at_stall_) at_stall_(now_, now_ + ns);
    now_ += ns;
  }
  void sample(std::uint64_t ts_ns, std::uint64_t weight_ns, std::uint32_t stack, bool blocked) {
    step_thread.samples.push_back({ts_ns, weight_ns, stack, blocked, false, 7});
  }
  /// `count` iterations, every `every`th of them with `more`.
  void iterations(std::size_t count, std::size_t every, More more) {
    for (std::size_t i = 1; i <= count; ++i) iteration(i % every == 0 ? more : More{0, 0});
    step_thread.loop = "/job/train.py:10";
  }
  const WallTime& account() {
    Steps steps;
    for (const TimedStep& step : step_thread.steps) {
      StepRow row;
      row.label = step.label;
      row.start_ns = row.host_start_ns = step.start_ns;
      row.end_ns = row.host_end_ns = step.end_ns;
      steps.steps.push_back(row);
    }
    WindowMeta window;
    window.start_ns = 1'000'000'000;
    window.end_ns = now_;
    return analysis.wall = compute_wall_time(steps, {window}, step_thread, false);
  }
  std::vector<SlowSpot> stretches(WallPhase part) {
    std::vector<SlowSpot> found;
    for (const SlowSpot& one : account().slow_spots)
      if (one.part == part) found.push_back(one);
    return found;
  }

  /// What is reported of three savings of 60 ms that were sampled so often.
  auto reported_of_saving(std::uint64_t every_ns) {
    const std::uint32_t saving = inside("/site-packages/torch/serialization.py", "save", 17);
    at_stall_ = [=, this](std::uint64_t from, std::uint64_t to) {
      for (std::uint64_t at = from; at < to; at += every_ns) sample(at, 10 * kMs, saving, false);
    };
    iterations(300, 100, {3, 60 * kMs});
    account();
    return run_rule(step_stalls);
  }

  std::uint64_t now_ = 1'000'000'000, label_ = 0;
  std::function<void(std::uint64_t, std::uint64_t)> at_stall_;
};

TEST_F(StallTest, FourSleepsAreNamedWithCountSumAndLine) {
  std::uint32_t stack = line(11);
  int seen = 0;
  at_stall_ = [&](std::uint64_t from, std::uint64_t) {
    if (++seen != 2) sample(from + 20 * kMs, 33 * kMs, stack, true);  // looks are far apart
  };
  iterations(1000, 250, {0, 60 * kMs});
  account();
  const auto found = run_rule(step_stalls);
  ASSERT_THAT(found, ElementsAre(Names(kStepStalls, 11)));
  EXPECT_NEAR(240e6, found[0].figures[1].value, 1e6) << "the one without a sample as well";
  EXPECT_EQ(4, found[0].figures[0].value);
  EXPECT_EQ(250, found[0].figures[3].value);
  EXPECT_THAT(found[0].finding,
              AllOf(HasSubstr("In 4 of 1000 steps (250, 500, 750, 1000)"), HasSubstr("waits"),
                    HasSubstr("in total"), HasSubstr("600 us")));
  EXPECT_EQ("samples", found[0].line_source);
}

TEST_F(StallTest, WhereverInTheStepItIs) {
  for (const int before : {0, 1, 2, 3}) {
    step_thread = {};
    now_ = 1'000'000'000;
    label_ = 0;
    const std::uint32_t stack = line(20 + before);
    at_stall_ = [&](std::uint64_t from, std::uint64_t to) {
      sample(from + 10 * kMs, 40 * kMs, stack, true);
      (void)to;
    };
    iterations(400, 100, {before, 60 * kMs});
    account();
    EXPECT_THAT(run_rule(step_stalls), ElementsAre(Names(kStepStalls, 20 + before))) << before;
  }
}

TEST_F(StallTest, WhatAnotherThreadDoesUnderTheLockIsItsLine) {
  const std::uint32_t mine = line(12), other = stack({frame("/job/helper.py", 7, "work")});
  at_stall_ = [&](std::uint64_t from, std::uint64_t) {
    step_thread.samples.push_back({from + 10 * kMs, 40 * kMs, mine, true, true, 7});
    for (int i = 0; i < 6; ++i)
      step_thread.other_thread_samples.push_back(
          {from + static_cast<std::uint64_t>(i) * 10 * kMs, 10 * kMs, other, false, false, 8});
  };
  iterations(400, 100, {1, 60 * kMs});
  account();
  const auto found = run_rule(step_stalls);
  ASSERT_THAT(found, ElementsAre(Names(kStepStalls, 7)));
  EXPECT_EQ("/job/helper.py", found[0].where.file);
  EXPECT_THAT(found[0].finding, HasSubstr("Python's lock (GIL)"));
  EXPECT_NEAR(240e6, found[0].figures[1].value, 1e6);
}

TEST_F(StallTest, AnEvaluationIsToldAsOne) {
  at_stall_ = [&](std::uint64_t from, std::uint64_t to) {
    const FrameId train = frame("/job/train.py", 16, "train");
    int i = 0;
    for (std::uint64_t at = from; at + kMs <= to; at += kMs, ++i)
      op(i % 2 == 0 ? "aten::linear" : "aten::relu", at, 900,
         stack({frame("/job/train.py", 40 + i % 2, "measure"), train}));
  };
  iterations(400, 100, {3, 60 * kMs});
  const auto told = stretches(WallPhase::kSteps);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(HostActivityKind::kEvaluation, told[0].activity.kind)
      << "operators that autograd did not number";
  EXPECT_EQ(16, told[0].activity.line)
      << "where it is called, since two lines in it share the time";
  EXPECT_EQ("measure", told[0].activity.what);
  EXPECT_THAT(run_rule(step_stalls), ElementsAre(Names(kStepStalls, 16)));
}

TEST_F(StallTest, SavingIsToldAsSaving) {
  const auto found = reported_of_saving(10 * kMs);
  ASSERT_THAT(found, ElementsAre(Names(kStepStalls, 17)));
  EXPECT_THAT(found[0].finding, HasSubstr("the program saves data (save, serialization.py)"));
}

// Samples come by CPU time: beside other programs there are fewer, and what was saved is the same.
TEST_F(StallTest, SavingOnABusyMachineIsToldToo) {
  EXPECT_THAT(reported_of_saving(30 * kMs), ElementsAre(Names(kStepStalls, 17)));
}

TEST_F(StallTest, EvaluationAndSavingInOneStepAreTwo) {
  const std::uint32_t saving = inside("/site-packages/torch/serialization.py", "save", 17);
  const std::uint32_t sleeping = line(18);
  at_stall_ = [&](std::uint64_t from, std::uint64_t to) {
    const std::uint64_t half = (to - from) / 2;
    for (std::uint64_t at = from; at < to; at += 10 * kMs)
      sample(at, 10 * kMs, at - from < half ? saving : sleeping, at - from >= half);
  };
  iterations(300, 100, {3, 80 * kMs});
  account();
  EXPECT_THAT(run_rule(step_stalls),
              testing::UnorderedElementsAre(Names(kStepStalls, 17), Names(kStepStalls, 18)));
}

TEST_F(StallTest, AThreadThatLostItsProcessorIsNoAdvice) {
  step_thread.samples.push_back({1'000'000'001, 10 * kMs, line(12), false, false, 7});
  iterations(1000, 250, {1, 60 * kMs});  // no sample: nothing ran and nothing waited
  account();
  EXPECT_THAT(run_rule(step_stalls), IsEmpty());
  EXPECT_THAT(stretches(WallPhase::kSteps), SizeIs(1)) << "the table has it";
}

TEST_F(StallTest, EverySecondStepIsNoStall) {
  iterations(400, 2, {1, 60 * kMs});
  account();
  EXPECT_THAT(run_rule(step_stalls), IsEmpty());
}

TEST_F(StallTest, WhatLiesBetweenStepsIsNamedByLine) {
  iterations(50, 1000, {0, 0});
  const std::uint32_t saving = inside("/site-packages/torch/serialization.py", "save", 30);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int i = 0; i < 50; ++i, now_ += 2 * kMs)
      op("aten::linear", now_, 1900,
         stack({frame("/job/train.py", 44, "evaluate"), frame("/job/train.py", 29, "train")}));
    for (int i = 0; i < 4; ++i, now_ += 10 * kMs) sample(now_, 10 * kMs, saving, false);
    sample(now_ + 5 * kMs, 50 * kMs, line(31), true);
    now_ += 60 * kMs;
    iterations(50, 1000, {0, 0});
  }
  const auto told = stretches(WallPhase::kBetween);
  ASSERT_THAT(told, SizeIs(3));
  EXPECT_EQ(HostActivityKind::kEvaluation, told[0].activity.kind);
  EXPECT_NEAR(200e6, static_cast<double>(told[0].activity.ns), 1e6);
  EXPECT_EQ(2u, told[0].count);
  EXPECT_THAT(told[0].labels, ElementsAre(50, 100));
  EXPECT_THAT(
      run_rule(between_steps),
      ElementsAre(Names(kBetweenSteps, 29), Names(kBetweenSteps, 31), Names(kBetweenSteps, 30)));
  EXPECT_THAT(run_rule(between_steps)[0].share_base, "time from the first to the last step");
}

TEST_F(StallTest, ALookAddsUpToItsLength) {
  const std::uint32_t sleeping = line(18);
  at_stall_ = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t at = from; at < to; at += 7 * kMs) sample(at, 3 * kMs, sleeping, true);
  };
  iterations(20, 5, {2, 60 * kMs});
  TimeAttributor explainer(step_thread);
  for (std::uint64_t from = 1'000'000'000 - kMs; from < now_; from += 1'234'567) {
    const Attribution look = explainer.attribute_interval(from, from + 5'000'001);
    std::uint64_t sum = 0;
    for (const TimeShare& bit : look.bits) sum += bit.ns;
    EXPECT_EQ(5'000'001u, sum);
  }
}

}  // namespace
}  // namespace gpuprof::report::advice
