// SPDX-License-Identifier: Apache-2.0
//
// What several pairs of recordings show together, and what only some of them do.
#include "analysis/report/diff/significance/repeated_pairs.hpp"

#include <gmock/gmock.h>

#include "analysis/report/diff/condition.hpp"
#include "analysis/report/diff/output/diff_text.hpp"
#include "analysis/report/diff/output/findings.hpp"
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
using testing::Not;
using testing::SizeIs;

constexpr Noise kCalm{.step = 0.02, .drift = 0.02, .own = 0.002, .spikes = 0};

Diff pair_of(StepProfile before, StepProfile after) {
  Diff diff;
  diff.before = "a";
  diff.after = "b";
  diff.processes.push_back(compare(std::move(before), std::move(after), {}));
  return diff;
}

/// Pairs in which op2 takes so many times as long after.
Diff pairs_with(const std::vector<double>& factors, unsigned seed = 31) {
  SyntheticProgram program(seed);
  std::vector<Diff> pairs;
  for (const double factor : factors) {
    StepProfile before = program.run(usual_times(), 40, kCalm);
    pairs.push_back(pair_of(std::move(before), program.run(usual_times(), 40, kCalm, 2, factor)));
  }
  return combine_pairs(std::move(pairs)).take();
}

std::string text_of(const Diff& diff) { return diff_text(diff, 10, 0); }

TEST(Repeats, OnePairDoesNotClaimWhatOneProcessMayDoByItself) {
  const Diff diff = pairs_with({1.6});
  EXPECT_THAT(significant_names(diff.processes[0]), IsEmpty());
  EXPECT_THAT(names_seen_once(diff.processes[0]), Contains("op2"));
  const std::string text = text_of(diff);
  EXPECT_THAT(
      text,
      HasSubstr("No significant change.\nUnconfirmed changes, seen in one pair of recordings:\n"));
  EXPECT_THAT(text, HasSubstr("  operator op2: "));
  EXPECT_THAT(text, HasSubstr("\n? op2 "));
  EXPECT_THAT(text, HasSubstr("gpuprof diff BEFORE AFTER BEFORE2 AFTER2 BEFORE3 AFTER3\n"));
  EXPECT_THAT(text, Not(HasSubstr("pairs")));
  EXPECT_THAT(diff_json(diff), Not(HasSubstr("shown_by")));
}

TEST(Repeats, ThreePairsClaimWhatAllOfThemShow) {
  const Diff diff = pairs_with({1.6, 1.5, 1.7});
  EXPECT_THAT(significant_names(diff.processes[0]), Contains("op2"));
  EXPECT_THAT(names_seen_once(diff.processes[0]), IsEmpty());
  EXPECT_EQ(3u, find(diff.processes[0], "op2")->confirming_pairs);
  const std::string text = text_of(diff);
  EXPECT_THAT(text, HasSubstr("3 pairs of recordings: "));
  EXPECT_THAT(text, HasSubstr("of the step, shown by 3 of 3 pairs\n"));
  EXPECT_THAT(text, HasSubstr("\n* op2 "));
  const std::vector<Finding> findings = significant_findings(diff.processes[0], diff.pairs());
  EXPECT_THAT(findings.back().evidence, Contains(HasSubstr("shown by 3 of 3 pairs")));
  EXPECT_THAT(diff_json(diff), HasSubstr("\"shown_by\""));
}

TEST(Repeats, TwoPairsThatAgreeAreNotEnoughForATime) {
  const Diff diff = pairs_with({1.6, 1.6});
  EXPECT_THAT(significant_names(diff.processes[0]), IsEmpty());
  EXPECT_THAT(text_of(diff), HasSubstr("shown by 2 of 2 pairs"));
  EXPECT_THAT(text_of(diff), HasSubstr("each of at least 3 pairs shows it"));
}

TEST(Repeats, WhatSomePairsShowOrShowTheOtherWayRoundIsNotClaimed) {
  for (const std::vector<double>& factors :
       {std::vector<double>{1.6, 1, 1.6}, {1.6, 1 / 1.6, 1.6}, {1.6, 1, 1}, {4, 1, 4}}) {
    const Diff diff = pairs_with(factors);
    EXPECT_THAT(significant_names(diff.processes[0]), Not(Contains("op2")));
    EXPECT_THAT(names_seen_once(diff.processes[0]), Contains("op2"));
    EXPECT_THAT(text_of(diff), HasSubstr(" of 3 pairs\n"));
    EXPECT_THAT(text_of(diff), HasSubstr("only if each of the 3 pairs shows it"));
  }
}

TEST(Repeats, WhatIsCertainByCallsMustBeInEveryPairAsWell) {
  SyntheticProgram program(5);
  const auto pair = [&](float calls) {
    StepProfile before = program.run(usual_times(), 40, {}),
                after = program.run(usual_times(), 40, {});
    for (StepCell& cell : before.names[2].cells) cell.calls = 20;
    for (StepCell& cell : after.names[2].cells) cell.calls = calls;
    return pair_of(std::move(before), std::move(after));
  };
  const auto claimed = [&](float first, float second) {
    std::vector<Diff> pairs;
    pairs.push_back(pair(first));
    pairs.push_back(pair(second));
    return significant_names(combine_pairs(std::move(pairs)).value().processes[0]);
  };
  EXPECT_THAT(claimed(24, 24), ElementsAre("op2"));
  EXPECT_THAT(claimed(24, 20), IsEmpty());
  EXPECT_THAT(claimed(24, 16), IsEmpty());
}

