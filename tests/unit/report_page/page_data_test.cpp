// SPDX-License-Identifier: Apache-2.0
//
// The data of the page: names are kept as they are, sizes are bounded, nothing is lost unsaid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "analysis/report/page/page.hpp"

namespace gpuprof::report::page {
namespace {

using testing::HasSubstr;

rapidjson::Document parsed(const Report& report, const PageRequest& request = {},
                           const std::vector<PageAdvice>& advice = {}) {
  rapidjson::Document document;
  const std::string text = page_data(report, advice, {}, request);
  document.Parse<rapidjson::kParseValidateEncodingFlag>(text.c_str());
  EXPECT_FALSE(document.HasParseError()) << text.substr(document.GetErrorOffset(), 200);
  EXPECT_EQ(document["schema"].GetInt(), 1);
  return document;
}

Report report_of(ProcessReport analysis) {
  Report report;
  report.processes.push_back(std::move(analysis));
  return report;
}

OperatorRow op(std::string name, std::int64_t self_cpu_ns) {
  OperatorRow row;
  row.name = std::move(name);
  row.count = 2;
  row.self_cpu_ns = row.cpu_ns = self_cpu_ns;
  return row;
}

const rapidjson::Value& table(const rapidjson::Value& tables, const std::string& key) {
  for (const auto& one : tables.GetArray())
    if (one["key"].GetString() == key) return one;
  ADD_FAILURE() << "no table " << key;
  return tables[0];
}

TEST(PageData, OfNothingIsWhole) {
  const auto document = parsed(report_of({}));
  const auto& process = document["processes"][0];
  EXPECT_EQ(process["steps"]["count"].GetInt(), 0);
  EXPECT_EQ(process["flames"].Size(), 0u);
  EXPECT_EQ(process["timeline"]["slices"].Size(), 0u);
  EXPECT_EQ(process["memory"].Size(), 0u);
}

TEST(PageData, KeepsNamesAsTheyAreAndMendsBrokenText) {
  const std::string markup = "</script><img src=x onerror=\"alert('1')\">";
  ProcessReport analysis;
  analysis.operators.rows = {op(markup, 3000), op("broken \xff\xfe", 2000),
                             op("\xe2\x80\xae rtl", 1000)};
  const auto document = parsed(report_of(std::move(analysis)));
  const auto& rows = table(document["processes"][0]["operators"], "operators")["rows"];
  EXPECT_EQ(rows[0][0].GetString(), markup);
  EXPECT_THAT(rows[1][0].GetString(), HasSubstr("broken \xef\xbf\xbd"));
  EXPECT_STREQ(rows[2][0].GetString(), "\xe2\x80\xae rtl");
}

TEST(PageData, CutsAVeryLongNameAndSaysItsLength) {
  ProcessReport analysis;
  analysis.operators.rows = {op(std::string(65536, 'k'), 1)};
  const auto document = parsed(report_of(std::move(analysis)));
  const std::string name =
      table(document["processes"][0]["operators"], "operators")["rows"][0][0].GetString();
  EXPECT_LT(name.size(), 1300u);
  EXPECT_THAT(name, HasSubstr("65536 bytes"));
}

TEST(PageData, SaysHowManyRowsItLeavesOut) {
  ProcessReport analysis;
  for (int i = 0; i < 500; ++i)
    analysis.operators.rows.push_back(op("op" + std::to_string(i), 500 - i));
  PageRequest request;
  request.limits.rows = 120;
  const auto document = parsed(report_of(std::move(analysis)), request);
  const auto& process = document["processes"][0];
  const auto& operators = table(process["operators"], "operators");
  EXPECT_EQ(operators["rows"].Size(), 120u);
  EXPECT_EQ(operators["left_out"].GetInt(), 380);
  EXPECT_STREQ(operators["rows"][0][0].GetString(), "op0") << "the largest are the ones that stay";
  EXPECT_THAT(process["left_out"][0].GetString(), HasSubstr("380 rows"));
}

TEST(PageData, AddsUpSmallFramesWithoutLosingTime) {
  ProcessReport analysis;
  FlameTree& tree = analysis.flames.samples;
  analysis.flames.samples_are_ns = true;
  std::uint64_t all = 0;
  for (std::uint64_t i = 1; i <= 3000; ++i) {
    const auto thread = tree.child(0, "thread", FlameKind::kThread);
    const auto outer = tree.child(thread, "f" + std::to_string(i % 50), FlameKind::kPython);
    tree.add(tree.child(outer, "g" + std::to_string(i), FlameKind::kNative), i * 1000, 0);
    all += i;
  }
  tree.finish();
  PageRequest request;
  request.limits.flame_nodes = 600;
  const auto document = parsed(report_of(std::move(analysis)), request);
  const auto& flame = document["processes"][0]["flames"][0];
  const auto& self = flame["self"];
  EXPECT_LT(self.Size(), 700u);
  double sum = 0;
  for (const auto& value : self.GetArray()) sum += value.GetDouble();
  EXPECT_DOUBLE_EQ(sum, static_cast<double>(all));
  for (rapidjson::SizeType i = 1; i < self.Size(); ++i)
    EXPECT_LT(flame["parent"][i].GetUint(), i) << "parents come before their children";
  EXPECT_THAT(document["processes"][0]["left_out"][0].GetString(), HasSubstr("small frames"));
}

TEST(PageData, DrawsAMillionStepsWithFewPoints) {
  ProcessReport analysis;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    StepRow step;
    step.label = i;
    step.start_ns = i * 1000;
    step.end_ns = step.start_ns + i % 1000;
    sum += i % 1000;
    analysis.steps.steps.push_back(step);
  }
  const auto document = parsed(report_of(std::move(analysis)));
  const auto& curve = document["processes"][0]["steps"]["curve"];
  ASSERT_LE(curve["us"].Size(), 2000u);
  EXPECT_EQ(curve["of"].GetInt(), 500);
  double mean = 0;
  for (const auto& value : curve["us"].GetArray()) mean += value.GetDouble();
  EXPECT_NEAR(mean / curve["us"].Size(), static_cast<double>(sum) / 1e9, 1e-6);
  EXPECT_DOUBLE_EQ(curve["max_us"][1].GetDouble(), 0.999);
}

TEST(PageData, HoldsAllOfTheRecordedTimeAndTheFirstStepByItself) {
  ProcessReport analysis;
  analysis.meta.recorded_ns = analysis.wall.recorded_ns = 4'000'000;
  analysis.wall.rows = {{WallPhase::kWarmUp, 3'000'000, 1, {}},
                        {WallPhase::kSteps, 1'000'000, 9, {}}};
  report::SlowSpot stall;
  stall.part = WallPhase::kSteps;
  stall.count = 2;
  stall.labels = {4, 7};
  stall.activity.kind = HostActivityKind::kWaiting;
  stall.activity.file = "train.py";
  stall.activity.line = stall.activity.last_line = 12;
  stall.activity.ns = 500'000;
  analysis.wall.slow_spots = {stall};
  StepRow first;
  first.label = 1;
  first.end_ns = 3'000'000;
  first.warm_up = true;
  first.is_counted = false;
  analysis.steps.steps = {first};
  const auto document = parsed(report_of(std::move(analysis)));
  const auto& process = document["processes"][0];
  EXPECT_DOUBLE_EQ(process["span_us"].GetDouble(), 4000);
  EXPECT_DOUBLE_EQ(process["wall"]["recorded_us"].GetDouble(), 4000);
  const auto& rows = process["wall"]["rows"];
  ASSERT_EQ(rows.Size(), 2u);
  EXPECT_DOUBLE_EQ(rows[0]["share"].GetDouble(), 0.75);
  EXPECT_STREQ(rows[1]["lines"][0]["text"].GetString(), "waiting at train.py:12");
  EXPECT_THAT(rows[1]["lines"][0]["note"].GetString(),
              HasSubstr("longer than usual in 2 steps (4, 7)"));
  EXPECT_EQ(process["steps"]["apart"].Size(), 1u);
  EXPECT_DOUBLE_EQ(process["steps"]["apart"][0]["us"].GetDouble(), 3000);
}

TEST(PageData, SharesItsLimitsAmongRanks) {
  Report report;
  for (int rank = 0; rank < 4; ++rank) {
    ProcessReport analysis;
    analysis.meta.rank = rank;
    analysis.meta.pid = 100 + static_cast<std::uint32_t>(rank);
    for (int i = 0; i < 1000; ++i)
      analysis.operators.rows.push_back(op("op" + std::to_string(i), i));
    report.processes.push_back(std::move(analysis));
  }
  PageRequest request;
  request.limits.rows = 800;
  const auto document = parsed(report, request);
  for (const auto& process : document["processes"].GetArray())
    EXPECT_EQ(table(process["operators"], "operators")["rows"].Size(), 200u);
  EXPECT_EQ(table(document["distributed"], "ranks")["rows"].Size(), 4u);
  EXPECT_LT(slice_limits(request.limits, 4).events, slice_limits(request.limits, 1).events);
}

TEST(PageData, HoldsAdviceWithItsPlaceAndEvidence) {
  PageAdvice advice;
  advice.rule = "sync-in-loop";
  advice.file = "train.py";
  advice.line = 41;
  advice.share = 0.125;
  advice.evidence = {"3 waits a step"};
  const auto document = parsed(report_of({}), {}, {advice});
  const auto& one = document["advice"][0];
  EXPECT_STREQ(one["file"].GetString(), "train.py");
  EXPECT_EQ(one["line"].GetInt(), 41);
  EXPECT_DOUBLE_EQ(one["share"].GetDouble(), 0.125);
  EXPECT_TRUE(one["process"].IsNull());
  EXPECT_STREQ(one["evidence"][0].GetString(), "3 waits a step");
}

}  // namespace
}  // namespace gpuprof::report::page
