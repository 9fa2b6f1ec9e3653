// SPDX-License-Identifier: Apache-2.0
//
// The schedule under a clock of the test's own.
#include <gmock/gmock.h>

#include "tests/unit/session/schedule_fixture.hpp"

namespace gpuprof::session {
namespace {

using recording::Extent;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::AgentState;

TEST(Schedule, RecordsTheWholeRunWithoutASchedule) {
  Schedule schedule(recording::SessionOptions{}, false);
  ScheduledProgram program(schedule, 100 * kMs);
  EXPECT_EQ(AgentState::kRecording, schedule.plan().mode);
  program.wait(3 * kSecond);
  program.finish();
  ASSERT_EQ(1u, program.windows.size());
  EXPECT_EQ(3 * kSecond, program.windows[0].end_ns - program.windows[0].start_ns);
  EXPECT_TRUE(schedule.whole_run());
}

TEST(Schedule, ArmedRecordsNothing) {
  recording::SessionOptions options;
  options.armed = true;
  Schedule schedule(options, false);
  ScheduledProgram program(schedule, 100 * kMs);
  program.wait(kSecond);
  EXPECT_EQ(AgentState::kArmed, schedule.plan().mode);
  EXPECT_EQ(wire::kNever, schedule.next_deadline());
  program.finish();
  EXPECT_THAT(program.windows, IsEmpty());
}

class StepLength : public testing::TestWithParam<std::uint64_t> {};

TEST_P(StepLength, FilesHoldExactlyTheAskedStepsWithWarmup) {
  Schedule schedule(in_steps(1, 1, 1, 3, 2), true);
  ScheduledProgram program(schedule, GetParam());
  program.wait(100 * kMs);  // the interpreter starts
  program.steps(100);
  program.finish();
  EXPECT_THAT(steps_of(program.windows), ElementsAre(Steps{3, 3}, Steps{8, 3}));
  EXPECT_EQ(program.began(3), program.windows[0].start_ns);
  EXPECT_EQ(program.began(6), program.windows[0].end_ns);
  EXPECT_THAT(program.remarks, IsEmpty());
  EXPECT_TRUE(schedule.done());
}

TEST_P(StepLength, FarWindowsAreExactTooAndRecordingIsOffBetween) {
  const std::uint64_t far = 3 * kSecond / GetParam() + 10;
  Schedule schedule(in_steps(0, far, 1, 3, 2), true);
  ScheduledProgram program(schedule, GetParam());
  program.steps(2 * far + 20);
  program.finish();
  EXPECT_THAT(steps_of(program.windows), ElementsAre(Steps{far + 1, 3}, Steps{2 * far + 5, 3}));
  EXPECT_THAT(program.remarks, IsEmpty());
  EXPECT_LT(program.recorded_ns(), 12 * GetParam() + kSecond / 2) << "counting in between";
}

INSTANTIATE_TEST_SUITE_P(Steps, StepLength,
                         testing::Values(100'000, kMs, 7 * kMs, 60 * kMs, 900 * kMs));

TEST(Schedule, LateRecordingMovesTheWindowToWholeStepsAndSaysSo) {
  // Given an agent that needs 200 ms to switch on and no warm-up
  Schedule schedule(in_steps(0, 40, 0, 5, 1), true);
  ScheduledProgram program(schedule, 50 * kMs, 200 * kMs);
  program.steps(100);
  program.finish();
  ASSERT_EQ(1u, program.windows.size());
  EXPECT_EQ(5u, program.windows[0].steps);
  EXPECT_GT(program.windows[0].first_step, 40u);
  ASSERT_EQ(1u, program.remarks.size());
  EXPECT_THAT(program.remarks[0].second, HasSubstr("instead of steps 41 to 45"));
}

TEST(Schedule, WindowsBackToBackStayOn) {
  Schedule schedule(in_steps(0, 0, 0, 2, 3), true);
  ScheduledProgram program(schedule, 20 * kMs);
  program.wait(100 * kMs);
  program.steps(10);
  program.finish();
  EXPECT_THAT(steps_of(program.windows), ElementsAre(Steps{0, 2}, Steps{2, 2}, Steps{4, 2}));
}

TEST(Schedule, RepeatsUntilTheEnd) {
  Schedule schedule(in_steps(0, 1, 1, 1, 0), true);
  ScheduledProgram program(schedule, 20 * kMs);
  program.steps(31);
  program.finish();
  EXPECT_EQ(10u, program.windows.size());
}

TEST(Schedule, ProvisionalRecordingIsThrownAwayAtTheFirstStep) {
  Schedule schedule(in_steps(0, 0, 0, 2, 1), true);
  ScheduledProgram program(schedule, 20 * kMs);
  EXPECT_EQ(AgentState::kRecording, schedule.plan().mode);
  program.wait(2 * kSecond);
  schedule.first_activity(program.now());
  program.wait(kSecond);
  program.steps(4);
  program.finish();
  EXPECT_THAT(steps_of(program.windows), ElementsAre(Steps{0, 2}));
}

TEST(Schedule, ProvisionalRecordingEndsFiveSecondsAfterTheFirstLaunch) {
  Schedule schedule(in_steps(0, 10, 0, 2, 1), true);
  ScheduledProgram program(schedule, 20 * kMs);
  program.wait(8 * kSecond);
  EXPECT_EQ(AgentState::kRecording, schedule.plan().mode) << "nothing was launched yet";
  const std::uint64_t launch = program.now();
  schedule.first_activity(launch);
  program.wait(6 * kSecond);
  EXPECT_EQ(AgentState::kCounting, schedule.plan().mode);
  program.finish();
  ASSERT_EQ(1u, program.windows.size());
  EXPECT_EQ(launch, program.windows[0].start_ns);
  EXPECT_EQ(launch + 5 * kSecond, program.windows[0].end_ns);
  EXPECT_THAT(program.remarks[0].second, HasSubstr("first 5 s after the first operator or launch"));
}

TEST(Schedule, ShortProgramWithoutStepsKeepsWhatThereIs) {
  Schedule schedule(in_steps(0, 0, 0, 2, 1), true);
  ScheduledProgram program(schedule, 20 * kMs);
  program.wait(300 * kMs);
  program.finish();
  ASSERT_EQ(1u, program.windows.size());
  EXPECT_EQ(300 * kMs, program.windows[0].end_ns - program.windows[0].start_ns);
  EXPECT_EQ("no step seen", program.windows[0].why);
}

TEST(Schedule, GivesUpAfterTheTimeout) {
  auto options = in_steps(0, 0, 0, 2, 1);
  options.step_timeout_ns = 10 * kSecond;
  Schedule schedule(options, true);
  ScheduledProgram program(schedule, 20 * kMs);
  schedule.first_activity(program.now());
  program.wait(9 * kSecond);
  EXPECT_FALSE(schedule.done());
  program.wait(2 * kSecond);
  EXPECT_TRUE(schedule.done());
  EXPECT_EQ(1u, program.windows.size());
}

TEST(Schedule, RecordsNothingOnNoStepIfAsked) {
  auto options = in_steps(0, 0, 0, 2, 1);
  options.on_no_step = "none";
  Schedule schedule(options, true);
  ScheduledProgram program(schedule, 20 * kMs);
  EXPECT_EQ(AgentState::kCounting, schedule.plan().mode);
  program.wait(kSecond);
  program.finish();
  EXPECT_THAT(program.windows, IsEmpty());
  EXPECT_THAT(program.remarks[0].second, HasSubstr("--on-no-step none"));
}

TEST(Schedule, SaysThatTheProgramEndedBeforeTheFirstWindow) {
  Schedule schedule(in_steps(0, 100, 1, 2, 1), true);
  ScheduledProgram program(schedule, 20 * kMs);
  program.steps(10);
  program.finish();
  EXPECT_THAT(program.windows, IsEmpty());
  EXPECT_THAT(program.remarks[0].second, HasSubstr("before the first window"));
}

TEST(Schedule, ProgramThatEndsInAWindowLeavesItsWholeSteps) {
  Schedule schedule(in_steps(0, 2, 1, 10, 1), true);
  ScheduledProgram program(schedule, 20 * kMs);
  program.steps(8);
  program.finish();
  EXPECT_THAT(steps_of(program.windows), ElementsAre(Steps{3, 4}));
  EXPECT_THAT(program.remarks[0].second, HasSubstr("the program ended"));
}

TEST(Schedule, DoesNotWaitForAStepThatNeverBegins) {
  Schedule schedule(in_steps(0, 0, 0, 3, 1), true);
  ScheduledProgram program(schedule, 20 * kMs);
  program.wait(100 * kMs);
  program.steps(3);
  schedule.step_ended(2, program.now());
  program.wait(kSecond);
  EXPECT_THAT(steps_of(program.windows), ElementsAre(Steps{0, 3}));
}

TEST(Schedule, TimeWindowsFollowTheClock) {
  Schedule schedule(in_time(2 * kSecond, kSecond, 2), false);
  ScheduledProgram program(schedule, 20 * kMs);
  const std::uint64_t start = program.now();
  program.wait(kSecond);
  EXPECT_EQ(AgentState::kCounting, schedule.plan().mode);
  program.wait(10 * kSecond);
  ASSERT_EQ(2u, program.windows.size());
  EXPECT_EQ(start + 2 * kSecond, program.windows[0].start_ns);
  EXPECT_EQ(start + 3 * kSecond, program.windows[0].end_ns);
  EXPECT_EQ(start + 5 * kSecond, program.windows[1].start_ns);
  EXPECT_TRUE(schedule.done());
}

TEST(Schedule, TimeOfARunningProcessCountsFromWhereItIsRecorded) {
  recording::SessionOptions options = in_time(0, 200 * kMs, 2);
  options.running_processes = true;
  Schedule schedule(options, true);
  schedule.start(kSecond);
  schedule.tick(kSecond + 250 * kMs);
  EXPECT_EQ(schedule.plan().mode, wire::AgentState::kRecording);
  EXPECT_TRUE(schedule.take_windows().empty());
  schedule.recording_on(kSecond + 300 * kMs);
  for (std::uint64_t ms = 305; ms <= 800; ms += 5) schedule.tick(kSecond + ms * kMs);
  const auto windows = schedule.take_windows();
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(windows[0].start_ns, kSecond + 300 * kMs);
  EXPECT_EQ(windows[0].end_ns, kSecond + 500 * kMs);
  EXPECT_EQ(windows[1].start_ns, kSecond + 500 * kMs);
  EXPECT_EQ(windows[1].end_ns, kSecond + 700 * kMs);
}

TEST(Schedule, ARunningProcessThatNeverSaysThatItIsRecordedIsTakenByTheClock) {
  recording::SessionOptions options = in_time(0, 200 * kMs, 1);
  options.running_processes = true;
  Schedule schedule(options, true);
  schedule.start(kSecond);
  for (std::uint64_t ms = 5; ms <= 5100; ms += 5) schedule.tick(kSecond + ms * kMs);
  const auto windows = schedule.take_windows();
  ASSERT_EQ(windows.size(), 1U);
  EXPECT_EQ(windows[0].start_ns, kSecond);
  EXPECT_EQ(windows[0].end_ns, kSecond + 200 * kMs);
}

TEST(Schedule, ARunningProcessThatEndsBeforeItIsRecordedHasItsWindow) {
  recording::SessionOptions options = in_time(0, 200 * kMs, 1);
  options.running_processes = true;
  Schedule schedule(options, true);
  schedule.start(kSecond);
  schedule.finish(kSecond + 20 * kMs);
  const auto windows = schedule.take_windows();
  ASSERT_EQ(windows.size(), 1U);
  EXPECT_EQ(windows[0].end_ns, kSecond + 20 * kMs);
}

TEST(Schedule, TimeWindowsAreNeverCutInsideAStep) {
  auto options = in_time(2 * kSecond, kSecond, 1);
  options.step = "nvtx:step";
  Schedule schedule(options, true);
  ScheduledProgram program(schedule, 300 * kMs);
  program.steps(20);
  program.finish();
  ASSERT_EQ(1u, program.windows.size());
  EXPECT_EQ(program.began(7), program.windows[0].start_ns);
  EXPECT_EQ(program.began(10), program.windows[0].end_ns);
  EXPECT_EQ(7u, program.windows[0].first_step);
  EXPECT_EQ(3u, program.windows[0].steps);
}

TEST(Schedule, DelayAloneRecordsUntilTheEnd) {
  recording::SessionOptions options;
  options.schedule.wait = {Extent::Unit::kTime, kSecond};
  options.schedule.given = true;
  Schedule schedule(options, false);
  ScheduledProgram program(schedule, 20 * kMs);
  program.wait(4 * kSecond);
  EXPECT_EQ(AgentState::kRecording, schedule.plan().mode);
  program.finish();
  ASSERT_EQ(1u, program.windows.size());
  EXPECT_EQ(3 * kSecond, program.windows[0].end_ns - program.windows[0].start_ns);
}

TEST(Schedule, SaysThatTheProgramEndedBeforeTheDelay) {
  Schedule schedule(in_time(5 * kSecond, kSecond, 1), false);
  ScheduledProgram program(schedule, 20 * kMs);
  program.wait(kSecond);
  program.finish();
  EXPECT_THAT(program.windows, IsEmpty());
  EXPECT_THAT(program.remarks[0].second, HasSubstr("after 1000 ms"));
}

}  // namespace
}  // namespace gpuprof::session
