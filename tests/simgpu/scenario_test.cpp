// SPDX-License-Identifier: Apache-2.0
//
// Each awkward behaviour does what its name says, and only that.
//
// Context:  tests
// Owns:     nothing
// Promises: a scenario that silently does nothing makes a test fail
// Not here: normal delivery (delivery_test.cpp)
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "run_support.hpp"

using simtest::OutputRow;
using simtest::RunResult;
using simtest::simulate;

namespace {

/// Position of the first row of a type.
std::size_t position(const RunResult& run, const std::string& type,
                     const std::string& correlation) {
  for (std::size_t i = 0; i < run.rows.size(); ++i)
    if (run.rows[i].type == type && run.rows[i].text("corr") == correlation) return i;
  return run.rows.size();
}

TEST(Scenario, ShuffledChangesOrderAndLosesNothing) {
  const RunResult run = simulate("--quiet --scenario shuffled", "sim_client");
  const std::vector<OutputRow> kernels = run.of("kernel");
  ASSERT_EQ(kernels.size(), 200u);
  std::vector<std::uint64_t> starts;
  for (const OutputRow& k : kernels) starts.push_back(k.number("start"));
  EXPECT_FALSE(std::is_sorted(starts.begin(), starts.end()));
}

TEST(Scenario, GpuBeforeApiTurnsTheOrderAround) {
  const RunResult run =
      simulate("--quiet --scenario gpu-before-api:200", "sim_client launches=50 sleep-ms=300");
  ASSERT_EQ(run.count("kernel"), 50u);
  ASSERT_GE(run.count("api"), 50u);
  const std::string corr = run.of("kernel")[10].text("corr");
  EXPECT_LT(position(run, "kernel", corr), position(run, "api", corr));
}

TEST(Scenario, ApiLateIsMissingFromAnUnforcedFlush) {
  const RunResult run = simulate("--quiet --scenario api-late:60000", "sim_client flush=0");
  EXPECT_EQ(run.count("api"), 0u);
  EXPECT_EQ(run.count("kernel"), 200u);
}

TEST(Scenario, OrphanApiLosesEveryTenthDeviceRecord) {
  const RunResult run = simulate("--quiet --scenario orphan-api:10", "sim_client");
  EXPECT_EQ(run.count("kernel"), 180u);
  EXPECT_EQ(run.first("dropped").text("value"), "0");
}

TEST(Scenario, OrphanGpuLosesApiRecordsOnly) {
  const RunResult whole = simulate("--quiet", "sim_client");
  const RunResult run = simulate("--quiet --scenario orphan-gpu:10", "sim_client");
  EXPECT_EQ(run.count("kernel"), 200u);
  EXPECT_EQ(run.count("api"), whole.count("api") - whole.count("api") / 10);
}

TEST(Scenario, DupCorrelationRepeatsIds) {
  const RunResult run = simulate("--quiet --scenario dup-correlation:10", "sim_client");
  std::set<std::string> ids;
  for (const OutputRow& k : run.of("kernel")) ids.insert(k.text("corr"));
  EXPECT_EQ(run.count("kernel"), 200u);
  EXPECT_EQ(ids.size(), 180u);
}

TEST(Scenario, ZeroTimesAreZero) {
  const RunResult run = simulate("--quiet --scenario zero-times:10", "sim_client");
  int zero = 0;
  for (const OutputRow& k : run.of("kernel"))
    zero += k.text("start") == "0" && k.text("end") == "0" ? 1 : 0;
  EXPECT_EQ(zero, 20);
}

TEST(Scenario, EndBeforeStart) {
  const RunResult run = simulate("--quiet --scenario end-before-start:10", "sim_client");
  int backwards = 0;
  for (const OutputRow& k : run.of("kernel"))
    backwards += k.number("end") < k.number("start") ? 1 : 0;
  EXPECT_EQ(backwards, 20);
}

TEST(Scenario, IncompleteOnForcedFlushHasNoEnd) {
  int open = 0;
  // On a busy machine the client may come to its flush when short kernels are over.
  for (const char* kernel_time : {"20ms", "200ms"}) {
    const RunResult run = simulate(std::string("--quiet --kernel-time ") + kernel_time +
                                       " --scenario incomplete-on-forced-flush",
                                   "sim_client pending launches=40");
    EXPECT_EQ(run.count("kernel"), 40u);
    for (const OutputRow& k : run.of("kernel"))
      open += k.text("end") == "0" && k.text("start") != "0" ? 1 : 0;
    if (open > 0) break;
  }
  EXPECT_GT(open, 0);
}

TEST(Scenario, EmptyBufferCompletesWithoutBytes) {
  const RunResult run = simulate("--quiet --scenario empty-buffer", "sim_client");
  bool empty = false;
  for (const OutputRow& c : run.of("complete")) empty = empty || c.text("valid") == "0";
  EXPECT_TRUE(empty);
  EXPECT_EQ(run.count("kernel"), 200u);
}

TEST(Scenario, CompleteOnNewThreadNeverUsesAThreadTwice) {
  const RunResult run =
      simulate("--quiet --scenario complete-on-new-thread", "sim_client buffer-bytes=8192");
  std::set<std::string> threads;
  for (const OutputRow& c : run.of("complete")) threads.insert(c.text("tid"));
  EXPECT_GT(threads.size(), 3u);
  EXPECT_EQ(threads.size(), run.count("complete"));
}

TEST(Scenario, CompleteOnAppThread) {
  const RunResult run =
      simulate("--quiet --scenario complete-on-app-thread", "sim_client buffer-bytes=8192");
  const std::string main_thread = run.of("request").front().text("tid");
  int on_main = 0;
  for (const OutputRow& c : run.of("complete")) on_main += c.text("tid") == main_thread ? 1 : 0;
  EXPECT_GT(on_main, 2);
  EXPECT_EQ(run.count("kernel"), 200u);
}

TEST(Scenario, CompleteTwoAtOnceLosesNothing) {
  const RunResult run = simulate("--quiet --scenario complete-two-at-once",
                                 "sim_client buffer-bytes=8192 launches=2000");
  EXPECT_EQ(run.count("kernel"), 2000u);
}

TEST(Scenario, CompleteAfterShutdownComesAfterUnsubscribe) {
  std::string after;
  // A busy machine may give the late thread its turn late.
  for (const char* linger_ms : {"400", "3000", "20000"}) {
    const RunResult run = simulate("--quiet --scenario complete-after-shutdown:100",
                                   std::string("sim_client linger-ms=") + linger_ms);
    ASSERT_EQ(run.exit_code, 0);
    const std::size_t unsubscribed = run.output.find("\nunsubscribe 0");
    ASSERT_NE(unsubscribed, std::string::npos);
    after = run.output.substr(unsubscribed);
    if (after.find("\ncomplete ") != std::string::npos) return;
  }
  ADD_FAILURE() << after;
}

TEST(Scenario, UnknownKindStopsTheIteratorWith21) {
  const RunResult run = simulate("--quiet --scenario unknown-kind:50", "sim_client");
  bool stopped = false;
  for (const OutputRow& e : run.of("iterator_end")) stopped = stopped || e.text("value") == "21";
  EXPECT_TRUE(stopped);
  EXPECT_EQ(run.count("kernel"), 50u);
}

TEST(Scenario, NullBufferAbortsBelowApi27AndIsADropAbove) {
  EXPECT_EQ(simulate("--quiet --layout 12.4", "sim_client null-buffer").signal, 6);
  EXPECT_EQ(simulate("--quiet --scenario null-buffer-abort", "sim_client null-buffer").signal, 6);
  const RunResult run = simulate("--quiet", "sim_client null-buffer");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_GE(run.first("dropped").number("value"), 200u);
  EXPECT_EQ(run.first("dropped_again").text("value"), "0");
}

TEST(Scenario, FlushHangs) {
  EXPECT_EQ(simulate("--quiet --scenario flush-hangs", "sim_client", 2).signal, 9);
}

TEST(Scenario, DisableHangs) {
  EXPECT_EQ(simulate("--quiet --scenario disable-hangs", "sim_client", 2).signal, 9);
}

TEST(Scenario, NamesFreedAreStillGoodInsideTheCallback) {
  const RunResult run = simulate("--quiet --scenario names-freed", "sim_client buffer-bytes=8192");
  ASSERT_EQ(run.count("kernel"), 200u);
  for (const OutputRow& k : run.of("kernel")) EXPECT_EQ(k.text("name").substr(0, 10), "_ZN6client");
}

TEST(Scenario, PoolLimitZeroesWhatComesLater) {
  const RunResult run = simulate("--quiet --scenario pool-limit:150", "sim_client");
  int zero = 0;
  for (const OutputRow& k : run.of("kernel")) zero += k.text("start") == "0" ? 1 : 0;
  EXPECT_EQ(zero, 50);
}

TEST(Scenario, DroppedRecordsAreCountedOnce) {
  const RunResult run = simulate("--quiet --scenario dropped:30", "sim_client");
  EXPECT_EQ(run.count("kernel"), 170u);
  EXPECT_EQ(run.first("dropped").text("value"), "30");
  EXPECT_EQ(run.first("dropped_again").text("value"), "0");
}

/// Kernels for a second in the middle of which the clock changes, and for ten seconds: a busy
/// machine may give the thread that delivers them no processor for the first half.
const std::pair<const char*, const char*> kLonger[] = {{"--quiet --kernel-time 5ms", ":400"},
                                                       {"--quiet --kernel-time 50ms", ":4000"}};

TEST(Scenario, TscClockStartsLater) {
  bool small = false, large = false;
  for (const auto& [options, after_ms] : kLonger) {
    const RunResult run = simulate(std::string(options) + " --scenario tsc-clock" + after_ms,
                                   "sim_client launches=200");
    small = large = false;
    for (const OutputRow& k : run.of("kernel"))
      (k.number("start") < 1500000000000000000u ? small : large) = true;
    if (small && large) break;
  }
  EXPECT_TRUE(small);
  EXPECT_TRUE(large);
}

TEST(Scenario, RealtimeStepGoesBackOneSecond) {
  int stepped = 0, normal = 0;
  for (const auto& [options, after_ms] : kLonger) {
    const RunResult run = simulate(std::string(options) + " --scenario realtime-step" + after_ms,
                                   "sim_client launches=200");
    const std::uint64_t offset = simtest::realtime_offset(run);
    stepped = normal = 0;
    for (const OutputRow& t : run.operations("kernel")) {
      for (const OutputRow& k : run.of("kernel")) {
        if (k.text("corr") != t.text("corr")) continue;
        const auto away = static_cast<std::int64_t>(k.number("start") - t.number("start") - offset);
        ++(away < -900000000 ? stepped : normal);
      }
    }
    if (stepped > 0 && normal > 0) break;
  }
  // How many of either is the machine's: the kernels take a second, from whenever they began.
  EXPECT_GT(stepped, 0);
  EXPECT_GT(normal, 0);
}

TEST(Scenario, Graph2000MakesLargeGraphs) {
  const RunResult run =
      simulate("--quiet --scenario graph-2000", "sim_client graph launches=0 buffer-bytes=1048576");
  EXPECT_GE(run.count("kernel"), 6000u);
}

TEST(Scenario, GpuLateIsMissingFromAnUnforcedFlush) {
  const RunResult run = simulate("--quiet --scenario gpu-late:60000", "sim_client flush=0");
  EXPECT_EQ(run.count("kernel"), 0u);
  EXPECT_GT(run.count("api"), 200u);
  EXPECT_EQ(simulate("--quiet --scenario gpu-late:60000", "sim_client").count("kernel"), 200u);
}

TEST(Scenario, NestedDriverSharesTheCorrelationOfTheRuntimesCall) {
  const RunResult run =
      simulate("--quiet --scenario nested-driver", "sim_client library launches=0");
  std::map<std::string, std::set<std::string>> domains;
  for (const OutputRow& a : run.of("api")) domains[a.text("corr")].insert(a.text("domain"));
  int nested = 0;
  for (const auto& [correlation, seen] : domains) nested += seen.size() == 2 ? 1 : 0;
  EXPECT_EQ(nested, 10);
  EXPECT_EQ(run.count("kernel"), 10u);
}

TEST(Scenario, RequestReenteredAsksOnTwoThreadsAndUsesBoth) {
  const RunResult run =
      simulate("--quiet --scenario request-reentered", "sim_client buffer-bytes=8192");
  std::set<std::string> threads;
  for (const OutputRow& r : run.of("request")) threads.insert(r.text("tid"));
  EXPECT_GT(threads.size(), 2u);
  EXPECT_EQ(run.count("kernel"), 200u);
  EXPECT_GT(run.count("api"), 200u);
  // Those that nothing was written to as well: none is left for who registers next.
  EXPECT_EQ(run.count("complete"), run.count("request"));
}

TEST(Scenario, RequestDuringExitNeverStops) {
  std::size_t empty = 0;
  // On a busy machine the thread that asks may get no processor for a while.
  for (const char* client : {"sim_client linger-ms=300", "sim_client linger-ms=10000"}) {
    const RunResult run = simulate("--quiet --scenario request-during-exit:1", client);
    EXPECT_EQ(run.exit_code, 0);
    empty = 0;
    for (const OutputRow& c : run.of("complete")) empty += c.text("valid") == "0" ? 1 : 0;
    if (empty > 20) break;
  }
  EXPECT_GT(empty, 20u);
}

TEST(Scenario, CompleteAfterForkComesInTheChild) {
  const RunResult run = simulate("--quiet --scenario complete-after-fork", "sim_client fork");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.count("child_complete"), 1u);
  EXPECT_EQ(simulate("--quiet", "sim_client fork").count("child_complete"), 0u);
}

