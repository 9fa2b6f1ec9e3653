// SPDX-License-Identifier: Apache-2.0
//
// sim_trainer says what it did, and that is what the simulator saw.
//
// Context:  tests
// Owns:     nothing
// Promises: counts on stdout equal the truth log, also after a kill
// Not here: records (delivery_test.cpp)
#include <gtest/gtest.h>

#include "run_support.hpp"

using simtest::OutputRow;
using simtest::run_shell;
using simtest::RunResult;
using simtest::simulate;

namespace {

/// The number after `result NAME`.
std::uint64_t result(const RunResult& run, const std::string& name) {
  for (const OutputRow& r : run.of("result"))
    if (r.fields.count(name) != 0) return r.number(name);
  return 0;
}

TEST(Trainer, CountsWhatTheSimulatorSaw) {
  const RunResult run =
      simulate("--quiet --devices 2",
               "sim_trainer --steps 5 --threads 2 --devices 2 --graph-nodes 3 --host-ms 0");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(result(run, "kernels"), run.operations("kernel").size());
  EXPECT_EQ(result(run, "kernels"), 270u);
  EXPECT_EQ(run.operations("memcpy").size(), 20u);
  EXPECT_EQ(run.operations("memcpy_peer").size(), 10u);
  EXPECT_EQ(run.operations("memset").size(), 10u);
}

TEST(Trainer, SaysTheSameTwice) {
  const std::string command = "sim_trainer --steps 3 --streams 3";
  EXPECT_EQ(simulate("--quiet", command).output, simulate("--quiet", command).output);
}

TEST(Trainer, TheTruthSurvivesAKill) {
  const RunResult run =
      simulate("--quiet", "sim_trainer --forever --progress --launch-rate 5000 --host-ms 0", 1);
  EXPECT_EQ(run.signal, 9);
  ASSERT_GT(run.count("progress"), 5u);
  const std::uint64_t printed = run.of("progress").back().number("launches");
  EXPECT_GT(printed, 100u);
  EXPECT_GE(run.operations("kernel").size(), printed);
}

TEST(Trainer, HelpersNeverTouchCuda) {
  const RunResult run = simulate("", "sim_trainer --steps 2 --helpers 3");
  EXPECT_EQ(run.exit_code, 0);
  std::size_t uses = 0;
  for (std::size_t at = 0; (at = run.output.find("simulated GPU in use", at)) != std::string::npos;
       ++at)
    ++uses;
  EXPECT_EQ(uses, 1u);
}

TEST(Trainer, EndsAsItIsTold) {
  EXPECT_EQ(simulate("--quiet", "sim_trainer --steps 1 --exit _exit").exit_code, 7);
  EXPECT_EQ(simulate("--quiet", "sim_trainer --steps 1 --exit abort").signal, 6);
  EXPECT_EQ(simulate("--quiet", "sim_trainer --no-such-option").exit_code, 2);
}

TEST(Timing, AWaitReturnsNotBeforeTheLastEnd) {
  const RunResult run = simulate("--quiet --kernel-time 3ms", "sim_trainer --steps 2 --host-ms 0");
  std::uint64_t last_end = 0, last_wait = 0;
  for (const OutputRow& k : run.operations("kernel"))
    last_end = std::max(last_end, k.number("end"));
  for (const OutputRow& t : run.truth)
    if (t.type == "sync") last_wait = std::max(last_wait, t.number("end"));
  EXPECT_GE(last_wait, last_end);
}

TEST(Timing, TheScaleAppliesToTheDevice) {
  const RunResult slow = simulate("--quiet --time-scale 1", "sim_trainer --steps 1 --host-ms 0");
  const RunResult fast = simulate("--quiet --time-scale 0.1", "sim_trainer --steps 1 --host-ms 0");
  const auto length = [](const RunResult& r) {
    const OutputRow k = r.operations("kernel").front();
    return static_cast<double>(k.number("end") - k.number("start"));
  };
  EXPECT_NEAR(length(fast), length(slow) * 0.1, 2);
}

TEST(Memory, TheDeviceIsAsLargeAsItSays) {
  EXPECT_EQ(simulate("--quiet --memory 1M", "sim_trainer --steps 1 --copy-bytes 4194304").exit_code,
            3);
}

TEST(Devices, OnlyTheVisibleOnesAreThere) {
  const simtest::RunResult one =
      simtest::run_shell("CUDA_VISIBLE_DEVICES=1 " + simtest::program_folder() +
                         "/gpusim-run --quiet --devices 4 -- " + simtest::program_folder() +
                         "/sim_trainer --steps 1 --devices 2");
  EXPECT_EQ(one.exit_code, 3) << one.output;
  const simtest::RunResult two =
      simtest::run_shell("CUDA_VISIBLE_DEVICES=3,1,9,0 " + simtest::program_folder() +
                         "/gpusim-run --quiet --devices 4 -- " + simtest::program_folder() +
                         "/sim_trainer --steps 1 --devices 2");
  EXPECT_EQ(two.exit_code, 0) << two.output;
}

}  // namespace
