// SPDX-License-Identifier: Apache-2.0
//
// Without a scenario, what a CUPTI client receives is what happened.
//
// Context:  tests
// Owns:     nothing
// Promises: the truth log is the witness; the client is a program of its own
// Not here: awkward behaviours (scenario_test.cpp)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "run_support.hpp"

using simtest::OutputRow;
using simtest::RunResult;
using simtest::simulate;

namespace {

std::int64_t apart(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b); }

const OutputRow* with_correlation(const std::vector<OutputRow>& rows,
                                  const std::string& correlation) {
  for (const OutputRow& r : rows)
    if (r.text("corr") == correlation) return &r;
  return nullptr;
}

TEST(DeliveryCounts, EveryKernelArrivesWithItsTimesNameAndShape) {
  const RunResult run = simulate("--quiet", "sim_client");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const std::vector<OutputRow> kernels = run.of("kernel");
  const std::vector<OutputRow> truth = run.operations("kernel");
  ASSERT_EQ(truth.size(), 200u);
  ASSERT_EQ(kernels.size(), truth.size());
  const std::uint64_t offset = simtest::realtime_offset(run);
  for (const OutputRow& t : truth) {
    const OutputRow* k = with_correlation(kernels, t.text("corr"));
    ASSERT_NE(k, nullptr) << t.text("corr");
    EXPECT_EQ(k->text("name"), t.text("name"));
    EXPECT_EQ(k->text("grid"), t.text("grid"));
    EXPECT_EQ(k->text("block"), t.text("block"));
    EXPECT_EQ(k->text("stream"), t.text("stream"));
    EXPECT_LT(std::abs(apart(k->number("start"), t.number("start") + offset)), 5000);
    EXPECT_EQ(k->number("end") - k->number("start"), t.number("end") - t.number("start"));
  }
}

TEST(DeliveryCounts, EveryApiCallArrives) {
  const RunResult run = simulate("--quiet", "sim_client");
  const std::vector<OutputRow> records = run.of("api");
  std::size_t calls = 0;
  for (const OutputRow& t : run.truth) {
    if (t.type != "api") continue;
    ++calls;
    const OutputRow* a = with_correlation(records, t.text("corr"));
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(a->text("name"), t.text("name"));
    EXPECT_EQ(a->text("tid"), t.text("tid"));
  }
  EXPECT_EQ(records.size(), calls);
}

TEST(DeliveryCounts, CopiesAndFillsArriveWithTheirKinds) {
  const RunResult run = simulate("--quiet --devices 2", "sim_client");
  std::multiset<std::string> kinds;
  for (const OutputRow& m : run.of("memcpy"))
    kinds.insert(m.text("kind") + ":" + m.text("src") + ">" + m.text("dst"));
  EXPECT_EQ(kinds, (std::multiset<std::string>{"1:1>3", "1:2>3", "8:3>3", "2:3>2"}));
  ASSERT_EQ(run.count("memcpy2"), 1u);
  EXPECT_EQ(run.first("memcpy2").text("to"), "1");
  ASSERT_EQ(run.count("memset"), 1u);
  EXPECT_EQ(run.first("memset").text("bytes"), "4096");
}

TEST(DeliveryCounts, KernelsStartAfterTheirCallAndNeverOverlapOnAStream) {
  const RunResult run =
      simulate("--quiet --api-cost 0 --kernel-time 20us", "sim_client launches=4000");
  std::map<std::string, std::uint64_t> end_of;
  const std::vector<OutputRow> truth = run.operations("kernel");
  ASSERT_EQ(truth.size(), 4000u);
  for (const OutputRow& k : truth) {
    EXPECT_GE(k.number("start"), end_of[k.text("stream")]);
    end_of[k.text("stream")] = k.number("end");
  }
  std::map<std::string, std::uint64_t> call_start;
  for (const OutputRow& t : run.truth)
    if (t.type == "api") call_start[t.text("corr")] = t.number("start");
  for (const OutputRow& k : truth) EXPECT_GE(k.number("start"), call_start[k.text("corr")]);
}

TEST(DeliveryCounts, ExternalCorrelationStandsJustBeforeItsCall) {
  const RunResult run = simulate("--quiet", "sim_client");
  EXPECT_EQ(run.count("external"), 100u);
  for (std::size_t i = 0; i + 1 < run.rows.size(); ++i) {
    if (run.rows[i].type != "external") continue;
    EXPECT_EQ(run.rows[i + 1].type, "api");
    EXPECT_EQ(run.rows[i + 1].text("corr"), run.rows[i].text("corr"));
    EXPECT_EQ(run.rows[i].text("id"), "4711");
  }
}

