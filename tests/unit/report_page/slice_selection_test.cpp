// SPDX-License-Identifier: Apache-2.0
//
// Which stretches the timeline shows.
#include "analysis/report/page/slice_selection.hpp"

#include <gmock/gmock.h>

namespace gpuprof::report::page {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Steps steps_of(const std::vector<std::uint64_t>& lengths) {
  Steps steps;
  std::uint64_t at = 1000;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    StepRow row;
    row.label = 10 + i;
    row.start_ns = row.host_start_ns = at;
    row.end_ns = row.host_end_ns = at += lengths[i];
    steps.steps.push_back(row);
  }
  return steps;
}

std::vector<std::string> titles(const std::vector<TimelineInterval>& stretches) {
  std::vector<std::string> out;
  for (const TimelineInterval& stretch : stretches) out.push_back(stretch.title);
  return out;
}

const std::vector<model::Window> kWindows(1);

TEST(Stretches, AreFirstMedianAndSlowestInOrder) {
  EXPECT_THAT(titles(select_steps(steps_of({50, 10, 90, 40, 60}), kWindows)),
              ElementsAre("step 10 (first, median)", "step 12 (slowest)"));
  EXPECT_THAT(titles(select_steps(steps_of({10, 90, 40, 60, 50}), kWindows)),
              ElementsAre("step 10 (first)", "step 11 (slowest)", "step 14 (median)"));
  EXPECT_THAT(titles(select_steps(steps_of({10}), kWindows)), ElementsAre("step 10 (first)"));
}

TEST(Stretches, TakeTheSlowestOfTheStepsThatCount) {
  Steps steps = steps_of({900, 10, 90, 40, 60});
  steps.steps[0].warm_up = true;
  EXPECT_THAT(titles(select_steps(steps, kWindows)),
              ElementsAre("step 10 (first)", "step 12 (slowest)", "step 14 (median)"));
}

TEST(Stretches, AreNoMadeUpSteps) {
  Steps steps = steps_of({10});
  steps.is_synthetic = true;
  EXPECT_THAT(select_steps(steps, kWindows), IsEmpty());
  EXPECT_THAT(select_steps({}, kWindows), IsEmpty());
}

TEST(Stretches, ReachToTheEndOfTheStepsGpuWork) {
  Steps steps = steps_of({100});
  steps.steps[0].end_ns += 70;
  const auto stretches = select_steps(steps, kWindows);
  ASSERT_THAT(stretches, SizeIs(1));
  EXPECT_EQ(stretches[0].window.end_ns, 1170u);
}

TEST(Stretches, WithoutStepsAreTheBusiestPart) {
  model::Window window;
  window.end_ns = 1'000'000;
  const std::vector<spool::BlockSummary> blocks{
      {0, 100'000, 500}, {100'000, 150'000, 600}, {200'000, 900'000, 900}};
  EXPECT_THAT(titles(select_busiest(blocks, window, 5000)), ElementsAre("whole recording"));
  const auto one = select_busiest(blocks, window, 1000);
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(one[0].window.start_ns, 100'000u);
  EXPECT_EQ(one[0].window.end_ns, 150'001u);
  EXPECT_THAT(select_busiest({{0, 0, 0}}, window, 10), IsEmpty());
}

}  // namespace
}  // namespace gpuprof::report::page
