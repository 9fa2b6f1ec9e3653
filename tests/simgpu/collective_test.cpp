// SPDX-License-Identifier: Apache-2.0
//
// Operations whose end is not known at enqueue: collectives of several processes, host functions,
// and what queues behind them.
//
// Context:  tests
// Owns:     nothing
// Promises: times are compared with each other as the truth log has them, never with a limit of
//           the test's own
// Not here: NCCL's functions (the zoo of tests/e2e/simgpu runs PyTorch on them)
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/collective/reduction.hpp"
#include "run_support.hpp"

using simtest::OutputRow;
using simtest::RunResult;

namespace {

struct Op {
  std::string name;
  std::uint64_t device, start, end;
  std::uint64_t length() const { return end - start; }
};

struct Ranks {
  RunResult outcome;
  std::vector<Op> ops;
  std::vector<Op> named(const std::string& name) const {
    std::vector<Op> found;
    std::copy_if(ops.begin(), ops.end(), std::back_inserter(found),
                 [&](const Op& o) { return o.name == name; });
    return found;
  }
  Op on(const std::string& name, std::uint64_t device) const {
    for (const Op& o : named(name))
      if (o.device == device) return o;
    ADD_FAILURE() << "no " << name << " on device " << device;
    return {};
  }
};

std::string field(const std::string& line, const std::string& key) {
  const std::size_t at = line.find("\"" + key + "\":");
  if (at == std::string::npos) return "";
  const std::size_t from = at + key.size() + 3;
  const std::size_t quoted = line[from] == '"' ? 1 : 0;
  return line.substr(from + quoted, line.find_first_of("\",}", from + quoted) - from - quoted);
}

/// Runs sim_ranks with a truth file for each process.
Ranks run_ranks(const std::string& arguments) {
  const std::string folder = simtest::scratch_path("ranks");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  Ranks run;
  run.outcome = simtest::run_shell("GPUSIM_QUIET=1 GPUSIM_DEVICES=4 GPUSIM_TRUTH=" + folder +
                                   "/%p timeout -s KILL 300 " + simtest::program_folder() +
                                   "/sim_ranks " + arguments);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (line.find("\"t\":\"op\"") == std::string::npos) continue;
      const std::string name = field(line, "name");
      run.ops.push_back({name.empty() ? field(line, "kind") : name,
                         std::stoull(field(line, "device")), std::stoull(field(line, "start")),
                         std::stoull(field(line, "end"))});
    }
  }
  return run;
}

bool left_behind(const Ranks& run) {
  const std::string key = run.outcome.first("key").text("name");
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    if (entry.path().filename().string().find(key) != std::string::npos) return true;
  return key.empty();
}

TEST(Collectives, ALateRankMakesTheOthersKernelsLonger) {
  const Ranks run = run_ranks("4 late");
  ASSERT_EQ(run.outcome.exit_code, 0) << run.outcome.output;
  const Op late = run.on("second", 1);
  for (const std::uint64_t device : {0, 2, 3}) {
    const Op other = run.on("second", device);
    EXPECT_EQ(other.end, late.end);
    EXPECT_LT(other.start, late.start);
    EXPECT_EQ(other.length(), late.length() + late.start - other.start);
    // Rank 1 slept 20 ms after the first collective, which had ended for all.
    EXPECT_GE(late.start, run.on("first", device).end + 20000000);
  }
  EXPECT_FALSE(left_behind(run));
}

TEST(Collectives, WhatStandsBehindOneComesInOrder) {
  const Ranks run = run_ranks("4 late");
  ASSERT_EQ(run.outcome.exit_code, 0) << run.outcome.output;
  EXPECT_EQ(run.outcome.count("result"), 4u);
  for (const OutputRow& row : run.outcome.of("result")) {
    // 1+2+3+4 summed twice: each of the four has 10 after the first collective.
    EXPECT_EQ(row.number("value"), 40u);
    EXPECT_EQ(row.number("event_done"), 1u);
  }
  for (std::uint64_t device = 0; device < 4; ++device) {
    const Op second = run.on("second", device);
    EXPECT_GE(run.on("behind", device).start, second.end);
    EXPECT_GE(run.on("memcpy", device).start, second.end);
  }
}

TEST(Collectives, NothingBehindAPendingOneIsDoneEarly) {
  const Ranks run = run_ranks("4 late");
  for (const OutputRow& row : run.outcome.of("asked")) {
    if (row.number("rank") == 1) continue;  // it comes last: everybody is there
    EXPECT_EQ(row.number("event_known"), 0u);
    EXPECT_EQ(row.number("stream_known"), 0u);
  }
}

