// SPDX-License-Identifier: Apache-2.0
#include "cli/output/output_location.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "analysis/commands/formats.hpp"
#include "tests/unit/support/temp_folder.hpp"

namespace gpuprof::cli {
namespace {

using testing::HasSubstr;

RunContext around(std::vector<std::string> environment = {}) {
  RunContext s;
  s.environment = std::move(environment);
  s.working_folder = "/work-folder";
  s.host = "node7";
  s.now_real_ns = 1'700'000'000ULL * 1'000'000'000;
  s.parent_pid = 4242;
  return s;
}

TEST(IsPattern, FollowsTheEndingAndTheLetters) {
  EXPECT_TRUE(is_pattern("x.pt.trace.json"));
  EXPECT_TRUE(is_pattern("x.pt.trace.json.gz"));
  for (const std::string& suffix : commands::format_suffixes())
    EXPECT_TRUE(is_pattern("x" + suffix));
  EXPECT_TRUE(is_pattern("t%p"));
  EXPECT_TRUE(is_pattern("t-%n"));
  EXPECT_FALSE(is_pattern("out"));
  EXPECT_FALSE(is_pattern("out/%h"));
  EXPECT_FALSE(is_pattern("100%%p"));
  EXPECT_FALSE(is_pattern("x.json"));
}

TEST(NamesFileInVain, IsAFolderThatLooksLikeAFile) {
  EXPECT_TRUE(looks_like_file_name("x.json"));
  EXPECT_TRUE(looks_like_file_name("x.json.gz"));
  EXPECT_FALSE(looks_like_file_name("x.pt.trace.json"));
  EXPECT_FALSE(looks_like_file_name("%p.json"));
  EXPECT_FALSE(looks_like_file_name("out"));
}

TEST(ChooseOutput, DefaultNamesHostAndTime) {
  const auto place = resolve_output("", around());
  ASSERT_TRUE(place);
  EXPECT_THAT(place.value().output,
              testing::MatchesRegex("/work-folder/gpuprof/node7-[0-9]{8}-[0-9]{6}"));
  EXPECT_FALSE(place.value().is_pattern);
}

TEST(ChooseOutput, SecondRunInASecondGetsAFolderOfItsOwn) {
  test::TempFolder folder;
  RunContext here = around();
  here.working_folder = folder.path();
  const std::string first = resolve_output("", here).value().output;
  std::filesystem::create_directories(first);
  EXPECT_EQ(resolve_output("", here).value().output, first + "-2");
}

TEST(ChooseOutput, RanksOfOneJobShareAFolder) {
  const auto name = [](std::vector<std::string> env) { return default_folder_name(around(env)); };
  EXPECT_EQ(name({"SLURM_JOB_ID=12", "SLURM_STEP_ID=0", "SLURM_PROCID=3"}), "slurm-12.0");
  EXPECT_EQ(name({"TORCHELASTIC_RUN_ID=abc"}), "torchrun-abc");
  EXPECT_EQ(name({"TORCHELASTIC_RUN_ID=none"}), "torchrun-node7-4242");
  EXPECT_EQ(name({"PMIX_NAMESPACE=prterun@1"}), "mpi-prterun_1");
}

TEST(ChooseOutput, BatchScriptIsNoRank) {
  EXPECT_THAT(default_folder_name(around({"SLURM_JOB_ID=12", "SLURM_PROCID=0"})),
              HasSubstr("node7-"));
}

TEST(ChooseOutput, FolderIsRelativeToTheWorkingFolderAndExpanded) {
  EXPECT_EQ(resolve_output("a/%h-%q{JOB}-%%", around({"JOB=x/y"})).value().output,
            "/work-folder/a/node7-x_y-%");
  EXPECT_EQ(resolve_output("r%r", around({"RANK=3"})).value().output, "/work-folder/r3");
  EXPECT_EQ(resolve_output("r%r", around({"RANK=../3"})).value().output, "/work-folder/r.._3");
}

TEST(ChooseOutput, PatternKeepsItsLettersForTheFiles) {
  const auto place = resolve_output("out/t-%p-%n.pt.trace.json", around());
  ASSERT_TRUE(place);
  EXPECT_TRUE(place.value().is_pattern);
  EXPECT_EQ(place.value().output, "/work-folder/out/t-%p-%n.pt.trace.json");
  EXPECT_EQ(place.value().folder, "/work-folder/out");
}

TEST(ChooseOutput, VariablesOfAPatternAreFixedNow) {
  // The daemon, which expands the rest, may have another environment.
  const auto place = resolve_output("%q{JOB}/t-%q{JOB}-%p", around({"JOB=50%/y"}));
  ASSERT_TRUE(place);
  EXPECT_EQ(place.value().output, "/work-folder/50__y/t-50%%_y-%p");
}

TEST(ChooseOutput, EmptyVariableIsRefusedAsUnset) {
  const auto place = resolve_output("t-%q{JOB}-%p", around({"JOB="}));
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().message, HasSubstr("JOB is empty"));
}

TEST(ChooseOutput, FolderOfAPatternIsExpandedNow) {
  const auto place = resolve_output("%h/t-%p", around());
  ASSERT_TRUE(place);
  EXPECT_EQ(place.value().folder, "/work-folder/node7");
  EXPECT_EQ(place.value().output, "/work-folder/node7/t-%p");
}

struct Bad {
  const char* output;
  const char* part;
};
class BadOutput : public testing::TestWithParam<Bad> {};
TEST_P(BadOutput, IsRefusedInOneSentence) {
  const auto place = resolve_output(GetParam().output, around());
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().message, HasSubstr(GetParam().part));
  EXPECT_EQ(place.error().exit_status, 125);
}
INSTANTIATE_TEST_SUITE_P(
    All, BadOutput,
    testing::Values(Bad{"a%x", "unknown placeholder %x"}, Bad{"a%", "lone percent sign"},
                    Bad{"p/%", "lone percent sign"}, Bad{"a%q{NONE}", "NONE is not set"},
                    Bad{"%q{NONE}-%p", "NONE is not set"}, Bad{"%q", "braces"},
                    Bad{"%q{", "braces"}, Bad{"%q{}", "braces"},
                    Bad{"t%p-%y", "unknown placeholder %y"}, Bad{"out-%r", "RANK is not set"},
                    Bad{"%p/x", "not for its folder"}, Bad{"t%n/", "ends in /"}));

