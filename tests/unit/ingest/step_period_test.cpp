// SPDX-License-Identifier: Apache-2.0
//
// Steps of programs without Python stacks.
#include <gmock/gmock.h>

#include "daemon/ingest/steps/step_period.hpp"
#include "tests/unit/ingest/step_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kStep[] = {"aten::zero_", "aten::linear", "aten::relu", "aten::linear",
                                 "aten::sum",   "aten::mm",     "aten::mm",   "aten::add_"};

class Repetition : public StepFinderTest {
 protected:
  void initialise() {
    for (int i = 0; i < 5; ++i) op("aten::uniform_", 0, kUs);
    op("aten::fill_", 0, kUs);
  }
  void step() {
    truth_.push_back(t_);
    for (const char* text : kStep) op(text, 0, 10 * kUs);
  }
  std::vector<std::uint64_t> begins() const {
    std::vector<std::uint64_t> all;
    for (const model::Step& step : sink_.steps) all.push_back(step.start_ns);
    return all;
  }
};

TEST_F(Repetition, OfOperatorsIsTheStepWhenNothingElseIs) {
  initialise();
  for (int i = 0; i < 40; ++i) step();
  EXPECT_THAT(heard_.began, IsEmpty()) << "only at the end";
  finish();
  EXPECT_EQ(truth_, begins());
  EXPECT_EQ(50u, sink_.steps[0].confidence);
  EXPECT_THAT(heard_.told, ElementsAre(HasSubstr("repetitions")));
}

TEST_F(Repetition, OfFourTimesIsNotEnough) {
  initialise();
  for (int i = 0; i < 4; ++i) step();
  finish();
  EXPECT_THAT(sink_.steps, IsEmpty());
}

TEST_F(Repetition, ThatIsNoneGivesNoStep) {
  std::uint64_t random = 88172645463325252ULL;
  for (int i = 0; i < 2000; ++i) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    op(kStep[random % 8], 0, 10 * kUs);
  }
  finish();
  EXPECT_THAT(sink_.steps, IsEmpty());
}

TEST_F(Repetition, WithNoiseIsRightOrNothing) {
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    look(wire::StepSource::kAuto);
    sink_ = CollectingSink{};
    heard_ = CollectingListener{};
    truth_.clear();
    std::uint64_t random = seed * 88172645463325252ULL;
    for (int i = 0; i < 60; ++i) {
      truth_.push_back(t_);
      for (const char* text : kStep) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        if (random % 25 == 0) op("aten::copy_", 0, kUs);
        if (random % 25 != 1) op(text, 0, 10 * kUs);
      }
    }
    finish();
    if (sink_.steps.empty()) continue;
    EXPECT_NEAR(60.0, static_cast<double>(sink_.steps.size()), 2) << seed;
  }
}

/// As C++ programs do it: no ranges of optimizers, and only those run unfollowed.
class Training : public Repetition {
 protected:
  void followed(const std::vector<const char*>& texts) {
    for (const char* text : texts) {
      sequence_ = 1;
      op(text, 0, 10 * kUs);
    }
    sequence_ = -1;
  }
  void update(bool first) {
    for (int parameter = 0; parameter < 4; ++parameter) {
      op(first ? "aten::clone" : "aten::mul_", 0, 10 * kUs);
      op("aten::add_", 0, 10 * kUs);
    }
  }
  void train(bool first) {
    truth_.push_back(t_);
    if (!first) followed({"aten::detach_", "aten::detach_"});
    followed({"aten::linear", "aten::relu", "aten::linear", "aten::tanh", "aten::linear",
              "aten::sum", "aten::mul", "aten::mean", "aten::ones_like"});
    update(first);
  }
};

TEST_F(Training, BeginsItsStepsAfterTheUpdate) {
  initialise();
  for (int i = 0; i < 40; ++i) train(i == 0);
  finish();
  EXPECT_EQ(truth_, begins());
}

TEST_F(Training, SeenFromItsMiddleOnBeginsItsStepsThereToo) {
  followed({"aten::sum", "aten::mul", "aten::mean", "aten::ones_like"});
  update(false);
  for (int i = 0; i < 40; ++i) train(false);
  finish();
  EXPECT_EQ(truth_, begins());
}

TEST_F(Training, IsNotMistakenForAnInitialisationThatRepeats) {
  for (int layer = 0; layer < 8; ++layer)
    for (const char* text : {"aten::empty", "aten::empty", "aten::uniform_", "aten::uniform_"})
      op(text, 0, kUs);
  for (int i = 0; i < 40; ++i) train(i == 0);
  finish();
  EXPECT_EQ(truth_, begins());
}

TEST_F(Training, WithAnEvaluationNowAndThenIsNotASingleStep) {
  for (int i = 0; i < 60; ++i) {
    train(i == 0);
    if (i % 6 == 5)
      for (int batch = 0; batch < 3; ++batch) op("aten::sigmoid", 0, 10 * kUs);
  }
  finish();
  EXPECT_THAT(sink_.steps, IsEmpty());
}

/// Updates that the target does not count after the choice: it has not heard of it yet.
class UpdatesUncounted : public Repetition, public testing::WithParamInterface<std::size_t> {};

TEST_P(UpdatesUncounted, OfOptimizersCutsWhereTheLastOfThemEnds) {
  const RingInfo ring{0, 100, 1};
  initialise();
  std::vector<std::uint64_t> ends;
  std::size_t known_from = 0;
  for (int i = 0; i < 50; ++i) {
    truth_.push_back(t_);
    for (int critic = 0; critic < 3; ++critic) {
      op("aten::linear", 0, kMs);
      op("Optimizer.step#RMSprop.step", 0, kMs);
    }
    op("Optimizer.step#Adam.step", 0, kMs);
    ends.push_back(t_ - kUs);
    if (heard_.rules.empty())
      known_from = ends.size() + GetParam();
    else if (ends.size() > known_from)
      put(wire::StepMark{ends.back(), counted_++,
                         static_cast<std::uint32_t>(wire::StepSource::kOptimizer), wire::kStepBegin,
                         0},
          {}, ring);
  }
  finish();
  ASSERT_GT(counted_, 10u);
  ASSERT_EQ(50u, sink_.steps.size());
  EXPECT_EQ(truth_[0], sink_.steps[0].start_ns) << "initialisation is not of the first step";
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(i + 1, sink_.steps[i].label);
    EXPECT_EQ(ends[i], sink_.steps[i].end_ns);
    EXPECT_EQ(i == 0 ? truth_[0] : ends[i - 1], sink_.steps[i].start_ns);
  }
  EXPECT_EQ(70u, sink_.steps[0].confidence);
  EXPECT_EQ(wire::StepRule::kOpEnd, heard_.rules.at(0).first);
  EXPECT_THAT(heard_.told, ElementsAre(HasSubstr("ending with Optimizer.step#Adam.step")));
}

INSTANTIATE_TEST_SUITE_P(Repetition, UpdatesUncounted, testing::Values(0, 1, 3));

TEST(StepPeriod, OfFewOperatorsIsNone) {
  EXPECT_EQ(0u, find_period({}));
  EXPECT_EQ(0u, find_period(std::vector<OperatorHistory::Op>(3)));
  EXPECT_THAT(cut_by_period({}, 0), IsEmpty());
  EXPECT_THAT(cut_by_optimizer({}, {}, 1), SizeIs(0));
}

}  // namespace
}  // namespace gpuprof::ingest