TEST(DeliveryCounts, GraphNodesShareTheLaunchesCorrelation) {
  const RunResult run = simulate("--quiet", "sim_client graph launches=0 graph-nodes=7");
  std::map<std::string, int> per_correlation;
  std::set<std::string> nodes;
  for (const OutputRow& k : run.of("kernel")) ++per_correlation[k.text("corr")];
  for (const OutputRow& k : run.operations("kernel")) nodes.insert(k.text("graph_node"));
  EXPECT_EQ(per_correlation.size(), 3u);
  for (const auto& [correlation, n] : per_correlation) EXPECT_EQ(n, 7);
  EXPECT_EQ(nodes.size(), 7u);
}

TEST(DeliveryCounts, PendingOperationsOfADisabledKindComeWithTheNextFlush) {
  const RunResult run = simulate("--quiet --kernel-time 2ms", "sim_client pending launches=40");
  EXPECT_EQ(run.operations("kernel").size(), 40u);
  EXPECT_EQ(run.count("kernel"), 40u);
}

TEST(DeliveryCounts, UnforcedFlushLeavesUnfinishedOperationsOut) {
  std::size_t kernels = 40;
  // On a busy machine the client may come to its flush when short kernels are over.
  for (const char* options : {"--quiet --kernel-time 20ms", "--quiet --kernel-time 200ms"}) {
    const RunResult run = simulate(options, "sim_client pending launches=40 flush=0");
    EXPECT_EQ(run.exit_code, 0) << run.output;
    kernels = run.count("kernel");
    if (kernels < 40) break;
  }
  EXPECT_LT(kernels, 40u);
}

TEST(DeliveryCounts, BuffersAreAskedForOnTheCallersThreadAndFullOnesCompletedOnAnother) {
  std::set<std::string> completed;
  // What the other thread finds no processor for in time, the flush at the end completes.
  for (const char* sleep_ms : {"150", "3000", "20000"}) {
    const RunResult run =
        simulate("--quiet", std::string("sim_client buffer-bytes=8192 sleep-ms=") + sleep_ms);
    const std::string main_thread = run.first("version").text("tid");
    std::set<std::string> asked;
    completed.clear();
    for (const OutputRow& r : run.of("request")) asked.insert(r.text("tid"));
    for (const OutputRow& r : run.of("complete")) completed.insert(r.text("tid"));
    ASSERT_FALSE(main_thread.empty());
    EXPECT_EQ(asked.count(main_thread), 1u);
    EXPECT_EQ(run.count("kernel"), 200u);
    completed.erase(main_thread);
    if (!completed.empty()) break;
  }
  EXPECT_EQ(completed.size(), 1u);
}

TEST(DeliveryCounts, SharedBuffersHoldEverythingToo) {
  const RunResult run = simulate("--quiet", "sim_client shared-buffers");
  EXPECT_EQ(run.count("kernel"), 200u);
  EXPECT_EQ(run.count("complete"), 1u);
}

TEST(DeliveryCounts, ALibrarysKernelIsARuntimeCallWithBothExternalIdsBeforeIt) {
  const RunResult run = simulate("--quiet", "sim_client library launches=0");
  int found = 0;
  for (std::size_t i = 2; i < run.rows.size(); ++i) {
    if (run.rows[i].type != "api" || run.rows[i].text("domain") != "runtime") continue;
    ++found;
    EXPECT_EQ(run.rows[i].text("name"), "cudaLaunchKernelExC_v11060");
    EXPECT_EQ(run.rows[i - 2].text("id"), "11");
    EXPECT_EQ(run.rows[i - 1].text("id"), "12");
    EXPECT_EQ(run.rows[i - 1].text("corr"), run.rows[i].text("corr"));
    const std::vector<OutputRow> kernels = run.of("kernel");
    EXPECT_NE(with_correlation(kernels, run.rows[i].text("corr")), nullptr);
  }
  EXPECT_EQ(found, 10);
}

