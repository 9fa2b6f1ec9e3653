// SPDX-License-Identifier: Apache-2.0
//
// What is claimed of two recordings, and what is not.
#include "analysis/report/diff/significance/compare.hpp"

#include <gmock/gmock.h>

#include "tests/unit/report_diff/made_sides.hpp"

namespace gpuprof::report::diff {
namespace {

using test::find;
using test::names_seen_once;
using test::Noise;
using test::significant_names;
using test::SyntheticProgram;
using test::usual_times;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Of so many equal pairs, those of which anything is claimed.
int false_alarms(int pairs, std::size_t steps, const Noise& noise) {
  SyntheticProgram program(7);
  int alarms = 0;
  for (int i = 0; i < pairs; ++i) {
    const ProcessDiff diff = compare(program.run(usual_times(), steps, noise),
                                     program.run(usual_times(), steps, noise), {});
    alarms += diff.any_significant();
  }
  return alarms;
}

TEST(Compare, EqualPairsRaiseAtMostOneAlarmInAHundred) {
  EXPECT_LE(false_alarms(test::kManyRuns, 40, {}), 3);
}
TEST(Compare, EqualPairsWithWildStepsRaiseAtMostOneAlarmInAHundred) {
  EXPECT_LE(false_alarms(test::kManyRuns, 40, {.step = 0.2, .spikes = 0.3}), 3);
}
TEST(Compare, EqualPairsOfProcessesThatDriftByTensOfPercentRaiseAtMostOneAlarmInAHundred) {
  EXPECT_LE(false_alarms(test::kManyRuns, 40, {.drift = 0.3}), 3);
}
TEST(Compare, EqualPairsOfFewStepsRaiseAtMostOneAlarmInAHundred) {
  EXPECT_LE(false_alarms(test::kManyRuns, 4, {}), 3);
}

TEST(Compare, EqualPairsOfOperatorsThatOneProcessInFiveSlowsRaiseAtMostOneAlarmInAHundred) {
  EXPECT_LE(false_alarms(test::kManyRuns, 40, {.bistable = 0.2}), 3);
  EXPECT_LE(false_alarms(test::kManyRuns, 40, {.bistable = 0.2, .bistable_to = 1}), 3);
}

TEST(Compare, AnOperatorTenPerCentSlowerByTimeAloneIsSeenOnceAndNothingElse) {
  SyntheticProgram program(11);
  const Noise calm{.step = 0.03, .keeps = 0.3, .own = 0.005};
  int named = 0, others = 0, claimed = 0;
  for (int i = 0; i < 100; ++i) {
    const ProcessDiff diff = compare(program.run(usual_times(), 60, calm),
                                     program.run(usual_times(), 60, calm, 1, 1.1), {});
    for (const std::string& name : names_seen_once(diff)) (name == "op1" ? named : others) += 1;
    claimed += diff.any_significant();
  }
  EXPECT_GE(named, 90);
  EXPECT_LE(others, 2);
  EXPECT_EQ(0, claimed);
}

TEST(Compare, AnOperatorThatTakesFourTimesAsLongIsClaimedEitherWay) {
  SyntheticProgram program(11);
  const StepProfile usual = program.run(usual_times(), 40, {});
  const StepProfile slow = program.run(usual_times(), 40, {}, 4, 4);
  EXPECT_THAT(significant_names(compare(usual, slow, {})), Contains("op4"));
  EXPECT_THAT(significant_names(compare(slow, usual, {})), Contains("op4"));
}

TEST(Compare, AnOperatorThatTakesFourTimesAsLongIsNotClaimedWhereItsStepsAreWild) {
  SyntheticProgram program(11);
  const Noise wild{.step = 0.9, .keeps = 0.3};
  StepProfile before = program.run(usual_times(), 60, {});
  StepProfile after = program.run(usual_times(), 60, {}, 4, 4);
  const StepProfile loud = program.run(usual_times(), 60, wild, 4, 4);
  for (std::size_t i = 0; i < 60; ++i)
    after.by_cell[0][i] += loud.names[4].cells[i].self_ns - after.names[4].cells[i].self_ns;
  after.names[4] = loud.names[4];
  const ProcessDiff diff = compare(before, after, {});
  EXPECT_THAT(significant_names(diff), IsEmpty());
  EXPECT_THAT(names_seen_once(diff), Contains("op4"));
}

TEST(Compare, AStepThatIsSlowerForWhatIsSeenOnceIsSeenOnceAsWell) {
  SyntheticProgram program(11);
  const Noise calm{.step = 0.02, .drift = 0, .own = 0.001, .spikes = 0};
  const ProcessDiff diff = compare(program.run(usual_times(), 40, calm),
                                   program.run(usual_times(), 40, calm, 0, 1.6), {});
  EXPECT_THAT(significant_names(diff), IsEmpty());
  EXPECT_THAT(names_seen_once(diff), ElementsAre("op0", "step_time"));
  EXPECT_NEAR(0.17, diff.metric("step_time")->change.relative, 0.03);
}

TEST(Compare, AStepThatIsSlowerForMoreThanWhatIsSeenOnceIsClaimed) {
  SyntheticProgram program(11);
  const Noise calm{.step = 0.02, .drift = 0, .own = 0.001, .spikes = 0};
  const StepProfile before = program.run(usual_times(), 40, calm);
  StepProfile after = program.run(usual_times(), 40, calm, 0, 1.6);
  for (double& ns : after.by_cell[0]) ns += 3e6;
  const ProcessDiff diff = compare(before, after, {});
  EXPECT_THAT(significant_names(diff), ElementsAre("step_time"));
  EXPECT_THAT(names_seen_once(diff), ElementsAre("op0"));
}

TEST(Compare, TimeOfAnOperatorIsClaimedWhereItsInputsOrCallsDiffer) {
  SyntheticProgram program(11);
  StepProfile before = program.run(usual_times(), 40, {});
  StepProfile after = program.run(usual_times(), 40, {}, 1, 1.6);
  EXPECT_THAT(significant_names(compare(before, after, {})), IsEmpty());
  before.names[1].shapes = {"[8, 8]"};
  after.names[1].shapes = {"[16, 8]"};
  EXPECT_THAT(significant_names(compare(before, after, {})), Contains("op1"));
}

TEST(Compare, TimeOfAnOperatorIsClaimedWhereWhatItDoesWithinChanged) {
  // op0 is in op1's outer range; op0 calls op2 more often.
  SyntheticProgram program(11);
  const auto made = [&](double calls, double factor) {
    StepProfile profile =
        program.run(usual_times(), 40, {.step = 0.01, .own = 0.001, .spikes = 0}, 0, factor);
    NameRow outer{"outer", NameKind::kRange, profile.names[0].cells, {}, 40};
    for (StepCell& cell : outer.cells) cell.self_ns = 0;
    profile.names.push_back(outer);
    profile.calls = {{0, 2, 40 * calls, 40 * calls * 3e5}, {16, 0, 40, 40 * 4e6 * factor}};
    return profile;
  };
  const ProcessDiff same_calls = compare(made(5, 1), made(5, 1.6), {});
  EXPECT_FALSE(find(same_calls, "outer")->significant);
  EXPECT_TRUE(find(same_calls, "outer")->is_unconfirmed);
  const ProcessDiff diff = compare(made(5, 1), made(8, 1.6), {});
  EXPECT_THAT(find(diff, "op0")->inner_calls, ElementsAre("op2 5 → 8"));
  EXPECT_TRUE(find(diff, "outer")->total.significant);
}

TEST(Compare, WhatAllHaveInCommonIsToldAndNotClaimed) {
  SyntheticProgram program(3);
  std::vector<double> slower = usual_times();
  for (double& ns : slower) ns *= 1.5;
  const ProcessDiff diff = compare(program.run(usual_times(), 40, {.drift = 0}),
                                   program.run(slower, 40, {.drift = 0}), {});
  EXPECT_THAT(significant_names(diff), IsEmpty());
  EXPECT_TRUE(diff.host.known);
  EXPECT_NEAR(1.5, diff.host.factor, 0.05);
}

TEST(Compare, AnOperatorThatChangesAgainstTheCommonFactorIsSeen) {
  SyntheticProgram program(3);
  std::vector<double> slower = usual_times();
  for (double& ns : slower) ns *= 1.2;
  slower[0] *= 1.5;
  const ProcessDiff diff = compare(program.run(usual_times(), 40, {.drift = 0}),
                                   program.run(slower, 40, {.drift = 0}), {});
  EXPECT_THAT(names_seen_once(diff), Contains("op0"));
  EXPECT_NEAR(0.5, find(diff, "op0")->self.adjusted, 0.1);
  EXPECT_NEAR(0.8, find(diff, "op0")->self.relative, 0.12);
}

TEST(Compare, SlowFirstStepsAreNotCompared) {
  SyntheticProgram program(5);
  StepProfile before = program.run(usual_times(), 40, {}),
              after = program.run(usual_times(), 40, {});
  after.warm_up = 3;
  for (NameRow& row : after.names)
    for (std::size_t i = 0; i < 3; ++i) row.cells[i].self_ns *= 1000;
  NameRow compiled{"compile", NameKind::kOperator, {{0, 1, 1e9F, 1e9F, 0, 0}}, {}, 1};
  after.names.push_back(compiled);
  const ProcessDiff diff = compare(before, after, {});
  EXPECT_THAT(significant_names(diff), IsEmpty());
  EXPECT_EQ(find(diff, "compile"), nullptr);
}

TEST(Compare, OperatorsOnOneSideOnlyAreNamed) {
  SyntheticProgram program(5);
  std::vector<double> more = usual_times();
  more.push_back(1e6);
  const ProcessDiff diff =
      compare(program.run(more, 40, {}), program.run(usual_times(), 40, {}), {});
  ASSERT_NE(find(diff, "op16"), nullptr);
  EXPECT_EQ(Presence::kGone, find(diff, "op16")->presence);
  EXPECT_THAT(significant_names(diff), Contains("op16"));
  const ProcessDiff other =
      compare(program.run(usual_times(), 40, {}), program.run(more, 40, {}), {});
  EXPECT_EQ(Presence::kNew, find(other, "op16")->presence);
}

TEST(Compare, CallsThatAreFixedAndDifferAreCertainWhateverTheNoise) {
  SyntheticProgram program(9);
  const Noise wild{.step = 0.4, .drift = 0.3, .spikes = 0.3};
  StepProfile before = program.run(usual_times(), 40, wild),
              after = program.run(usual_times(), 40, wild);
  for (StepCell& cell : before.names[2].cells) cell.calls = 20;
  for (StepCell& cell : after.names[2].cells) cell.calls = 24;
  const ProcessDiff diff = compare(before, after, {});
  EXPECT_THAT(significant_names(diff), ElementsAre("op2"));
  EXPECT_TRUE(find(diff, "op2")->calls_changed);
}

TEST(Compare, CallsOfAStepThatEndsAnEpochAreNotMixedIntoThoseOfAllOthers) {
  SyntheticProgram program(9);
  StepProfile before = program.run(usual_times(), 40, {}),
              after = program.run(usual_times(), 40, {});
  for (StepCell& cell : before.names[2].cells) cell.calls = cell.index == 20 ? 2 : 32;
  for (StepCell& cell : after.names[2].cells) cell.calls = 32;
  const ProcessDiff diff = compare(before, after, {});
  EXPECT_EQ(32, find(diff, "op2")->calls_before);
  EXPECT_EQ(32, find(diff, "op2")->calls_after);
  EXPECT_FALSE(find(diff, "op2")->calls_changed);
}

TEST(Compare, CallsThatVaryAreNotSaidToDiffer) {
  SyntheticProgram program(9);
  StepProfile before = program.run(usual_times(), 40, {}),
              after = program.run(usual_times(), 40, {});
  for (StepCell& cell : before.names[2].cells) cell.calls = static_cast<float>(1 + cell.index % 3);
  for (StepCell& cell : after.names[2].cells)
    cell.calls = static_cast<float>(1 + (cell.index + 1) % 3);
  EXPECT_FALSE(find(compare(before, after, {}), "op2")->calls_changed);
}

TEST(Compare, CallsInAnOperatorAreToldOfIt) {
  SyntheticProgram program(9);
  StepProfile before = program.run(usual_times(), 40, {}),
              after = program.run(usual_times(), 40, {});
  before.calls = {{0, 1, 40 * 5, 40 * 3e6}};
  after.calls = {{0, 1, 40 * 6, 40 * 3.6e6}};
  const ProcessDiff diff = compare(before, after, {});
  EXPECT_THAT(find(diff, "op0")->inner_calls, ElementsAre("op1 5 → 6"));
  EXPECT_TRUE(find(diff, "op0")->total.significant);
}

TEST(Compare, ASlowerStepIsClaimedWhereItsOperatorsAreNot) {
  SyntheticProgram program(13);
  const Noise calm{.step = 0.01, .drift = 0.01, .own = 0.005, .spikes = 0};
  StepProfile before = program.run(usual_times(), 40, calm),
              after = program.run(usual_times(), 40, calm);
  for (double& ns : after.by_cell[0]) ns += 3e6;  // of 14: something slept
  EXPECT_THAT(significant_names(compare(before, after, {})), ElementsAre("step_time"));
}

TEST(Compare, MemoryIsClaimedFromFivePerCentAndAMebibyteOn) {
  SyntheticProgram program(13);
  const auto with = [&](std::uint64_t bytes) {
    StepProfile profile = program.run(usual_times(), 40, {});
    profile.memory[0].peak_allocated_bytes = bytes;
    for (std::uint32_t i = 0; i < 40; ++i) profile.memory[0].peak_by_cell[i] = bytes;
    return profile;
  };
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_TRUE(compare(with(100 * kMiB), with(107 * kMiB), {}).memory.at(0).significant);
  EXPECT_FALSE(compare(with(100 * kMiB), with(103 * kMiB), {}).memory.at(0).significant);
  EXPECT_FALSE(compare(with(kMiB), with(kMiB + kMiB / 2), {}).memory.at(0).significant);
}

TEST(Compare, DifferencesOfTheRecordingsAreSaid) {
  SyntheticProgram program(13);
  StepProfile before = program.run(usual_times(), 40, {}),
              after = program.run(usual_times(), 2, {});
  before.facts["torch.version"] = "2.1";
  after.facts["torch.version"] = "2.2";
  before.gpus = {"V100"};
  after.gpus = {"H200"};
  after.other_names = 3;
  const ProcessDiff diff = compare(before, after, {});
  EXPECT_THAT(diff.notes, Contains("PyTorch: 2.1 before, 2.2 after"));
  EXPECT_THAT(diff.notes, Contains("GPUs: V100 before, H200 after"));
  EXPECT_THAT(diff.caveats, Contains(HasSubstr("2 steps after warm-up: too few")));
  EXPECT_THAT(diff.caveats,
              Contains("more than 20000 names: 0 before and 3 after are added up as (other)"));
}

TEST(Compare, EmptyRecordingsAreComparedToNothing) {
  EXPECT_THAT(significant_names(compare({}, {}, {})), IsEmpty());
}

}  // namespace
}  // namespace gpuprof::report::diff
