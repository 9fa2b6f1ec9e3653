// SPDX-License-Identifier: Apache-2.0
#include "cli/session/capture_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/options/parse.hpp"

namespace gpuprof::cli {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;
using Unit = recording::Extent::Unit;

struct Settled {
  recording::SessionOptions session;
  std::string refusal;
};

/// What becomes of `gpuprof attach 1 WORDS`.
Settled settled(Words words) {
  words.insert(words.begin(), {"attach", "1"});
  auto parsed = parse(words);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  if (!parsed) return {};
  Options options = parsed.value().options;
  const auto done = resolve_capture_schedule(options);
  return {options.session, done ? "" : done.error().message};
}

std::uint64_t skipped_steps(const Words& words) {
  const recording::Extent skip = settled(words).session.schedule.skip_first;
  return skip.unit == Unit::kSteps ? skip.value : 0;
}

TEST(RunningSchedule, TheStepThatRunsWhenWeComeIsSkipped) {
  const std::vector<Words> found_by_us = {
      {}, {"--step", "loop"}, {"--step", "loop:train.py:7"}, {"--step", "optimizer"}};
  for (Words words : found_by_us) {
    words.insert(words.end(), {"--active", "3"});
    EXPECT_EQ(skipped_steps(words), 1U) << words[1];
  }
}

TEST(RunningSchedule, OfStepsWithMarksOfTheirOwnTheFirstOneSeenCounts) {
  for (const char* step : {"user", "nvtx:step", "kernel:gemm"})
    EXPECT_EQ(skipped_steps({"--step", step, "--active", "3"}), 0U) << step;
}

TEST(RunningSchedule, WhereStepsPassBeforeTheWindowAnywayTheNumbersAreThoseAskedFor) {
  EXPECT_EQ(skipped_steps({"--wait", "2", "--active", "3"}), 0U);
  EXPECT_EQ(skipped_steps({"--warmup", "2", "--active", "3"}), 0U);
  EXPECT_EQ(skipped_steps({"--skip-first", "4", "--active", "3"}), 4U);
}

TEST(RunningSchedule, WindowsInTimeSkipNoStep) {
  for (const Words& words : {Words{"--active", "300ms"}, Words{"-d", "300ms"}, Words{}})
    EXPECT_EQ(settled(words).session.schedule.skip_first.value, 0U);
}

TEST(RunningSchedule, OneWindowOfFiveSecondsWhereNothingIsSaid) {
  const recording::SessionOptions plain = settled({}).session;
  EXPECT_TRUE(plain.running_processes && plain.schedule.given);
  EXPECT_EQ(plain.schedule.active.unit, Unit::kTime);
  EXPECT_EQ(plain.schedule.active.value, 5'000'000'000U);
  EXPECT_EQ(plain.schedule.repeat, 1U);
  EXPECT_EQ(settled({"--active", "3", "--repeat", "4"}).session.schedule.repeat, 4U);
  EXPECT_THAT(settled({"--wait", "2"}).refusal, HasSubstr("set their number with --active N"));
}

}  // namespace
}  // namespace gpuprof::cli
