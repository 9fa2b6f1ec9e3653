// SPDX-License-Identifier: Apache-2.0
//
// The runtime's fake, seen by a program as nvcc would build it and by the truth log.
//
// Context:  tests
// Owns:     nothing
// Promises: each test runs the program in a process of its own
// Not here: reading cubins (fatbin_test.cpp), PyTorch (tests/e2e/simgpu)
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>

#include "run_support.hpp"

using simtest::OutputRow;
using simtest::run_shell;
using simtest::RunResult;
using simtest::simulate;

namespace {

RunResult app(const std::string& arguments) {
  return simulate("--quiet --devices 1 --data copy", "sim_cudart_app " + arguments);
}

std::map<std::string, int> calls(const RunResult& run) {
  std::map<std::string, int> count;
  for (const OutputRow& r : run.truth)
    if (r.type == "api" && r.text("domain") == "runtime") ++count[r.text("name")];
  return count;
}

TEST(Cudart, NeedsOnlyTheSoname) {
  const RunResult needed = run_shell("readelf -d " + simtest::program_folder() + "/sim_cudart_app");
  EXPECT_NE(needed.output.find("[libcudart.so.13]"), std::string::npos);
  EXPECT_EQ(needed.output.find("gpusim"), std::string::npos) << needed.output;
}

TEST(Cudart, RunsKernelsOfAProgramByTheirNames) {
  const RunResult run = app("work 4");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  std::map<std::string, int> kernels;
  for (const OutputRow& k : run.operations("kernel")) ++kernels[k.text("name")];
  // Four steps and three launches of the graph.
  EXPECT_EQ(kernels["_Z5scalePffi"], 7);
  EXPECT_EQ(kernels["_Z6reducePKfPfi"], 7);
  EXPECT_EQ(calls(run)["cudaLaunchKernel"], 10) << "both kinds of stubs, and the captured ones";
  EXPECT_EQ(calls(run)["__cudaLaunchKernel"], 0);
  for (const OutputRow& k : run.operations("kernel")) {
    if (k.text("name") != "_Z6reducePKfPfi") continue;
    EXPECT_EQ(k.text("block"), "128,2,1");
    EXPECT_EQ(k.number("dynamic_smem"), 1024u);
  }
}

TEST(Cudart, MovesTheBytesOfCopiesAndFills) {
  const RunResult run = app("work 2");
  EXPECT_EQ(run.first("roundtrip").number("same"), 1u) << run.output;
  EXPECT_EQ(run.first("symbol").number("same"), 1u);
  EXPECT_EQ(run.first("rows").number("first"), 255u);
  EXPECT_EQ(run.first("rows").number("last"), 255u);
  const std::vector<OutputRow> copies = run.operations("memcpy");
  ASSERT_FALSE(copies.empty());
  EXPECT_EQ(copies[0].number("copy_kind"), 1u);
  EXPECT_EQ(copies[0].number("src_kind"), 2u) << "pinned";
  EXPECT_EQ(copies[0].number("bytes"), 16384u);
}

TEST(Cudart, CallsTheProgramBackAndReplaysGraphs) {
  const RunResult run = app("work 1");
  EXPECT_EQ(run.first("called").number("times"), 11u) << run.output;
  EXPECT_EQ(run.first("graph").number("nodes"), 4u);
  int in_graph = 0;
  for (const OutputRow& r : run.truth)
    if (r.type == "op" && r.number("graph") != 0) ++in_graph;
  EXPECT_EQ(in_graph, 12);
  EXPECT_EQ(run.first("pool").number("taken"), 1048576u);
  EXPECT_EQ(run.first("pool").number("left"), 0u);
  EXPECT_EQ(run.first("elapsed").number("positive"), 1u);
}

/// "error NAME CODE last CODE then CODE" lines.
std::map<std::string, std::string> said_errors(const RunResult& run) {
  std::map<std::string, std::string> said;
  const std::regex line("error (\\S+) (\\d+ last \\d+ then \\d+)");
  for (std::sregex_iterator it(run.output.begin(), run.output.end(), line), end; it != end; ++it)
    said[(*it)[1]] = (*it)[2];
  return said;
}

TEST(Cudart, RefusesWhatADeviceCouldNotDo) {
  const RunResult run = app("errors");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  auto said = said_errors(run);
  EXPECT_EQ(said["block"], "9 last 9 then 0");
  EXPECT_EQ(said["grid"], "9 last 9 then 0");
  EXPECT_EQ(said["smem"], "1 last 1 then 0");
  EXPECT_EQ(said["kernel"], "98 last 98 then 0");
  EXPECT_EQ(said["cooperative"], "720 last 720 then 0");
  EXPECT_EQ(said["memory"], "2 last 2 then 0");
  EXPECT_EQ(said["free"], "1 last 1 then 0");
  for (const char* beyond : {"copy", "fill", "rows", "endless"})
    EXPECT_EQ(said[beyond], "1 last 1 then 0") << beyond;
  EXPECT_EQ(said["function"], "98 last 98 then 0");
  EXPECT_EQ(said["device"], "101 last 101 then 0");
  EXPECT_EQ(said["symbol"], "13 last 13 then 0");
  EXPECT_EQ(said["legacy"], "900 last 900 then 0");
  EXPECT_EQ(said["sync"], "900 last 900 then 0");
  EXPECT_TRUE(run.operations("kernel").empty());
  EXPECT_NE(run.output.find("invalid configuration of the simulated GPU (gpuprof)"),
            std::string::npos);
  EXPECT_NE(run.output.find("Simulated GPU (gpuprof, H100)"), std::string::npos);
}

TEST(Cudart, RefusesByNameWhatItDoesNotHave) {
  std::ifstream generated(GPUSIM_CUDART_REFUSALS);
  const std::string list = simtest::scratch_path("refusals.txt");
  std::ofstream out(list);
  std::size_t names = 0;
  const std::regex refusal("GPUSIM_REFUSE\\((\\w+)\\);");
  std::smatch match;
  for (std::string line; std::getline(generated, line);)
    if (std::regex_match(line, match, refusal)) out << match[1] << "\n", ++names;
  out.close();
  if (names == 0) GTEST_SKIP() << "no PyTorch with CUDA to read the runtime's names from";
  const RunResult run = app("refusals " + list);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run.count("refused"), names);
  for (const OutputRow& r : run.of("refused")) EXPECT_EQ(r.text("code"), "801") << r.text("name");
  std::size_t logged = 0;
  for (const OutputRow& r : run.truth)
    if (r.type == "refused" && r.text("library") == "cudart") ++logged;
  EXPECT_EQ(logged, names);
}

TEST(Cudart, RunsNothingWhenAThreadEndsAndBringsNoCxxRuntime) {
  const std::string file = simtest::library_folder() + "/gpusim_cudart.so";
  const std::string symbols = run_shell("nm -D " + file).output;
  EXPECT_EQ(symbols.find("__cxa_thread_atexit"), std::string::npos);
  EXPECT_NE(symbols.find("gpuprof_simulated_gpu"), std::string::npos);
  EXPECT_NE(symbols.find("cudaMalloc@@libcudart.so.13"), std::string::npos);
  const std::string dynamic = run_shell("readelf -d " + file).output;
  EXPECT_NE(dynamic.find("[libcudart.so.13]"), std::string::npos);
  EXPECT_EQ(dynamic.find("libstdc++"), std::string::npos);
}

}  // namespace
