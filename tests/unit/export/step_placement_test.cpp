// SPDX-License-Identifier: Apache-2.0
#include "analysis/export/prescan/step_placement.hpp"

#include <gtest/gtest.h>

namespace gpuprof::exporter {
namespace {

/// Steps of 1 ms each from 1 ms to 5 ms, on thread 1.
std::vector<model::Step> steps() {
  std::vector<model::Step> all;
  for (std::uint64_t i = 1; i < 5; ++i)
    all.push_back({i * 1'000'000, (i + 1) * 1'000'000, i, i, 1, 0, 0, 0});
  return all;
}
StepPlacement place(std::uint64_t from, std::uint64_t to, std::uint32_t tid = 1) {
  return place_in_steps(steps(), tid, {from, to});
}

TEST(Place, IsFreeInsideAStepOutsideOfAllAndOnOtherThreads) {
  EXPECT_EQ(place(1'100'000, 1'900'000).place, StepRelation::kNonCrossing);
  EXPECT_EQ(place(100'000, 900'000).place, StepRelation::kNonCrossing);
  EXPECT_EQ(place(5'000'000, 9'000'000).place, StepRelation::kNonCrossing);
  EXPECT_EQ(place(1'500'000, 2'500'000, 2).place, StepRelation::kNonCrossing);
}

TEST(Place, IsCrossingOverABorder) {
  EXPECT_EQ(place(1'500'000, 2'500'000).place, StepRelation::kCrossing);
  EXPECT_EQ(place(500'000, 1'500'000).place, StepRelation::kCrossing);
  EXPECT_EQ(place(500'000, 3'500'000).place, StepRelation::kCrossing);
  EXPECT_EQ(place(4'500'000, 9'000'000).place, StepRelation::kCrossing);
}

TEST(Place, IsEnclosingAroundSteps) {
  EXPECT_EQ(place(0, 9'000'000).place, StepRelation::kEnclosing);
  EXPECT_EQ(place(2'000'000, 4'000'000).place, StepRelation::kEnclosing);
  EXPECT_EQ(place(2'000'000, 3'000'000).place, StepRelation::kEnclosing);
}

TEST(Place, CutsTheRangeThatMissesABorderByAClockReading) {
  // given the range that made step 2, measured a little before and after it
  const StepPlacement made = place(1'999'900, 2'999'950);
  EXPECT_EQ(made.place, StepRelation::kEnclosing);
  EXPECT_EQ(made.interval.start_ns, 2'000'000u);
  EXPECT_EQ(made.interval.end_ns, 2'999'950u);
  // and a range that ends just after its step
  const StepPlacement late = place(2'500'000, 3'000'150);
  EXPECT_EQ(late.place, StepRelation::kNonCrossing);
  EXPECT_EQ(late.interval.end_ns, 3'000'000u);
}

}  // namespace
}  // namespace gpuprof::exporter
