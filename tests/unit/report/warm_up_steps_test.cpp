// SPDX-License-Identifier: Apache-2.0
//
// Which steps at a program's begin stand apart from the others.
#include "analysis/report/aggregation/warm_up_steps.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "analysis/export/labels/event_counters.hpp"

namespace gpuprof::report {
namespace {

std::size_t apart(const std::vector<std::uint64_t>& lengths) {
  return count_warm_up_steps(lengths);
}

TEST(WarmUp, IsTheFirstStepThatCompiles) {
  EXPECT_EQ(1u, apart({1430, 24, 24, 25, 24, 23, 24, 24, 25, 24}));
}

TEST(WarmUp, IsAlsoWhatFollowsAsLongAsItIsSlow) {
  EXPECT_EQ(2u, apart({311, 17, 4, 4, 4, 4, 4, 5, 4, 4}));
  EXPECT_EQ(1u, apart({311, 4, 17, 4, 4, 4, 4, 5, 4, 4})) << "later ones are stalls";
}

TEST(WarmUp, IsToldOfTwoAndThreeStepsWhereItIsPlain) {
  EXPECT_EQ(0u, apart({}));
  EXPECT_EQ(0u, apart({1430})) << "there is nothing to compare it with";
  EXPECT_EQ(1u, apart({1430, 24}));
  EXPECT_EQ(1u, apart({1430, 24, 25}));
  EXPECT_EQ(0u, apart({39, 24})) << "of few, twice as long is asked for";
  EXPECT_EQ(0u, apart({39, 24, 25}));
  EXPECT_EQ(1u, apart({39, 24, 25, 24}));
}

TEST(WarmUp, IsNoStepThatIsAsLongAsOthers) {
  EXPECT_EQ(0u, apart({24, 24, 25, 24, 23, 24}));
  EXPECT_EQ(0u, apart({33, 24, 25, 24, 23, 24})) << "a third longer may be the machine";
  EXPECT_EQ(0u, apart({30, 10, 30, 10, 30, 10, 30, 10, 10})) << "every other one is long";
  EXPECT_EQ(0u, apart({24, 25, 1430, 24, 24, 24}));
}

TEST(WarmUp, IsAtMostAThird) { EXPECT_EQ(2u, apart({90, 80, 70, 60, 10, 10})); }

TEST(WarmUp, BeginsWithTheProgramsFirstStep) {
  model::Step step{};
  step.source = static_cast<std::uint32_t>(exporter::StepOrigin::kLoop);
  step.label = 1;
  EXPECT_TRUE(is_first_program_step(step));
  step.number = 40;
  EXPECT_FALSE(is_first_program_step(step)) << "a later window";
  step.number = 0;
  step.source = static_cast<std::uint32_t>(exporter::StepOrigin::kUser);
  step.label = 12;
  EXPECT_FALSE(is_first_program_step(step))
      << "torch.profiler counts from 0 and recorded from 12 on";
  step.label = 0;
  EXPECT_TRUE(is_first_program_step(step));
}

}  // namespace
}  // namespace gpuprof::report