TEST(Collectives, ARankThatDiesHoldsNobody) {
  const Ranks run = run_ranks("4 kill");
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.output;
  EXPECT_EQ(run.outcome.count("result"), 3u);
  EXPECT_EQ(run.named("second").size(), 3u);
  EXPECT_FALSE(left_behind(run));
}

TEST(Collectives, ARankThatLeavesHoldsNobody) {
  const Ranks run = run_ranks("3 leave");
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.output;
  EXPECT_EQ(run.outcome.count("result"), 2u);
}

TEST(Collectives, AFullQueueBehindAPendingOneWaitsAndLosesNothing) {
  const Ranks run = run_ranks("2 full");
  ASSERT_EQ(run.outcome.exit_code, 0) << run.outcome.output;
  EXPECT_LE(run.outcome.first("storm").number("queued_after"), 1024u);
  std::vector<Op> storm = run.named("storm");
  ASSERT_EQ(storm.size(), 1500u);
  EXPECT_GE(storm.front().start, run.on("second", 0).end);
  for (std::size_t i = 1; i < storm.size(); ++i) EXPECT_GE(storm[i].start, storm[i - 1].end);
}

TEST(HostFunctions, HoldUpTheirStreamAndTheDefaultStreamOnly) {
  const Ranks run = run_ranks("1 host");
  ASSERT_EQ(run.outcome.exit_code, 0) << run.outcome.output;
  const OutputRow row = run.outcome.first("host");
  EXPECT_EQ(row.number("known"), 0u);
  const std::uint64_t returned = row.number("returned");
  ASSERT_NE(returned, 0u);
  EXPECT_LT(run.on("before", 0).end, returned);
  EXPECT_GE(run.on("after", 0).start, returned);
  EXPECT_GE(run.on("default", 0).start, run.on("after", 0).end);
  EXPECT_LT(run.on("free", 0).end, returned);
}

template <typename T>
std::vector<T> combined(gpusim::Number number, gpusim::Combine how, std::vector<T> a,
                        const std::vector<T>& b) {
  gpusim::combine(number, how, a.data(), b.data(), a.size());
  if (how == gpusim::Combine::kAverage) gpusim::divide(number, a.data(), a.size(), 2);
  return a;
}

TEST(Reductions, CombineNumbersOfEveryWidth) {
  using gpusim::Combine;
  using gpusim::Number;
  EXPECT_EQ(combined<std::int64_t>(Number::kInt64, Combine::kMin, {5, -7}, {6, -9}),
            (std::vector<std::int64_t>{5, -9}));
  EXPECT_EQ(combined<std::uint8_t>(Number::kUint8, Combine::kMax, {5, 250}, {6, 9}),
            (std::vector<std::uint8_t>{6, 250}));
  EXPECT_EQ(combined<double>(Number::kDouble, Combine::kProduct, {1.5}, {4}),
            (std::vector<double>{6}));
  EXPECT_EQ(combined<float>(Number::kFloat, Combine::kAverage, {1, 3}, {2, 5}),
            (std::vector<float>{1.5f, 4}));
}

TEST(Reductions, RoundShortFloatsToNearestEven) {
  using gpusim::Combine;
  using gpusim::Number;
  using Bits = std::vector<std::uint16_t>;
  // half: 1.5 + 2.25 = 3.75; 0 + 0; largest + largest = infinity; smallest + smallest
  EXPECT_EQ(combined<std::uint16_t>(Number::kHalf, Combine::kSum, {0x3e00, 0, 0x7bff, 1},
                                    {0x4080, 0, 0x7bff, 1}),
            (Bits{0x4380, 0, 0x7c00, 2}));
  // half: 2048 + 1 lies between two numbers and goes to the even one; 2050 + 1 too
  EXPECT_EQ(
      combined<std::uint16_t>(Number::kHalf, Combine::kSum, {0x6800, 0x6801}, {0x3c00, 0x3c00}),
      (Bits{0x6800, 0x6802}));
  // bfloat16: 1.5 + 3 = 4.5; 256 + 1 goes to the even 256
  EXPECT_EQ(
      combined<std::uint16_t>(Number::kBfloat16, Combine::kSum, {0x3fc0, 0x4380}, {0x4040, 0x3f80}),
      (Bits{0x4090, 0x4380}));
}

}  // namespace