TEST(DeliveryCounts, GraphTraceTakesThePlaceOfTheNodes) {
  const RunResult run =
      simulate("--quiet", "sim_client graph graph-trace launches=0 graph-nodes=7");
  EXPECT_EQ(run.count("graph"), 3u);
  EXPECT_EQ(run.count("kernel"), 0u);
  EXPECT_EQ(run.operations("kernel").size(), 21u);
}

TEST(DeliveryCounts, WaitsAreRecordedAndEndAfterTheWork) {
  const RunResult run = simulate("--quiet --kernel-time 1ms", "sim_client sync launches=20");
  std::set<std::string> types;
  std::uint64_t last_wait = 0, last_end = 0;
  for (const OutputRow& s : run.of("sync")) {
    types.insert(s.text("type"));
    last_wait = std::max(last_wait, s.number("end"));
  }
  for (const OutputRow& k : run.of("kernel")) last_end = std::max(last_end, k.number("end"));
  EXPECT_TRUE(types.count("3") == 1 && types.count("4") == 1) << "stream and context";
  EXPECT_GE(last_wait, last_end);
}

TEST(Filters, AnAllowListLeavesOnlyTheseCalls) {
  const RunResult run = simulate("--quiet", "sim_client launches-only");
  EXPECT_EQ(run.count("api"), 200u);
  for (const OutputRow& a : run.of("api")) EXPECT_EQ(a.text("name"), "cuLaunchKernel");
  EXPECT_EQ(run.count("kernel"), 200u);
}

TEST(Filters, ADenyListTakesOnlyTheseCallsAway) {
  const RunResult run = simulate("--quiet", "sim_client all-but-launches");
  EXPECT_GT(run.count("api"), 20u);
  for (const OutputRow& a : run.of("api")) EXPECT_NE(a.text("name"), "cuLaunchKernel");
  EXPECT_EQ(run.count("kernel"), 200u);
}

TEST(Callbacks, EveryLaunchIsReportedWithItsSymbolAndSlot) {
  const RunResult run = simulate("--quiet", "sim_client");
  EXPECT_EQ(run.first("launch_callbacks").text("value"), "200");
  EXPECT_EQ(run.count("bad_symbol"), 0u);
  EXPECT_EQ(run.count("bad_correlation_data"), 0u);
}

TEST(Subscriber, ASecondOneHears39AndTheHoldersName) {
  const RunResult run = simulate("--quiet --slot-taken 'NsightSystems'", "sim_client");
  EXPECT_EQ(run.first("subscribe_v2").text("value"), "39");
  EXPECT_EQ(run.first("holder").text("value"), "NsightSystems");
}

TEST(Clock, ATimestampCallbackMovesEveryLaterRecord) {
  const RunResult run = simulate("--quiet", "sim_client tsc sleep-ms=5");
  ASSERT_EQ(run.count("kernel"), 200u);
  // REALTIME nanoseconds of this century have 19 digits; a tick count since boot is far smaller.
  for (const OutputRow& k : run.of("kernel")) {
    if (k.number("corr") > 150) {
      EXPECT_LT(k.number("start"), 1500000000000000000u) << k.text("corr");
    }
  }
}

TEST(Clock, TimesInACallbacksClockAreRightAndMonotonic) {
  const RunResult run = simulate("--quiet --kernel-time 300us", "sim_client tsc launches=400");
  const std::vector<OutputRow> pairs = run.of("pair");
  ASSERT_EQ(pairs.size(), 2u);
  const auto mono = static_cast<double>(pairs[0].number("mono"));
  const auto tick = static_cast<double>(pairs[0].number("ticks"));
  const double rate = (static_cast<double>(pairs[1].number("mono")) - mono) /
                      (static_cast<double>(pairs[1].number("ticks")) - tick);
  const std::vector<OutputRow> truth = run.operations("kernel");
  std::map<std::string, std::uint64_t> end_of;
  int compared = 0;
  for (const OutputRow& k : run.of("kernel")) {
    if (k.number("start") > 1500000000000000000u) continue;  // before the registration
    const OutputRow* t = with_correlation(truth, k.text("corr"));
    ASSERT_NE(t, nullptr);
    const double at = mono + (static_cast<double>(k.number("start")) - tick) * rate;
    EXPECT_LT(std::abs(at - static_cast<double>(t->number("start"))), 5000) << k.text("corr");
    EXPECT_GT(k.number("start"), end_of[k.text("stream")]);
    end_of[k.text("stream")] = k.number("end");
    ++compared;
  }
  EXPECT_GE(compared, 200);
}

}  // namespace
