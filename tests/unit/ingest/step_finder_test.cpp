// SPDX-License-Identifier: Apache-2.0
//
// Which loop becomes the step, and whether its iterations are numbered as they happened.
#include <gmock/gmock.h>

#include "tests/unit/ingest/step_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::kMarkInferred;
using wire::kMarkLoopEntry;
using wire::StepRule;
using wire::StepSource;

constexpr std::uint64_t kInner = 1, kOuter = 2, kOther = 3;

void expect_consecutive(const std::vector<model::Step>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(i, steps[i].number);
    EXPECT_EQ(i + 1, steps[i].label);
  }
}

TEST_F(StepFinderTest, TheLoopAroundTheOptimizerIsTheStep) {
  loop(kInner, 37, 60);
  stack(11, {kInner});
  for (int i = 0; i < 300; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    train(11);
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_EQ(truth_, heard_.begins);
  expect_consecutive(sink_.steps);
  EXPECT_GT(counted_, 100u) << "the target counts once it was told";
  EXPECT_THAT(heard_.told,
              ElementsAre("iterations of the loop at train.py:37 (with Optimizer.step), "
                          "confidence 95 %"));
  EXPECT_EQ(95u, sink_.steps[0].confidence);
  EXPECT_EQ("train.py:37", sink_.strings[sink_.steps[0].where]);
  EXPECT_EQ("train.py:37", sink_.strings[sink_.steps[299].where]);
  EXPECT_EQ(sink_.steps[0].end_ns, sink_.steps[1].start_ns);
}

/// A critic with five updates, each of so long an operator, for each of the generator's.
class Critic : public StepFinderTest {
 protected:
  /// @return Where each step begins. @param pause_ns In the first one, after the fourth update.
  std::vector<std::uint64_t> train(std::uint64_t update_ns, std::uint64_t pause_ns) {
    loop(kInner, 40, 50);
    loop(kOuter, 30, 60);
    stack(11, {kInner, kOuter});
    stack(12, {kOuter});
    std::vector<std::uint64_t> outer;
    for (int i = 0; i < 60; ++i) {
      iterate(kOuter, i == 0 ? kMarkLoopEntry : 0);
      outer.push_back(t_);
      for (int critic = 0; critic < 5; ++critic) {
        iterate(kInner, critic == 0 ? kMarkLoopEntry : 0);
        op("aten::linear", 11, update_ns);
        op("Optimizer.step#RMSprop.step", 11, kMs);
        if (i == 0 && critic == 3 && pause_ns != 0) pass(pause_ns);
      }
      op("Optimizer.step#Adam.step", 12, kMs);
    }
    finish();
    return outer;
  }
};

TEST_F(Critic, NothingIsChosenWhileALoopMayStillBeAnInnerOne) {
  const auto outer = train(5 * kMs, 0);
  EXPECT_EQ(outer, begins_of(sink_.steps));
  EXPECT_THAT(heard_.told, SizeIs(1));
}

TEST_F(Critic, APauseInTheFirstStepDoesNotMakeTheInnerLoopTheStep) {
  const auto outer = train(50 * kMs, 7 * kSecond);  // longer than anyone looks
  EXPECT_EQ(outer, begins_of(sink_.steps));
  EXPECT_THAT(heard_.told, SizeIs(1));
}

// Without its end the program was killed inside of it.
class InARange : public StepFinderTest, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(ThatEnds, InARange, testing::Bool());

TEST_P(InARange, TheLastStepLastsAsLongAsTheRange) {
  loop(kInner, 37, 60);
  stack(11, {kInner});
  for (int i = 0; i < 300; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    const std::uint64_t range = ++object_;
    const std::uint32_t number = ++op_;
    put(wire::OpBegin{t_, name("round"), 11, 0, -1, range, number, 0, 0, 7, wire::kOpTopLevel});
    train(11);
    pass(200 * kUs);
    if (i < 299 || GetParam()) put(wire::OpEnd{t_, range, number, 0});
  }
  const std::uint64_t last_ns = t_;
  pass(GetParam() ? 300 * kUs : 0);
  finish();
  ASSERT_THAT(sink_.steps, SizeIs(300));
  EXPECT_EQ(last_ns, sink_.steps[299].end_ns);
  EXPECT_EQ(sink_.steps[1].start_ns, sink_.steps[0].end_ns);
}

TEST_F(StepFinderTest, LongStepsOfAnEpochAreNotWaitedForForLong) {
  loop(kInner, 40, 50);
  loop(kOuter, 30, 60);
  stack(11, {kInner, kOuter});
  iterate(kOuter, kMarkLoopEntry);
  for (int i = 0; i < 5; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    train(11);
    pass(1500 * kMs);
  }
  EXPECT_THAT(heard_.told, ElementsAre(HasSubstr("train.py:40")));
}

TEST_F(StepFinderTest, AWarmUpLoopIsNotTheStep) {
  loop(kOther, 10, 20);
  loop(kInner, 37, 60);
  stack(11, {kOther});
  stack(12, {kInner});
  for (int i = 0; i < 10; ++i) {
    iterate(kOther, i == 0 ? kMarkLoopEntry : 0);
    op("aten::linear", 11, 20 * kMs);
    op("Optimizer.step#SGD.step", 11, kMs);
  }
  for (int i = 0; i < 200; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    train(12);
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(StepFinderTest, AccumulationInALoopOfItsOwnIsPartOfTheStep) {
  // Given an optimizer that runs in the last of four rounds of the inner loop
  loop(kInner, 40, 50);
  loop(kOuter, 30, 60);
  stack(11, {kInner, kOuter});
  std::vector<std::uint64_t> outer;
  for (int i = 0; i < 100; ++i) {
    outer.push_back(t_);
    iterate(kOuter, i == 0 ? kMarkLoopEntry : 0);
    for (int micro = 0; micro < 4; ++micro) {
      iterate(kInner, micro == 0 ? kMarkLoopEntry : 0);
      op("aten::linear", 11, kMs);
      if (micro == 3) op("Optimizer.step#Adam.step", 11, kMs);
    }
  }
  finish();
  EXPECT_EQ(outer, begins_of(sink_.steps));
}

TEST_F(StepFinderTest, EpochsWithAnEvaluationLoop) {
  loop(kInner, 40, 50);
  loop(kOuter, 30, 90);
  loop(kOther, 70, 80);
  stack(11, {kInner, kOuter});
  stack(12, {kOther, kOuter});
  for (int epoch = 0; epoch < 6; ++epoch) {
    iterate(kOuter, epoch == 0 ? kMarkLoopEntry : 0);
    for (int i = 0; i < 30; ++i) {
      iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
      train(11);
    }
    for (int i = 0; i < 30; ++i) {
      iterate(kOther, i == 0 ? kMarkLoopEntry : 0);
      op("aten::linear", 12, kMs);
    }
  }
  finish();
  ASSERT_EQ(truth_, begins_of(sink_.steps));
  // The last step before the evaluation does not hold it, found afterwards or counted.
  for (const std::size_t last : {29u, 59u, 149u})
    EXPECT_LT(sink_.steps[last].end_ns - sink_.steps[last].start_ns, 2 * kMs) << last;
}

TEST_F(StepFinderTest, TheLoadersStopIterationIsNoStep) {
  loop(kInner, 40, 50);
  loop(kOuter, 30, 90);
  stack(11, {kInner, kOuter});
  stack(12, {kOuter});
  const char* loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  for (int epoch = 0; epoch < 4; ++epoch) {
    op("aten::randperm", 12, kUs);
    for (int i = 0; i < 5; ++i) {
      iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
      const std::uint64_t begin = t_;
      op(loader, 11, 100 * kUs);
      train(11);
      truth_.back() = begin;
    }
    iterate(kInner);
    op(loader, 11, 10 * kUs);
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  expect_consecutive(sink_.steps);
}

TEST_F(StepFinderTest, LoopsAreKnownWithoutStacks) {
  // Given `--no-with-stack`, and a critic's loop of five updates before the generator's
  loop(kInner, 40, 50);
  loop(kOuter, 30, 60);
  std::vector<std::uint64_t> outer;
  for (int i = 0; i < 60; ++i) {
    iterate(kOuter, i == 0 ? kMarkLoopEntry : 0);
    outer.push_back(t_);
    stack(0, {kInner, kOuter});
    for (int critic = 0; critic < 5; ++critic) {
      iterate(kInner, critic == 0 ? kMarkLoopEntry : 0);
      op("aten::linear", 0, 5 * kMs);
      op("Optimizer.step#RMSprop.step", 0, kMs);
    }
    stack(0, {kOuter});
    op("Optimizer.step#Adam.step", 77, kMs);  // a stack of modules only
  }
  finish();
  EXPECT_EQ(outer, begins_of(sink_.steps));
}

TEST_F(StepFinderTest, StrongIterationsCountWhereThereAreAny) {
  // Given `map(f, batches)` inside the training loop: weak iterations beside the strong ones
  loop(kInner, 37, 60);
  stack(11, {kInner});
  for (int i = 0; i < 100; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    train(11);
    for (int k = 0; k < 3; ++k) {
      iterate(kInner, kMarkInferred);
      op("aten::linear", 11, 100 * kUs);
    }
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_EQ(StepRule::kLoop, heard_.rules.at(0).first);
}

TEST_F(StepFinderTest, WeakIterationsCountWhereThereAreNoOthers) {
  loop(kInner, 37, 60);
  stack(11, {kInner});
  for (int i = 0; i < 100; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry | kMarkInferred : kMarkInferred);
    train(11);
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_EQ(StepRule::kLoopInferred, heard_.rules.at(0).first);
}

TEST_F(StepFinderTest, AnOptimizerInAHookBelongsToTheIterationThatRuns) {
  loop(kInner, 37, 60);
  stack(11, {kInner});
  for (int i = 0; i < 200; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    train(11, nullptr);
    // An engine's thread, nothing known of its stack.
    op("Optimizer.step#SGD.step", 0, 10 * kUs, 0, RingInfo{3, 103, 1});
  }
  EXPECT_THAT(heard_.told, ElementsAre(HasSubstr("(with Optimizer.step)")));
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(StepFinderTest, TheProgramsOwnStepsWin) {
  loop(kInner, 37, 60);
  stack(11, {kInner});
  for (std::uint64_t i = 0; i < 10; ++i) {
    put(wire::StepMark{t_, i, static_cast<std::uint32_t>(StepSource::kUser), wire::kStepBegin,
                       i + 40});
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    train(11);
    put(wire::StepMark{t_, i, static_cast<std::uint32_t>(StepSource::kUser), wire::kStepEnd, 0});
    pass(50 * kMs);
  }
  finish();
  ASSERT_THAT(sink_.steps, SizeIs(10));
  EXPECT_EQ(40u, sink_.steps[0].label);
  EXPECT_EQ(49u, heard_.labels[9]);
  EXPECT_EQ(100u, sink_.steps[0].confidence);
  EXPECT_THAT(heard_.rules, IsEmpty());
  EXPECT_THAT(heard_.told, ElementsAre(HasSubstr("ranges of the program")));
}

TEST_F(StepFinderTest, AShortProgramIsChosenForAtItsEnd) {
  loop(kInner, 37, 60);
  stack(11, {kInner});
  for (int i = 0; i < 6; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    train(11);
  }
  EXPECT_THAT(heard_.began, IsEmpty());
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_THAT(heard_.ended, ElementsAre(5)) << "the others where the next begins";
}

TEST_F(StepFinderTest, TheLoopThatWasNamedIsTaken) {
  look(StepSource::kLoop, "train.py", 30);
  loop(kInner, 40, 50);
  loop(kOuter, 30, 60);
  stack(11, {kInner, kOuter});
  for (int i = 0; i < 50; ++i) {
    iterate(kOuter, i == 0 ? kMarkLoopEntry : 0);
    truth_.push_back(t_);
    for (int k = 0; k < 5; ++k) {
      iterate(kInner, k == 0 ? kMarkLoopEntry : 0);
      op("aten::linear", 11, kMs);
      op("Optimizer.step#SGD.step", 11, kMs);
    }
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_EQ(100u, sink_.steps[0].confidence);
}

TEST_F(StepFinderTest, ALineInsideALoopNamesTheInnermostThatHoldsIt) {
  look(StepSource::kLoop, "train.py", 45);
  loop(kInner, 40, 50);
  loop(kOuter, 30, 60);
  stack(11, {kInner, kOuter});
  for (int i = 0; i < 20; ++i) {
    iterate(kOuter, i == 0 ? kMarkLoopEntry : 0);
    for (int k = 0; k < 5; ++k) {
      iterate(kInner, k == 0 ? kMarkLoopEntry : 0);
      train(11);
    }
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(StepFinderTest, AnotherLoopThanTheChosenOneIsNoticed) {
  // Given a first phase that is over, and a second one elsewhere, long after
  loop(kOther, 10, 20);
  loop(kInner, 37, 60);
  stack(11, {kOther});
  stack(12, {kInner});
  for (int i = 0; i < 200; ++i) {
    iterate(kOther, i == 0 ? kMarkLoopEntry : 0);
    train(11);
  }
  for (int i = 0; i < 2000; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    train(12);
  }
  finish();
  ASSERT_THAT(heard_.told, SizeIs(2));
  EXPECT_THAT(heard_.told[1], HasSubstr("train.py:10"));
  EXPECT_THAT(heard_.told[1], HasSubstr("on iterations of the loop at train.py:37"));
  EXPECT_GT(sink_.steps.size(), 2100u);
  for (std::size_t i = 1; i < heard_.began.size(); ++i)
    ASSERT_EQ(heard_.began[i - 1] + 1, heard_.began[i]);
}

TEST_F(StepFinderTest, IterationsToldOfWhileOnlyCountingAreNumbered) {
  // Given a program whose loop begins when recording is off again
  loop(kInner, 37, 60);
  op("aten::normal_", 0, kMs);
  pass(6 * kSecond);
  recording_ = false;
  for (int i = 0; i < 100; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    if (rule_seen_.first == StepRule::kNone)
      put(wire::LoopMark{t_, kInner, kMarkLoopEntry | wire::kMarkOptimizer, 0});
    train(11);
  }
  finish();
  EXPECT_EQ(truth_, heard_.begins);
}

}  // namespace
}  // namespace gpuprof::ingest
