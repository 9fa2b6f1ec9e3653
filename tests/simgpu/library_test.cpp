// SPDX-License-Identifier: Apache-2.0
//
// The fake libraries and gpusim-run: names, layouts, missing parts, labels, the injection
// entry.
//
// Context:  tests
// Owns:     nothing
// Promises: checked from outside, with the programs a user has
// Not here: records (delivery_test.cpp)
#include <gtest/gtest.h>

#include <filesystem>

#include "run_support.hpp"

using simtest::OutputRow;
using simtest::run_shell;
using simtest::RunResult;
using simtest::simulate;

namespace {

std::string library(const char* file) { return simtest::library_folder() + "/" + file; }

TEST(Libraries, HaveTheSonamesAndVersionsOfTheRealOnes) {
  EXPECT_NE(run_shell("readelf -d " + library("gpusim_cuda.so")).output.find("[libcuda.so.1]"),
            std::string::npos);
  EXPECT_NE(run_shell("readelf -d " + library("gpusim_cupti.so")).output.find("[libcupti.so.13]"),
            std::string::npos);
  EXPECT_NE(run_shell("nm -D " + library("gpusim_cupti.so"))
                .output.find("cuptiSubscribe@@libcupti.so.13"),
            std::string::npos);
  EXPECT_NE(run_shell("nm -D " + library("gpusim_cupti11.so"))
                .output.find("cuptiSubscribe@@libcupti.so.11.8"),
            std::string::npos);
}

TEST(Libraries, RunNothingWhenAThreadEndsAndBringNoCxxRuntime) {
  for (const char* file : {"gpusim_core.so", "gpusim_cuda.so", "gpusim_cupti.so"}) {
    EXPECT_EQ(run_shell("nm -D " + library(file)).output.find("__cxa_thread_atexit"),
              std::string::npos)
        << file;
    EXPECT_EQ(run_shell("readelf -d " + library(file)).output.find("libstdc++"), std::string::npos)
        << file;
    EXPECT_NE(run_shell("nm -D " + library(file)).output.find("gpuprof_simulated_gpu"),
              std::string::npos)
        << file;
  }
}

TEST(Libraries, SayThatTheyAreSimulated) {
  const RunResult run = simulate("--devices 1 --model a100", "sim_client");
  EXPECT_NE(run.output.find("Simulated GPU (gpuprof, A100)"), std::string::npos);
  EXPECT_EQ(simulate("--quiet", "sim_client").output.find("Simulated GPU"), std::string::npos);
}

struct LayoutCase {
  const char* layout;
  const char* version;
};

TEST(Layouts, EveryReleaseDecodesToTheSameKernels) {
  for (const LayoutCase c : {LayoutCase{"11.8", "18"}, LayoutCase{"12.4", "22"},
                             LayoutCase{"12.9", "27"}, LayoutCase{"13.0", "130001"},
                             LayoutCase{"13.2", "130202"}, LayoutCase{"future", "140000"}}) {
    const RunResult run = simulate(std::string("--quiet --layout ") + c.layout, "sim_client");
    EXPECT_EQ(run.exit_code, 0) << run.output;
    EXPECT_NE(run.output.find(std::string("version api ") + c.version + " "), std::string::npos)
        << c.layout;
    EXPECT_EQ(run.count("kernel"), 200u) << c.layout;
    EXPECT_EQ(run.count("memcpy"), 4u) << c.layout;
  }
}

TEST(Layouts, OlderReleasesLackNewerFunctions) {
  const RunResult run = simulate("--quiet --layout 11.8", "sim_client");
  EXPECT_NE(run.output.find("missing cuptiSubscribe_v2"), std::string::npos);
  EXPECT_EQ(simulate("--quiet", "sim_client").output.find("missing "), std::string::npos);
}

TEST(Layouts, TheFutureHasOneMoreKind) {
  const RunResult run = simulate("--quiet --layout future", "sim_client");
  EXPECT_NE(run.output.find("other kind 60"), std::string::npos);
}

TEST(Missing, ASymbolReallyCannotBeFound) {
  const RunResult run =
      simulate("--quiet --missing cuptiFinalize,cuptiActivityFlushPeriod", "sim_client");
  EXPECT_NE(run.output.find("missing cuptiFinalize"), std::string::npos);
  EXPECT_NE(run.output.find("missing cuptiActivityFlushPeriod"), std::string::npos);
  EXPECT_EQ(run.output.find("missing cuptiGetVersion"), std::string::npos);
  EXPECT_EQ(simulate("--missing cuptiNoSuchThing", "sim_client").exit_code, 125);
}

TEST(Missing, AStubDriverGives999FromCupti) {
  const RunResult run = simulate("--quiet --stub", "sim_client");
  EXPECT_EQ(run.first("subscribe_v2").text("value"), "999");
  EXPECT_EQ(run.exit_code, 3);
}

TEST(Missing, NoDriverStopsAProgramThatNeedsOne) {
  EXPECT_EQ(simulate("--no-driver", "sim_client").exit_code, 127);
  EXPECT_EQ(simulate("--no-cupti --quiet", "sim_client").exit_code, 2);
}

TEST(Injection, RunsOnceBeforeAnyContext) {
  const std::string log = simtest::scratch_path("injected.txt");
  const RunResult run = run_shell("GPUSIM_PROBE_FILE=" + log +
                                  " CUDA_INJECTION64_PATH=" + library("gpusim_probe.so") + " " +
                                  simtest::program_folder() + "/gpusim-run --quiet -- " +
                                  simtest::program_folder() + "/sim_trainer --steps 1 --threads 3");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run_shell("cat " + log).output, "injected, context active 0\n");
}

}  // namespace