TEST(PrepareOutput, FindsAFileInTheWayUnlessForced) {
  test::TempFolder folder;
  RunContext here = around();
  here.working_folder = folder.path();
  folder.write("x.pt.trace.json", "old");
  OutputLocation place = resolve_output("x.pt.trace.json", here).value();
  const auto refused = create_output(&place, false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("already exists"));
  EXPECT_TRUE(create_output(&place, true));
}

TEST(PrepareOutput, ExistingFolderIsFine) {
  test::TempFolder folder;
  OutputLocation place = resolve_output(folder.path(), around()).value();
  EXPECT_TRUE(create_output(&place, false));
  EXPECT_TRUE(place.created_folders.empty());
}

TEST(PrepareOutput, UnwritablePlaceIsFoundAndNothingIsLeft) {
  test::TempFolder folder;
  folder.write("file", "x");
  OutputLocation place = resolve_output(folder / "file/out", around()).value();
  EXPECT_FALSE(create_output(&place, false));
  OutputLocation proc = resolve_output("/proc/gpuprof", around()).value();
  EXPECT_FALSE(create_output(&proc, false));
}

TEST(ChooseOutput, SaysThatTheCurrentFolderIsGone) {
  RunContext around;
  around.host = "host";
  const auto refused = resolve_output("", around);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("no longer exists"), std::string::npos);
  EXPECT_EQ(refused.error().exit_status, 125);
  EXPECT_FALSE(resolve_output("relative", around));
}

}  // namespace
}  // namespace gpuprof::cli