TEST(Scenario, CorrelationIdsWrapAndAreNeverZero) {
  const RunResult run = simulate("--quiet --correlation-start 4294967200", "sim_client");
  bool high = false, low = false;
  std::set<std::string> ids;
  for (const OutputRow& k : run.of("kernel")) {
    EXPECT_NE(k.number("corr"), 0u);
    (k.number("corr") > 4294967000u ? high : low) = true;
    ids.insert(k.text("corr"));
  }
  EXPECT_TRUE(high && low);
  EXPECT_EQ(ids.size(), 200u);
}

TEST(Scenario, SixtyFourThreadsHaveABufferEach) {
  const RunResult run = simulate("--quiet", "sim_client threads=64 buffer-bytes=4096 launches=0");
  EXPECT_EQ(run.count("kernel"), 64u * 20u);
  std::size_t part_filled = 0;
  for (const OutputRow& c : run.of("complete"))
    part_filled += c.number("valid") >= 800 && c.number("valid") < 1200 ? 1 : 0;
  EXPECT_GE(part_filled, 64u);
}

std::string mapped_cuptis(const std::string& options) {
  return simtest::run_shell(
             simtest::program_folder() + "/gpusim-run --quiet --preload " + options +
             " -- sh -c \"grep -o '/.*gpusim_cupti.*' /proc/self/maps\" | sort -u | wc -l")
      .output;
}

