// SPDX-License-Identifier: Apache-2.0
//
// Rules about several processes, and what becomes of what all rules say.
#include "analysis/report/advice/advice_text.hpp"
#include "support/text/json.hpp"
#include "tests/unit/advice/story_builder.hpp"

namespace gpuprof::report::advice {
namespace {

using test::kMs;
using test::Names;
using test::Share;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SessionRules : public test::StepThreadTest {
 protected:
  /// Both ranks compute 4 ms a step; `more_us` in line 12 besides; then they meet.
  void rank(std::int64_t number, std::uint64_t more_us) {
    step_thread = StepThread();
    analysis = ProcessReport();
    analysis.meta.rank = number;
    analysis.meta.pid = 100 + static_cast<std::uint32_t>(number);
    steps(4);
    for (std::size_t i = 0; i < 4; ++i) {
      op("aten::linear", at(i, 0), 4000, line(11));
      if (more_us != 0) op("aten::tanh", at(i, 4000), more_us, line(12));
      step_thread.collectives.push_back({at(i, 4000 + more_us), at(i, 10000)});
    }
    analyses.push_back(analysis);
    stories.push_back(step_thread);
  }
  std::vector<Advice> ask_session() {
    std::vector<RuleInput> subjects;
    for (std::size_t i = 0; i < stories.size(); ++i) subjects.push_back({analyses[i], stories[i]});
    AdviceList found;
    slow_rank(subjects, &found);
    return found;
  }
  std::vector<ProcessReport> analyses;
  std::vector<StepThread> stories;
};

TEST_F(SessionRules, TheRankTheOthersWaitForIsNamedWithItsLine) {
  rank(0, 0);
  rank(1, 3000);
  const auto found = ask_session();
  ASSERT_THAT(found, ElementsAre(AllOf(Names(kSlowRank, 12), Share(0.3))));
  EXPECT_EQ(found[0].rank, 1);
}

TEST_F(SessionRules, EqualRanksAreNoAdvice) {
  rank(0, 3000);
  rank(1, 3100);
  EXPECT_THAT(ask_session(), IsEmpty());
}

TEST_F(SessionRules, MuchCommunicationIsNamed) {
  rank(0, 0);
  CollectiveRow row;
  row.name = "gloo:all_reduce";
  analysis.gpu.collectives.push_back(row);
  auto& mean = analysis.steps.mean_ns[static_cast<std::size_t>(Category::kCommunication)];
  mean = 0.5 * kMs;
  EXPECT_THAT(run_rule(communication), IsEmpty());
  mean = 3.0 * kMs;
  const auto found = run_rule(communication);
  ASSERT_THAT(found, ElementsAre(Share(0.3)));
  EXPECT_THAT(found[0].finding, HasSubstr("gloo:all_reduce"));
}

TEST_F(SessionRules, CollectivesKnownByTheirKernelsAreCountedAsKernels) {
  rank(0, 0);
  CollectiveRow row;
  row.name = "ncclDevKernel_AllReduce";
  row.device.count = 7;
  analysis.gpu.collectives.push_back(row);
  analysis.steps.mean_ns[static_cast<std::size_t>(Category::kCommunication)] = 3.0 * kMs;
  const auto found = run_rule(communication);
  ASSERT_THAT(found, testing::SizeIs(1));
  EXPECT_THAT(found[0].finding, HasSubstr("ncclDevKernel_AllReduce (7 kernels)"));
  EXPECT_EQ(found[0].figures.size(), 1u);
}

TEST_F(SessionRules, DataParallelOnSeveralGpusIsNamed) {
  steps(2);
  OperatorRow row;
  row.name = "DataParallel.forward";
  analysis.operators.rows.push_back(row);
  analysis.steps.gpus.resize(2);
  analysis.steps.gpus[0].kernels = 5;
  EXPECT_THAT(run_rule(data_parallel), IsEmpty());
  analysis.steps.gpus[1].kernels = 5;
  EXPECT_THAT(run_rule(data_parallel), testing::SizeIs(1));
}

TEST_F(SessionRules, WhatIsTrueOfSeveralProcessesIsSaidOnceLargestShareFirst) {
  std::vector<RuleInput> subjects;
  std::vector<StepThread> three(3);
  std::vector<ProcessReport> of(3);
  for (std::size_t k = 0; k < 3; ++k) {
    step_thread = StepThread();
    steps(4);
    for (std::size_t i = 0; i < 4; ++i) {
      op("aten::item", at(i, 0), 1000 + 100 * k, line(12)).wait_ops = 1;
      op("aten::item", at(i, 5000), 10, line(13)).wait_ops = 1;
      op("aten::add", at(i, 5010), 4990, line(14));
    }
    three[k] = step_thread;
    of[k].meta.pid = 100 + static_cast<std::uint32_t>(k);
  }
  for (std::size_t k = 0; k < 3; ++k) subjects.push_back({of[k], three[k]});
  std::vector<Advice> syncs = run_rules(subjects);
  std::erase_if(syncs, [](const Advice& advice) { return advice.rule != kSyncInLoop; });
  ASSERT_THAT(syncs,
              ElementsAre(AllOf(Names(kSyncInLoop, 12), Share(0.12)), Names(kSyncInLoop, 13)));
  EXPECT_EQ(syncs[0].processes, 3u);
  EXPECT_EQ(syncs[0].pid, 102u);
}

TEST_F(SessionRules, WithoutStepsItSpeaksOfTheRecording) {
  steps(1);
  step_thread.is_synthetic = true;
  for (std::uint64_t i = 0; i < 5; ++i)
    op("aten::add", at(0, 1000 + 100 * i), 100, line(12)).inputs = 4;
  const RuleInput subject{analysis, step_thread};
  const auto found = run_rules(std::span(&subject, 1));
  ASSERT_THAT(found, ElementsAre(Names(kRepeatedWork, 12)));
  EXPECT_EQ(found[0].share_base, "recording");
  EXPECT_THAT(found[0].finding, HasSubstr("500 us in total"));
}

TEST(AdviceText, SaysSoWhereThereIsNone) {
  EXPECT_THAT(advice_text({}, 80), HasSubstr("No advice"));
}

TEST(AdviceText, TellsRuleShareTimePlaceAndChange) {
  Advice advice;
  advice.rule = kSyncInLoop;
  advice.finding = "It waits.";
  advice.suggestion = "Wait less.";
  advice.where = {"/job/train.py", "train", 12, 12};
  advice.share = 0.098;
  advice.ns_per_step = 1.06e6;
  EXPECT_EQ(advice_text(std::span(&advice, 1), 80),
            "Advice, by share of a step\n"
            " 1. sync-in-loop  9.8 % of a step (1.06 ms)\n"
            "    /job/train.py:12  train\n"
            "    It waits.\n"
            "    Try: Wait less.\n");
}

TEST(AdviceText, OfARecordingWithoutStepsSaysSo) {
  Advice advice;
  advice.rule = kSyncInLoop;
  advice.share = 0.098;
  advice.share_base = "recording";
  EXPECT_THAT(advice_text(std::span(&advice, 1), 80),
              testing::StartsWith("Advice, by share of the recording\n"));
}

TEST(AdviceText, JsonHoldsTheFigures) {
  Advice advice;
  advice.rule = kSyncInLoop;
  advice.where = {"/job/train.py", "train", 12, 12};
  advice.share = 0.098;
  advice.figures = {{"waits_per_step", 3}};
  support::JsonWriter json;
  write_advice(std::span(&advice, 1), json);
  auto read = support::parse_json(json.text());
  ASSERT_TRUE(read.ok());
  const auto& one = read.value().GetArray()[0];
  EXPECT_STREQ(one["rule"].GetString(), "sync-in-loop");
  EXPECT_STREQ(one["file"].GetString(), "/job/train.py");
  EXPECT_EQ(one["line"].GetInt(), 12);
  EXPECT_DOUBLE_EQ(one["share_percent"].GetDouble(), 9.8);
  EXPECT_DOUBLE_EQ(one["figures"]["waits_per_step"].GetDouble(), 3);
}

TEST(Rules, HaveIdsOfTheirOwn) {
  for (const Rule& rule : rules()) {
    EXPECT_EQ(find_rule(rule.id), &rule);
    EXPECT_NE(rule.check_process == nullptr, rule.check_session == nullptr) << rule.id;
  }
  EXPECT_EQ(find_rule("no-such-rule"), nullptr);
}

}  // namespace
}  // namespace gpuprof::report::advice