TEST(Repeats, NewNamesAndMemoryMustBeInEveryPair) {
  SyntheticProgram program(5);
  const auto pair = [&](bool more) {
    StepProfile before = program.run(usual_times(), 40, {});
    std::vector<double> times = usual_times();
    if (more) times.push_back(1e6);
    StepProfile after = program.run(times, 40, {});
    before.memory[0].peak_allocated_bytes = 100 << 20;
    after.memory[0].peak_allocated_bytes = (more ? 120 : 100) << 20;
    return pair_of(std::move(before), std::move(after));
  };
  std::vector<Diff> all, some;
  for (const bool more : {true, true}) all.push_back(pair(more));
  for (const bool more : {true, false}) some.push_back(pair(more));
  const Diff shown = combine_pairs(std::move(all)).take(),
             partly = combine_pairs(std::move(some)).take();
  EXPECT_TRUE(find(shown.processes[0], "op16")->significant);
  EXPECT_TRUE(shown.processes[0].memory.at(0).significant);
  EXPECT_FALSE(find(partly.processes[0], "op16")->significant);
  EXPECT_TRUE(find(partly.processes[0], "op16")->is_unconfirmed);
  EXPECT_TRUE(partly.processes[0].memory.at(0).is_unconfirmed);
  EXPECT_THAT(text_of(partly), HasSubstr("shown by 1 of 2 pairs"));
}

TEST(Repeats, ConditionsMustHoldInEveryPair) {
  const auto holds = [](const std::string& text, const Diff& diff) {
    return diff::evaluate_condition(parse_condition(text).value(), diff).value();
  };
  const Diff all = pairs_with({1.6, 1.6, 1.6}), some = pairs_with({1.6, 1, 1.6});
  EXPECT_THAT(holds("operator:op2 > +20%", all),
              ElementsAre(HasSubstr("--fail-if 'operator:op2 > +20%' holds in all 3 pairs: ")));
  EXPECT_THAT(holds("changes > 0", all), SizeIs(1));
  EXPECT_THAT(holds("operator:op2 > +20%", some), IsEmpty());
  EXPECT_THAT(holds("changes > 0", some), IsEmpty());
}

TEST(Repeats, RanksAreHeldAgainstTheSameRankOfOtherPairs) {
  SyntheticProgram program(5);
  const auto pair = [&](std::vector<std::int64_t> ranks, double factor_of_rank_1) {
    Diff diff;
    for (const std::int64_t rank : ranks) {
      StepProfile before = program.run(usual_times(), 40, kCalm);
      StepProfile after =
          program.run(usual_times(), 40, kCalm, 2, rank == 1 ? factor_of_rank_1 : 1);
      before.rank = after.rank = rank;
      diff.processes.push_back(compare(std::move(before), std::move(after), {}));
    }
    return diff;
  };
  std::vector<Diff> pairs;
  pairs.push_back(pair({0, 1}, 1.6));
  pairs.push_back(pair({1, 0}, 1.6));
  pairs.push_back(pair({1}, 1.6));
  const Diff diff = combine_pairs(std::move(pairs)).take();
  EXPECT_THAT(significant_names(diff.processes[0]), IsEmpty());
  EXPECT_THAT(significant_names(diff.processes[1]), Contains("op2"));
}

TEST(Repeats, SimulatedAndRealGpusAreNotMixed) {
  SyntheticProgram program(5);
  const auto pair = [&](bool simulated) {
    StepProfile before = program.run(usual_times(), 40, kCalm), after = before;
    for (StepProfile* profile : {&before, &after}) profile->names[3].kind = NameKind::kKernel;
    for (StepProfile* profile : {&before, &after})
      for (StepCell& cell : profile->names[3].cells) cell.self_device_ns = 100;
    Diff diff = pair_of(std::move(before), std::move(after));
    diff.simulated = simulated;
    return diff;
  };
  std::vector<Diff> pairs;
  pairs.push_back(pair(true));
  pairs.push_back(pair(false));
  const auto diff = combine_pairs(std::move(pairs));
  ASSERT_FALSE(diff.ok());
  EXPECT_EQ(2, diff.error().exit_status);
  EXPECT_THAT(diff.error().message, HasSubstr("simulated GPU"));
}

/// Three equal pairs each; one operator is slower in one process of five.
TEST(Repeats, EqualTriplesWithAnOperatorOfTwoMindsRaiseAtMostOneAlarmInAHundred) {
  SyntheticProgram program(7);
  const Noise noise{.bistable = 0.2, .bistable_to = 1};
  int alarms = 0;
  for (int i = 0; i < test::kManyRuns; ++i) {
    std::vector<Diff> pairs;
    for (int k = 0; k < 3; ++k) {
      StepProfile before = program.run(usual_times(), 40, noise);
      pairs.push_back(pair_of(std::move(before), program.run(usual_times(), 40, noise)));
    }
    alarms += combine_pairs(std::move(pairs)).value().processes[0].any_significant();
  }
  EXPECT_LE(alarms, 3);
  RecordProperty("alarms", alarms);
}

}  // namespace
}  // namespace gpuprof::report::diff
