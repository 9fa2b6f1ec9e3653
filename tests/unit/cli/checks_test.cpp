// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/command_table.hpp"
#include "support/text/json.hpp"
#include "tests/unit/support/temp_folder.hpp"

namespace gpuprof::cli {
namespace {

TEST(TimerRate, IsCappedByTheTick) {
  EXPECT_DOUBLE_EQ(timer_rate_hz(1000, 250), 250);
  EXPECT_DOUBLE_EQ(timer_rate_hz(250, 250), 250);
  EXPECT_NEAR(timer_rate_hz(100, 250), 83.33, 0.01);
  EXPECT_DOUBLE_EQ(timer_rate_hz(100, 1000), 100);
}

TEST(Python, VersionsWithATableAreRead) {
  EXPECT_TRUE(python_is_read("3.8.18"));
  EXPECT_TRUE(python_is_read("3.13.0"));
  EXPECT_FALSE(python_is_read("3.7.16"));
  EXPECT_FALSE(python_is_read("2.7.18"));
  EXPECT_FALSE(python_is_read("3.15.0"));
  EXPECT_FALSE(python_is_read("text"));
}

TEST(Findings, BlockingOnesDecideInTextAndJson) {
  const Findings good = {{Health::kLimited, "driver", "none"}};
  const Findings bad = {{Health::kBlocking, "files", "none"}};
  EXPECT_THAT(findings_text(good), testing::HasSubstr("Runs can be recorded"));
  EXPECT_THAT(findings_text(bad), testing::HasSubstr("cannot be recorded"));
  EXPECT_TRUE(support::parse_json(findings_json(good)).value()["can_record"].GetBool());
  EXPECT_FALSE(support::parse_json(findings_json(bad)).value()["can_record"].GetBool());
}

TEST(LookAtProcess, TellsMissingFromQuiet) {
  Findings findings;
  look_at_process(static_cast<std::uint32_t>(getpid()), findings);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].sentence, testing::HasSubstr("slot is free"));
  look_at_process(4'194'300, findings);
  EXPECT_THAT(findings[1].sentence, testing::HasSubstr("no such process"));
}

TEST(Findings, LongTopicsStandApartFromTheirSentence) {
  EXPECT_THAT(findings_text({{Health::kGood, "process 1234567", "quiet"}}),
              testing::HasSubstr("process 1234567 quiet"));
}

TEST(Doctor, ProcessThatIsNotThereIsAnError) {
  Options options;
  options.pid = 4'194'300;
  const auto status = doctor_command(options);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().exit_status, 125);
  EXPECT_THAT(status.error().sentence, testing::HasSubstr("there is no such process"));
}

TEST(LookAtSampling, FindsARateForThisMachine) {
  Findings findings;
  look_at_sampling(findings);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(findings[1].sentence, testing::HasSubstr("samples a second"));
}

TEST(LookAtSecondThread, TellsOfSelinuxWhereItIsEnforced) {
  test::TempFolder folder;
  Findings findings;
  look_at_second_thread(findings, folder.path());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].health, Health::kGood);
  EXPECT_THAT(findings[0].sentence, testing::HasSubstr("setns"));
  EXPECT_THAT(findings[0].sentence, testing::Not(testing::HasSubstr("SELinux")));
  folder.write("enforce", "1");
  look_at_second_thread(findings, folder.path());
  EXPECT_EQ(findings[1].health, Health::kLimited);
  EXPECT_THAT(findings[1].sentence, testing::HasSubstr("SELinux"));
}

}  // namespace
}  // namespace gpuprof::cli
