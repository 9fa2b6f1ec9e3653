// SPDX-License-Identifier: Apache-2.0
//
// Steps that are reported late: many at once, of times long past.
#include <gmock/gmock.h>

#include "tests/unit/session/schedule_fixture.hpp"

namespace gpuprof::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::AgentState;

recording::SessionOptions found(std::uint64_t wait, std::uint64_t warmup, std::uint64_t active,
                                std::uint64_t repeat) {
  auto options = in_steps(0, wait, warmup, active, repeat);
  options.step = "auto";
  options.step_timeout_ns = 60 * kSecond;
  return options;
}

class PastSteps : public testing::TestWithParam<std::uint64_t> {};

TEST_P(PastSteps, WindowsAmongThemAreCutFromWhatWasRecorded) {
  Schedule schedule(found(2, 1, 3, 2), true, true);
  ScheduledProgram program(schedule, GetParam());
  program.wait(300 * kMs);
  schedule.first_activity(program.now());
  program.hidden = true;
  program.steps(20);
  EXPECT_THAT(program.windows, IsEmpty());
  program.hidden = false;
  program.steps(4);
  program.finish();
  EXPECT_THAT(steps_of(program.windows), ElementsAre(Steps{3, 3}, Steps{9, 3}));
  EXPECT_EQ(4u, program.windows[0].first_label);
  EXPECT_EQ(10u, program.windows[1].first_label);
  EXPECT_EQ(program.began(3), program.windows[0].start_ns);
  EXPECT_EQ(program.began(6), program.windows[0].end_ns);
  EXPECT_THAT(program.remarks, IsEmpty());
  EXPECT_TRUE(schedule.done());
}

