// SPDX-License-Identifier: Apache-2.0
//
// The data of a comparison's page: the figures of the Diff, bounded, and nothing left out unsaid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <filesystem>

#include "analysis/report/diff_page/diff_page.hpp"

namespace gpuprof::report::diff {
namespace {

using testing::HasSubstr;

rapidjson::Document parsed(const Diff& diff, const DiffPageRequest& request = {}) {
  rapidjson::Document document;
  const std::string text = diff_page_data(diff, request);
  document.Parse<rapidjson::kParseValidateEncodingFlag>(text.c_str());
  EXPECT_FALSE(document.HasParseError()) << text.substr(document.GetErrorOffset(), 200);
  EXPECT_EQ(document["schema"].GetInt(), 1);
  return document;
}

/// The value of a column in a row.
const rapidjson::Value& cell(const rapidjson::Value& table, unsigned row, const std::string& key) {
  for (unsigned i = 0; i < table["columns"].Size(); ++i)
    if (table["columns"][i]["key"].GetString() == key) return table["rows"][row][i];
  ADD_FAILURE() << "no column " << key;
  return table;
}

std::string messages(const rapidjson::Value& groups) {
  std::string all;
  for (const auto& group : groups.GetArray())
    for (const auto& message : group["sentences"].GetArray())
      all += std::string(message.GetString()) + "\n";
  return all;
}

Change change(double before, double after, bool significant) {
  Change one;
  one.measured = true;
  one.before = before;
  one.after = after;
  one.before_spread = 0.02;
  one.after_spread = 0.03;
  one.share_before = 0.25;
  one.share_after = 0.3;
  one.relative = before > 0 ? after / before - 1 : 0;
  one.threshold = 0.06;
  one.significant = significant;
  return one;
}

NameDiff op(std::string name, double before, double after, bool significant) {
  NameDiff row;
  row.name = std::move(name);
  row.significant = significant;
  row.calls_before = row.calls_after = 3;
  row.self = row.total = change(before, after, significant);
  if (before == 0) row.presence = Presence::kNew;
  if (after == 0) row.presence = Presence::kGone;
  return row;
}

Diff diff_of(ProcessDiff process) {
  Diff diff;
  diff.before = "runs/a";
  diff.after = "runs/b";
  diff.processes.push_back(std::move(process));
  return diff;
}

TEST(DiffPageData, OfNothingIsWholeAndClaimsNothing) {
  const auto document = parsed(diff_of({}));
  const auto& process = document["processes"][0];
  EXPECT_STREQ(process["verdict"].GetString(), "No significant change");
  EXPECT_EQ(process["claims"].Size(), 0u);
  EXPECT_EQ(process["metrics"]["rows"].Size(), 0u);
  EXPECT_EQ(process["curves"].Size(), 2u);
}

TEST(DiffPageData, HasEachFigureOfANameAndWhatIsClaimed) {
  ProcessDiff process;
  process.names = {op("mm", 2'000'000, 2'500'000, true), op("fresh", 0, 1'000'000, true),
                   op("old", 1'000'000, 0, false)};
  const auto document = parsed(diff_of(std::move(process)));
  const auto& table = document["processes"][0]["operators"][0];
  EXPECT_STREQ(cell(table, 0, "name").GetString(), "mm");
  EXPECT_DOUBLE_EQ(cell(table, 0, "before").GetDouble(), 2000);
  EXPECT_DOUBLE_EQ(cell(table, 0, "after").GetDouble(), 2500);
  EXPECT_DOUBLE_EQ(cell(table, 0, "change").GetDouble(), 0.25);
  EXPECT_DOUBLE_EQ(cell(table, 0, "limit").GetDouble(), 0.06);
  EXPECT_DOUBLE_EQ(cell(table, 0, "spread_before").GetDouble(), 0.02);
  EXPECT_EQ(cell(table, 0, "significant").GetInt(), 1);
  EXPECT_STREQ(cell(table, 1, "change").GetString(), "new");
  EXPECT_TRUE(cell(table, 1, "limit").IsNull()) << "nothing to compare, so nothing to bound";
  EXPECT_STREQ(cell(table, 2, "change").GetString(), "gone");
  EXPECT_EQ(cell(table, 2, "significant").GetInt(), 0);
  const auto& findings = document["processes"][0]["claims"];
  ASSERT_EQ(findings.Size(), 2u);
  EXPECT_THAT(findings[0]["sentence"].GetString(),
              HasSubstr("2.000 ms → 2.500 ms per step, +25.0 %"));
  EXPECT_STREQ(document["processes"][0]["verdict"].GetString(), "2 significant changes");
  const std::string limits = messages(document["processes"][0]["limits"]);
  EXPECT_THAT(limits, HasSubstr("1 name occurs only before"));
  EXPECT_THAT(limits, HasSubstr("1 name occurs only after"));
}

TEST(DiffPageData, KeepsWhatIsSeenOnceApartFromWhatIsClaimed) {
  ProcessDiff process;
  process.names = {op("mm", 2'000'000, 2'500'000, false)};
  process.names[0].is_unconfirmed = process.names[0].self.is_unconfirmed = true;
  const auto document = parsed(diff_of(std::move(process)));
  const auto& part = document["processes"][0];
  EXPECT_STREQ(part["verdict"].GetString(), "No significant change");
  EXPECT_EQ(part["claims"].Size(), 0u);
  EXPECT_EQ(part["pairs"].Size(), 0u);
  EXPECT_STREQ(part["seen_once"]["title"].GetString(),
               "Unconfirmed changes, seen in one pair of recordings");
  EXPECT_THAT(part["seen_once"]["sentence"].GetString(), HasSubstr("gpuprof diff BEFORE AFTER"));
  ASSERT_EQ(part["seen_once"]["claims"].Size(), 1u);
  EXPECT_STREQ(part["seen_once"]["claims"][0]["name"].GetString(), "mm");
  EXPECT_EQ(cell(part["operators"][0], 0, "significant").GetInt(), 0);
  EXPECT_EQ(cell(part["operators"][0], 0, "seen_once").GetInt(), 1);
}

TEST(DiffPageData, SaysHowManyPairsThereAre) {
  ProcessDiff process;
  process.names = {op("mm", 2'000'000, 2'500'000, true)};
  process.names[0].confirming_pairs = 3;
  Diff diff = diff_of(std::move(process));
  diff.other_pairs.resize(2);
  diff.other_pairs[1].before = "runs/c";
  const auto document = parsed(diff);
  const auto& part = document["processes"][0];
  ASSERT_EQ(part["pairs"].Size(), 3u);
  EXPECT_THAT(part["pairs"][0].GetString(), HasSubstr("3 pairs of recordings"));
  EXPECT_THAT(part["pairs"][2].GetString(), HasSubstr("pair 3: before runs/c"));
  EXPECT_THAT(part["claims"][0]["sentence"].GetString(), HasSubstr("shown by 3 of 3 pairs"));
}

TEST(DiffPageData, SaysHowManyRowsItLeavesOut) {
  ProcessDiff process;
  for (int i = 0; i < 500; ++i) process.names.push_back(op("op" + std::to_string(i), 5, 5, false));
  DiffPageRequest request;
  request.rows = 120;
  const auto document = parsed(diff_of(std::move(process)), request);
  const auto& part = document["processes"][0];
  EXPECT_EQ(part["operators"][0]["rows"].Size(), 120u);
  EXPECT_EQ(part["operators"][0]["left_out"].GetInt(), 380);
  EXPECT_THAT(messages(part["limits"]), HasSubstr("380 of the operators"));
}

TEST(DiffPageData, HasNoMoreClaimsThanRowsAndSaysSo) {
  ProcessDiff process;
  for (int i = 0; i < 300; ++i) process.names.push_back(op("op" + std::to_string(i), 5, 9, true));
  DiffPageRequest request;
  request.rows = 120;
  const auto document = parsed(diff_of(std::move(process)), request);
  const auto& part = document["processes"][0];
  EXPECT_STREQ(part["verdict"].GetString(), "300 significant changes");
  EXPECT_EQ(part["claims"].Size(), 120u);
  EXPECT_THAT(messages(part["limits"]), HasSubstr("180 of the significant changes"));
}

TEST(DiffPageData, KeepsNamesAsTheyAreAndCutsLongOnes) {
  const std::string markup = "</script><img src=x onerror=\"alert('1')\">";
  ProcessDiff process;
  process.names = {op(markup, 5, 6, false), op(std::string(65536, 'k'), 5, 6, false),
                   op("broken \xff", 5, 6, false)};
  const auto document = parsed(diff_of(std::move(process)));
  const auto& table = document["processes"][0]["operators"][0];
  EXPECT_EQ(cell(table, 0, "name").GetString(), markup);
  EXPECT_THAT(cell(table, 1, "name").GetString(), HasSubstr("65536 bytes"));
  EXPECT_THAT(cell(table, 2, "name").GetString(), HasSubstr("broken \xef\xbf\xbd"));
}

TEST(DiffPageData, HasTheCurvesOfBothSidesAndTheirWarmUp) {
  ProcessDiff process;
  process.before.has_steps = process.after.has_steps = true;
  process.before.steps = 3;
  process.before.warm_up = 1;
  process.before.by_cell[0] = {3'000'000, 1'000'000, 1'100'000};
  process.after.steps = 4;
  process.after.steps_per_cell = 2;
  process.after.by_cell[0] = {900'000, 800'000};
  const auto document = parsed(diff_of(std::move(process)));
  const auto& curves = document["processes"][0]["curves"];
  EXPECT_EQ(curves[0]["us"].Size(), 3u);
  EXPECT_DOUBLE_EQ(curves[0]["us"][0].GetDouble(), 3000);
  EXPECT_EQ(curves[0]["warm_up"].GetInt(), 1);
  EXPECT_EQ(curves[1]["of"].GetInt(), 2);
  EXPECT_DOUBLE_EQ(curves[1]["us"][1].GetDouble(), 800);
}

TEST(DiffPageData, SaysWhatDiffersAndWhatCannotBeCompared) {
  ProcessDiff process;
  process.caveats = {"only 4 steps: to be significant, a change must be twice as large"};
  process.notes = {"PyTorch: 2.1 before, 2.2 after"};
  process.before.facts["torch.version"] = "2.1";
  process.after.facts["torch.version"] = "2.2";
  process.after.missing = {"no stacks: not allowed"};
  process.names = {op("mm", 5, 6, false)};
  Diff diff = diff_of(std::move(process));
  diff.notes = {"only before, not compared: rank 3"};
  const auto document = parsed(diff);
  const auto& part = document["processes"][0];
  EXPECT_EQ(part["notes"].Size(), 2u);
  const std::string limits = messages(part["limits"]);
  for (const char* words : {"rank 3", "only 4 steps", "no stacks: not allowed",
                            "Too few operators are large enough to show the effect of the machine"})
    EXPECT_THAT(limits, HasSubstr(words));
  const auto& environment = part["environment"];
  bool found = false;
  for (unsigned i = 0; i < environment["rows"].Size(); ++i) {
    if (std::string(cell(environment, i, "what").GetString()) != "torch.version") continue;
    found = true;
    EXPECT_STREQ(cell(environment, i, "before").GetString(), "2.1");
    EXPECT_EQ(cell(environment, i, "differs").GetInt(), 1);
  }
  EXPECT_TRUE(found);
}

TEST(DiffPage, IsWrittenWholeOrRefused) {
  char name[] = "/tmp/gpuprof-diff-page-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  DiffPageRequest request;
  request.path = std::string(name) + "/diff.html";
  const auto written = write_diff_page(diff_of({}), request);
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(written.value(), std::filesystem::file_size(request.path));
  const auto refused = write_diff_page(diff_of({}), request);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("--force"));
  request.force = true;
  EXPECT_TRUE(write_diff_page(diff_of({}), request).ok());
  std::filesystem::remove_all(name);
}

}  // namespace
}  // namespace gpuprof::report::diff
