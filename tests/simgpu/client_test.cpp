// SPDX-License-Identifier: Apache-2.0
//
// Several clients of the simulated CUPTI in one process, and what each of them is given.
//
// Context:  tests
// Owns:     nothing
// Promises: the truth log is the witness; the clients are shared objects of their own
// Not here: one client (delivery_test.cpp), awkward behaviours (scenario_test.cpp)
#include <gtest/gtest.h>

#include <set>

#include "run_support.hpp"

using simtest::OutputRow;
using simtest::RunResult;
using simtest::simulate;

namespace {

constexpr std::uint64_t kThisCenturyNs = 1500000000000000000u;

std::set<std::string> correlations(const std::vector<OutputRow>& rows) {
  std::set<std::string> ids;
  for (const OutputRow& r : rows) ids.insert(r.text("corr"));
  return ids;
}

TEST(PerClient, BothRecordEverythingAtOnce) {
  const RunResult run = simulate("--quiet --cupti per-client", "sim_client second");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run.count("kernel"), 200u);
  EXPECT_EQ(run.count("second_kernel"), 200u);
  EXPECT_EQ(correlations(run.of("kernel")), correlations(run.operations("kernel")));
  EXPECT_EQ(correlations(run.of("second_kernel")), correlations(run.operations("kernel")));
}

TEST(PerClient, EachHasItsOwnKinds) {
  const RunResult run = simulate("--quiet --cupti per-client", "sim_client second");
  EXPECT_GT(run.count("api"), 200u);
  EXPECT_EQ(run.count("second_api"), 0u);
  EXPECT_EQ(run.count("second_memcpy"), 0u);
}

TEST(PerClient, EachHasItsOwnFilters) {
  const RunResult run =
      simulate("--quiet --cupti per-client", "sim_client second second-external launches-only");
  EXPECT_EQ(run.count("api"), 200u);
  EXPECT_GT(run.count("second_api"), 200u);
}

TEST(PerClient, EachHasItsOwnExternalIds) {
  const RunResult run = simulate("--quiet --cupti per-client", "sim_client second second-external");
  EXPECT_EQ(run.count("external"), 100u);
  for (const OutputRow& e : run.of("external")) EXPECT_EQ(e.text("id"), "4711");
  EXPECT_EQ(run.count("second_external"), run.count("second_api"));
  for (const OutputRow& e : run.of("second_external")) EXPECT_EQ(e.text("id"), "815");
}

TEST(PerClient, EachHasItsOwnClock) {
  const RunResult run = simulate("--quiet --cupti per-client", "sim_client second second-tsc");
  ASSERT_EQ(run.count("second_kernel"), 200u);
  for (const OutputRow& k : run.of("kernel")) EXPECT_GT(k.number("start"), kThisCenturyNs);
  for (const OutputRow& k : run.of("second_kernel")) EXPECT_LT(k.number("start"), kThisCenturyNs);
}

TEST(PerClient, EachHasItsOwnSlotAndCallbackData) {
  const RunResult run = simulate("--quiet --cupti per-client", "sim_client second");
  EXPECT_EQ(run.first("subscribe_v2").text("value"), "0");
  EXPECT_EQ(run.first("second_subscribe").text("value"), "0");
  EXPECT_EQ(run.first("launch_callbacks").text("value"), "200");
  EXPECT_EQ(run.first("second_callbacks").text("value"), "200");
  EXPECT_EQ(run.count("bad_correlation_data"), 0u);
}

TEST(PerClient, EachHasItsOwnDisabling) {
  const RunResult run =
      simulate("--quiet --cupti per-client --kernel-time 2ms", "sim_client second pending");
  EXPECT_EQ(run.count("kernel"), 200u);
  EXPECT_EQ(run.count("second_kernel"), 200u);
}

TEST(OneState, TheLastToRegisterTakesEveryRecord) {
  const RunResult run = simulate("--quiet", "sim_client second-after");
  EXPECT_EQ(run.count("kernel"), 0u);
  EXPECT_EQ(run.count("second_kernel"), 200u);
  EXPECT_EQ(run.first("launch_callbacks").text("value"), "200")
      << "callbacks stay with their owner";
}

TEST(OneState, TheSecondSubscriberHears39) {
  const RunResult run = simulate("--quiet", "sim_client second");
  EXPECT_EQ(run.first("subscribe_v2").text("value"), "0");
  EXPECT_EQ(run.first("second_subscribe").text("value"), "39");
}

TEST(OneState, TheClockOfOneIsTheClockOfAll) {
  const RunResult run = simulate("--quiet", "sim_client second second-tsc");
  ASSERT_EQ(run.count("kernel"), 200u);
  for (const OutputRow& k : run.of("kernel")) EXPECT_LT(k.number("start"), kThisCenturyNs);
}

TEST(Finalize, EverythingIsForgottenAndCanBeSetUpAgain) {
  const RunResult run = simulate("--quiet", "sim_client finalize");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run.first("finalize").text("value"), "0");
  const std::vector<OutputRow> subscribed = run.of("subscribe_v2");
  ASSERT_EQ(subscribed.size(), 2u);
  EXPECT_EQ(subscribed[1].text("value"), "0");
  EXPECT_EQ(run.operations("kernel").size(), 220u);
  EXPECT_EQ(run.count("kernel"), 210u) << "the 10 launched in between are nobody's";
}

}  // namespace