TEST_P(PastSteps, AWindowFarBehindThemIsMetByTheCounter) {
  const std::uint64_t far = 2 * kSecond / GetParam() + 30;
  Schedule schedule(found(far, 1, 3, 1), true, true);
  ScheduledProgram program(schedule, GetParam());
  schedule.first_activity(program.now());
  program.hidden = true;
  program.steps(20);
  program.hidden = false;
  program.steps(far);
  program.finish();
  EXPECT_THAT(steps_of(program.windows), ElementsAre(Steps{far + 1, 3}));
  EXPECT_THAT(program.remarks, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Steps, PastSteps, testing::Values(100'000, kMs, 7 * kMs, 60 * kMs));

// Given a window that takes later steps, since recording came on in the first of those asked for
TEST(ScheduleOfPastSteps, AWindowThatBeganLateKeepsItsEndWhenStepsGetLonger) {
  Schedule schedule(found(1, 0, 3, 1), true, true);
  const std::uint64_t begin = 1000 * kSecond;
  schedule.start(begin);
  schedule.first_activity(begin);
  schedule.recording_on(begin + 150 * kMs);
  const std::uint64_t began_ms[] = {0, 100, 200, 300, 700};
  for (std::uint64_t i = 0; i < 5; ++i) schedule.step_began(i, begin + began_ms[i] * kMs, i + 1);
  for (std::uint64_t ms = 705; ms < 900; ms += 5) {
    schedule.tick(begin + ms * kMs);
    ASSERT_EQ(5u, schedule.plan().off_step) << ms;
  }
  schedule.step_began(5, begin + 1100 * kMs, 6);
  schedule.tick(begin + 1105 * kMs);
  EXPECT_THAT(steps_of(schedule.take_windows()), ElementsAre(Steps{2, 3}));
}

TEST(ScheduleOfPastSteps, AWindowWhoseEndWasNotRecordedSaysSo) {
  Schedule schedule(found(0, 0, 2, 1), true, true);
  const std::uint64_t begin = 1000 * kSecond;
  schedule.start(begin);
  schedule.first_activity(begin);
  schedule.recording_on(begin);
  schedule.step_began(0, begin + 10 * kMs, 1);
  schedule.step_began(1, begin + 110 * kMs, 2);
  schedule.tick(begin + 115 * kMs);
  schedule.recording_off(begin + 160 * kMs);
  schedule.step_began(2, begin + 210 * kMs, 3);
  schedule.tick(begin + 215 * kMs);
  EXPECT_THAT(steps_of(schedule.take_windows()), ElementsAre(Steps{0, 2}));
  const std::vector<Remark> remarks = schedule.take_remarks();
  ASSERT_EQ(1u, remarks.size());
  EXPECT_THAT(remarks[0].second, HasSubstr("lacks its last 50"));
}

TEST(ScheduleOfPastSteps, AnEvaluationAfterTheLastStepIsNotInTheWindow) {
  Schedule schedule(found(0, 0, 3, 2), true, true);
  ScheduledProgram program(schedule, 10 * kMs);
  program.wait(100 * kMs);
  program.steps(3);
  const std::uint64_t end = program.now() - kMs;
  program.tick();
  schedule.step_ended(2, end, true);
  program.wait(200 * kMs);
  program.steps(4);
  program.finish();
  EXPECT_THAT(steps_of(program.windows), ElementsAre(Steps{0, 3}, Steps{3, 3}));
  EXPECT_EQ(end, program.windows[0].end_ns);
  EXPECT_EQ(program.began(6), program.windows[1].end_ns);
}

// Given a program whose first operators come long before its steps
TEST(ScheduleOfPastSteps, StepsAfterAModelWasBuiltAreRecorded) {
  Schedule schedule(found(2, 1, 3, 1), true, true);
  ScheduledProgram program(schedule, kSecond);
  schedule.first_activity(program.now());
  program.wait(20 * kSecond);
  program.hidden = true;
  program.steps(4);
  program.hidden = false;
  program.steps(6);
  program.finish();
  EXPECT_THAT(steps_of(program.windows), ElementsAre(Steps{3, 3}));
  EXPECT_THAT(program.remarks, IsEmpty());
  EXPECT_EQ(1u, program.times_on()) << "recording was never off in between";
}

TEST(ScheduleOfPastSteps, RecordingGoesOnUntilTheChoice) {
  Schedule schedule(found(2, 1, 3, 1), true, true);
  ScheduledProgram program(schedule, kSecond);
  program.wait(40 * kSecond);
  schedule.first_activity(program.now());
  program.wait(5 * kSecond + 100 * kMs);
  EXPECT_EQ(AgentState::kRecording, schedule.plan().mode);
  program.wait(kSecond);
  EXPECT_EQ(AgentState::kCounting, schedule.plan().mode);
}

// Given steps of which the first windows' were recorded in part
TEST(ScheduleOfPastSteps, AStepWithAGapIsNoWholeStep) {
  Schedule schedule(found(0, 0, 3, 1), true, true);
  ScheduledProgram program(schedule, 4 * kSecond);
  schedule.first_activity(program.now());
  program.wait(25 * kSecond);
  program.hidden = true;
  program.steps(3);
  program.hidden = false;
  program.steps(6);
  program.finish();
  ASSERT_EQ(1u, program.windows.size());
  EXPECT_EQ(3u, program.windows[0].steps);
  EXPECT_GE(program.windows[0].start_ns, program.on_since()) << "no gap in the window";
  ASSERT_EQ(1u, program.remarks.size());
  EXPECT_THAT(program.remarks[0].second, HasSubstr("instead of steps 1 to 3"));
}

// Given a process that makes its numbers and moments up
TEST(ScheduleOfPastSteps, AFirstStepOfAnyNumberIsTakenAtOnce) {
  for (const std::uint64_t number : {std::uint64_t{1} << 40, ~std::uint64_t{0} - 9}) {
    Schedule schedule(found(1, 1, 2, 0), true, true);
    schedule.start(kSecond);
    schedule.step_began(number, 2 * kSecond, 1);
    schedule.tick(2 * kSecond);
    schedule.step_began(number + 1, 3 * kSecond, 2);
    schedule.finish(4 * kSecond);
    EXPECT_LE(schedule.take_windows().size(), 1u) << number;
  }
}

TEST(ScheduleOfPastSteps, AJumpOverTurnsWithoutNumberMissesThemAtOnce) {
  Schedule schedule(found(0, 1, 1, 0), true, true);
  schedule.start(kSecond);
  schedule.recording_on(kSecond);
  schedule.step_began(0, 2 * kSecond, 1);
  schedule.recording_off(2 * kSecond + 1);
  schedule.step_began(std::uint64_t{1} << 40, 3 * kSecond, 2);
  schedule.finish(4 * kSecond);
  const auto remarks = schedule.take_remarks();
  const auto missed = std::find_if(remarks.begin(), remarks.end(), [](const auto& remark) {
    return remark.first == "windows missed";
  });
  ASSERT_NE(missed, remarks.end());
  EXPECT_THAT(missed->second, HasSubstr(" windows between step "));
}

TEST(ScheduleOfPastSteps, AStepThatEndsBeforeItBeganMakesNoWindowThatDoes) {
  Schedule schedule(found(0, 0, 1, 1), true, true);
  schedule.start(kSecond);
  schedule.recording_on(kSecond);
  schedule.step_began(0, 3 * kSecond, 1);
  schedule.step_ended(0, 2 * kSecond, false);
  schedule.tick(4 * kSecond);
  schedule.finish(5 * kSecond);
  for (const model::Window& window : schedule.take_windows())
    EXPECT_LE(window.start_ns, window.end_ns);
}

TEST(ScheduleOfPastSteps, WindowsBackToBackAreCutToo) {
  Schedule schedule(found(0, 0, 2, 0), true, true);
  ScheduledProgram program(schedule, 10 * kMs);
  program.wait(100 * kMs);
  program.hidden = true;
  program.steps(30);
  program.hidden = false;
  program.steps(10);
  schedule.step_ended(39, program.now());
  program.finish();
  ASSERT_EQ(20u, program.windows.size());
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(2 * i, program.windows[i].first_step);
}

TEST(ScheduleOfPastSteps, WhatPassedUnrecordedIsMadeUpForAndSaid) {
  // Given steps that run when provisional recording is over
  Schedule schedule(found(2, 1, 3, 1), true, true);
  ScheduledProgram program(schedule, 100 * kMs);
  schedule.first_activity(program.now());
  program.wait(29 * kSecond);
  EXPECT_EQ(AgentState::kRecording, schedule.plan().mode);
  program.wait(2 * kSecond);
  EXPECT_EQ(AgentState::kCounting, schedule.plan().mode);
  program.hidden = true;
  program.steps(20);
  program.hidden = false;
  program.steps(20);
  program.finish();
  ASSERT_EQ(1u, program.windows.size());
  EXPECT_EQ(3u, program.windows[0].steps);
  EXPECT_GE(program.windows[0].first_step, 20u);
  ASSERT_EQ(1u, program.remarks.size());
  EXPECT_THAT(program.remarks[0].second, HasSubstr("instead of steps 4 to 6"));
}

TEST(ScheduleOfPastSteps, WindowsWithoutAnyRecordedStepAreCounted) {
  Schedule schedule(found(2, 1, 3, 4), true, true);
  ScheduledProgram program(schedule, 100 * kMs);
  schedule.first_activity(program.now());
  program.wait(31 * kSecond);
  program.hidden = true;
  program.steps(17);
  program.hidden = false;
  program.steps(30);
  program.finish();
  EXPECT_EQ(2u, program.windows.size());
  ASSERT_FALSE(program.remarks.empty());
  EXPECT_THAT(program.remarks.back().second, HasSubstr("no file for 2 windows"));
}

TEST(ScheduleOfPastSteps, OperatorsAreLookedAtAgainWhileNoStepIsFound) {
  Schedule schedule(found(0, 0, 2, 1), true, true);
  ScheduledProgram program(schedule, 20 * kMs);
  schedule.first_activity(program.now());
  const auto wait = [&](std::uint64_t ns) {
    for (std::uint64_t done = 0; done < ns; done += 100 * kMs) {
      schedule.extend_step_search(program.now(), false);
      program.wait(100 * kMs);
    }
  };
  wait(32 * kSecond);
  EXPECT_EQ(AgentState::kCounting, schedule.plan().mode);
  wait(2 * kSecond);
  EXPECT_EQ(AgentState::kRecording, schedule.plan().mode) << "after three seconds";
  wait(2 * kSecond);
  EXPECT_EQ(AgentState::kCounting, schedule.plan().mode) << "two seconds long";
  schedule.extend_step_search(program.now(), true);
  EXPECT_EQ(AgentState::kRecording, schedule.plan().mode) << "a new loop";
  wait(3 * kSecond);
  EXPECT_EQ(AgentState::kCounting, schedule.plan().mode);
  wait(25 * kSecond);
  EXPECT_TRUE(schedule.done());
  EXPECT_THAT(program.remarks[0].second, HasSubstr("no step was seen (--step auto)"));
}

TEST(ScheduleOfPastSteps, WithoutOperatorsTheyCannotBeSeen) {
  Schedule schedule(found(0, 0, 2, 1), false);
  ScheduledProgram program(schedule, 20 * kMs);
  program.wait(kSecond);
  program.finish();
  EXPECT_THAT(program.remarks[0].second, HasSubstr("which -t excludes"));
}

TEST(ScheduleOfPastSteps, WordOfRecordingMayComeLate) {
  // Given an agent whose word that it records comes when the window is past
  Schedule schedule(in_steps(0, 100, 1, 3, 1), true);
  const std::uint64_t start = 1000 * kSecond;
  schedule.start(start);
  schedule.recording_on(start);
  const auto begin = [&](std::uint64_t n) {
    schedule.step_began(n, start + n * 10 * kMs, n + 1);
    schedule.tick(start + n * 10 * kMs);
  };
  begin(0);
  schedule.recording_off(start + 5 * kMs);
  for (std::uint64_t n = 1; n < 108; ++n) begin(n);
  EXPECT_THAT(schedule.take_windows(), IsEmpty());
  schedule.recording_on(start + 1000 * kMs);
  begin(108);
  const auto windows = schedule.take_windows();
  EXPECT_THAT(steps_of(windows), ElementsAre(Steps{101, 3}));
  EXPECT_EQ(start + 1040 * kMs, windows[0].end_ns);
  EXPECT_THAT(schedule.take_remarks(), IsEmpty());
}

}  // namespace
}  // namespace gpuprof::session
