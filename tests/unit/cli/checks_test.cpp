// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/options/command_table.hpp"
#include "support/text/json.hpp"
#include "tests/unit/support/temp_folder.hpp"

namespace gpuprof::cli {
namespace {

TEST(TimerRate, IsCappedByTheTick) {
  EXPECT_DOUBLE_EQ(effective_timer_rate_hz(1000, 250), 250);
  EXPECT_DOUBLE_EQ(effective_timer_rate_hz(250, 250), 250);
  EXPECT_NEAR(effective_timer_rate_hz(100, 250), 83.33, 0.01);
  EXPECT_DOUBLE_EQ(effective_timer_rate_hz(100, 1000), 100);
}

TEST(Python, VersionsWithATableAreRead) {
  EXPECT_TRUE(is_python_supported("3.8.18"));
  EXPECT_TRUE(is_python_supported("3.13.0"));
  EXPECT_FALSE(is_python_supported("3.7.16"));
  EXPECT_FALSE(is_python_supported("2.7.18"));
  EXPECT_FALSE(is_python_supported("3.15.0"));
  EXPECT_FALSE(is_python_supported("text"));
}

TEST(CheckResults, BlockingOnesDecideInTextAndJson) {
  const CheckResults good = {{CheckStatus::kLimited, "driver", "none"}};
  const CheckResults bad = {{CheckStatus::kBlocking, "files", "none"}};
  EXPECT_THAT(check_results_text(good), testing::HasSubstr("gpuprof can record on this machine"));
  EXPECT_THAT(check_results_text(bad), testing::HasSubstr("gpuprof cannot record on this machine"));
  EXPECT_TRUE(support::parse_json(check_results_json(good)).value()["can_record"].GetBool());
  EXPECT_FALSE(support::parse_json(check_results_json(bad)).value()["can_record"].GetBool());
}

TEST(LookAtProcess, TellsMissingFromQuiet) {
  CheckResults findings;
  check_process(static_cast<std::uint32_t>(getpid()), findings);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].message, testing::HasSubstr("slot is free"));
  check_process(4'194'300, findings);
  EXPECT_THAT(findings[1].message, testing::HasSubstr("no such process"));
}

TEST(CheckResults, LongTopicsStandApartFromTheirSentence) {
  EXPECT_THAT(check_results_text({{CheckStatus::kGood, "process 1234567", "quiet"}}),
              testing::HasSubstr("process 1234567 quiet"));
}

TEST(Doctor, ProcessThatIsNotThereIsAnError) {
  Options options;
  options.pid = 4'194'300;
  const auto status = doctor_command(options);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().exit_status, 125);
  EXPECT_THAT(status.error().message, testing::HasSubstr("no such process"));
}

TEST(LookAtSampling, FindsARateForThisMachine) {
  CheckResults findings;
  check_sampling(findings);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(findings[1].message, testing::HasSubstr("samples per second"));
}

TEST(LookAtSecondThread, TellsOfSelinuxWhereItIsEnforced) {
  test::TempFolder folder;
  CheckResults findings;
  check_second_thread(findings, folder.path());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].health, CheckStatus::kGood);
  EXPECT_THAT(findings[0].message, testing::HasSubstr("setns"));
  EXPECT_THAT(findings[0].message, testing::Not(testing::HasSubstr("SELinux")));
  folder.write("enforce", "1");
  check_second_thread(findings, folder.path());
  EXPECT_EQ(findings[1].health, CheckStatus::kLimited);
  EXPECT_THAT(findings[1].message, testing::HasSubstr("SELinux"));
}

}  // namespace
}  // namespace gpuprof::cli