TEST(Scenario, TwoCopiesAreMappedAndOneOfThemHears) {
  EXPECT_EQ(mapped_cuptis("--scenario two-copies"), "2\n");
  EXPECT_EQ(mapped_cuptis(""), "1\n");
  const RunResult run = simulate("--quiet --preload --scenario two-copies", "sim_client");
  EXPECT_EQ(run.count("kernel"), 200u) << run.output;
}

TEST(Scenario, WrongSonameIsFoundUnderTheExpectedName) {
  const RunResult listed = simtest::run_shell(
      simtest::program_folder() + "/gpusim-run --quiet --scenario wrong-soname --print-env");
  const std::size_t at = listed.output.find("LD_LIBRARY_PATH=");
  ASSERT_NE(at, std::string::npos) << listed.output;
  const std::string folder =
      listed.output.substr(at + 16, listed.output.find_first_of(":\n", at + 16) - at - 16);
  EXPECT_NE(simtest::run_shell("readelf -d " + folder + "/libcupti.so.13")
                .output.find("[libcupti.so.12]"),
            std::string::npos)
      << folder;
}

class ErrorCode : public ::testing::TestWithParam<const char*> {};

TEST_P(ErrorCode, ComesFromEveryCallAtItsNthUse) {
  const std::string code = GetParam();
  const RunResult run =
      simulate("--quiet --errors cuptiSubscribe_v2:1:" + code + ",cuptiActivityEnable:3:" + code +
                   ",cuptiActivityRegisterCallbacks:*:" + code,
               "sim_client");
  EXPECT_EQ(run.first("subscribe_v2").text("value"), code);
  EXPECT_EQ(run.first("register").text("value"), code);
  ASSERT_GE(run.count("enable"), 3u);
  EXPECT_EQ(run.of("enable")[1].text("value"), "0");
  EXPECT_EQ(run.of("enable")[2].text("value"), code);
}

INSTANTIATE_TEST_SUITE_P(All, ErrorCode, ::testing::Values("12", "15", "35", "39", "999"));

TEST(Errors, TheNthUseFails) {
  const RunResult run = simulate(
      "--quiet --errors cuptiActivityEnable:2:12,cuptiActivityFlushAll:*:999", "sim_client");
  const std::vector<OutputRow> enables = run.of("enable");
  ASSERT_GE(enables.size(), 3u);
  EXPECT_EQ(enables[0].text("value"), "0");
  EXPECT_EQ(enables[1].text("value"), "12");
  EXPECT_EQ(enables[2].text("value"), "0");
  EXPECT_EQ(run.first("flush").text("value"), "999");
}

}  // namespace
