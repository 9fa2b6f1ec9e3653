// SPDX-License-Identifier: Apache-2.0
//
// The simulated cuDNN, seen by a program that uses it and by the truth log.
//
// Context:  tests
// Owns:     nothing
// Promises: checked from outside, with the library's own headers
// Not here: PyTorch on it (tests/e2e/simgpu)
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "run_support.hpp"

using simtest::OutputRow;
using simtest::run_shell;
using simtest::RunResult;

namespace {

const RunResult& client() {
  static const RunResult run =
      simtest::simulate("--quiet --devices 1 --model h100", "cudnn_client");
  return run;
}

std::vector<std::string> kernels() {
  std::vector<std::string> names;
  for (const OutputRow& r : client().operations("kernel")) names.push_back(r.text("name"));
  return names;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Value of the first line called `name`.
std::string answer(const std::string& name) { return client().first(name).text("value"); }

TEST(Cudnn, StandsInForEveryFunctionOfTheRealOne) {
  const std::string file = simtest::library_folder() + "/gpusim_cudnn.so";
  EXPECT_TRUE(has(run_shell("readelf -d " + file).output, "[libcudnn.so.9]"));
  EXPECT_TRUE(has(run_shell("nm -D " + file).output, "cudnnCreate@@libcudnn.so.9"));
  EXPECT_FALSE(has(run_shell("nm -D " + file).output, "__cxa_thread_atexit"));
  const RunResult missing = run_shell(
      "nm -D --defined-only " GPUSIM_REAL_CUDNN " | awk '$2==\"T\"{print $3}' | sort > " +
      simtest::scratch_path("real") + "; nm -D --defined-only " + file +
      " | awk '$2==\"T\"{print $3}' | sort > " + simtest::scratch_path("ours") + "; comm -23 " +
      simtest::scratch_path("real") + " " + simtest::scratch_path("ours"));
  EXPECT_EQ(missing.output, "");
}

TEST(Cudnn, AGraphHasOnePlanWithoutWorkspace) {
  ASSERT_EQ(client().exit_code, 0) << client().output;
  for (const char* step : {"graph_finalized", "heuristics_finalized", "plan_finalized", "executed"})
    for (const OutputRow& r : client().of(step)) EXPECT_EQ(r.text("value"), "0") << step;
  EXPECT_EQ(client().count("executed"), 3u);
  EXPECT_EQ(answer("configurations"), "1");
  EXPECT_EQ(answer("knobs"), "0");
  EXPECT_EQ(answer("workspace"), "0");
}

TEST(Cudnn, ConvertsLayoutsOnlyAroundNchw) {
  const std::vector<std::string> names = kernels();
  ASSERT_GE(names.size(), 5u);
  EXPECT_TRUE(has(names[0], "nchwToNhwc")) << names[0];
  EXPECT_TRUE(has(names[1], "nchwToNhwc")) << names[1];
  EXPECT_TRUE(has(names[2], "sm90_xmma_fprop_implicit_gemm_f16f16")) << names[2];
  EXPECT_TRUE(has(names[3], "nhwcToNchw")) << names[3];
  EXPECT_EQ(names[4], names[2]) << "the channels-last graph launches the convolution alone";
}

TEST(Cudnn, AnAttentionGraphIsOneKernel) {
  const std::vector<OutputRow> all = client().operations("kernel");
  ASSERT_GE(all.size(), 6u);
  EXPECT_TRUE(has(all[5].text("name"), "sdpa_sm90_flash_fprop")) << all[5].text("name");
  EXPECT_EQ(all[5].text("grid"), "2,4,2");
}

TEST(Cudnn, EveryKernelIsALaunchOfItsOwn) {
  std::set<std::string> correlations;
  for (const OutputRow& r : client().operations("kernel")) correlations.insert(r.text("corr"));
  EXPECT_EQ(correlations.size(), client().operations("kernel").size());
  std::size_t launches = 0;
  for (const OutputRow& r : client().truth)
    if (r.type == "api" && r.text("name") == "cudaLaunchKernelExC") ++launches;
  EXPECT_EQ(launches, client().operations("kernel").size());
}

TEST(Cudnn, TheOlderApiHasOneAlgorithm) {
  EXPECT_EQ(answer("algorithm_query"), "0");
  EXPECT_EQ(answer("algorithms"), "1");
  EXPECT_EQ(answer("algorithm_workspace"), "0");
  EXPECT_EQ(answer("convolved"), "0");
  EXPECT_EQ(answer("mismatch"), "2000");
  const std::vector<std::string> names = kernels();
  EXPECT_TRUE(std::any_of(names.begin(), names.end(), [](const std::string& n) {
    return has(n, "fprop_implicit_gemm_tf32f32");
  }));
}

TEST(Cudnn, RnnParametersFillTheWeightSpaceExactly) {
  const std::uint64_t space = client().first("weight_space").number("value");
  // Two directions of (80 x 10 + 80 x 20) and of (80 x 40 + 80 x 20), each with two biases of 80.
  EXPECT_EQ(space, 4u * 2u * (2400u + 4800u + 2u * 160u));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const OutputRow& r : client().of("parameter")) {
    ranges.emplace_back(r.number("at"), r.number("bytes"));
    ranges.emplace_back(r.number("bias_at"), 80u);
  }
  ASSERT_EQ(ranges.size(), 64u);
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t next = 0;
  for (const auto& [at, bytes] : ranges) {
    EXPECT_EQ(at, next);
    next = at + bytes;
  }
  EXPECT_EQ(next, space);
  EXPECT_EQ(answer("all_null"), "0");
}

TEST(Cudnn, RefusesByName) {
  EXPECT_EQ(answer("json"), "3000");
  EXPECT_EQ(answer("experts"), "3000");
  EXPECT_EQ(answer("lrn"), "3000");
  EXPECT_EQ(answer("null_tensor"), "2002");
  EXPECT_EQ(answer("null_handle"), "2002");
  std::set<std::string> refused;
  for (const OutputRow& r : client().truth)
    if (r.type == "refused" && r.text("library") == "cudnn") refused.insert(r.text("name"));
  EXPECT_EQ(refused, (std::set<std::string>{"cudnnBackendFinalize(operation graph)",
                                            "cudnnBackendGetAttribute(execution plan as JSON)",
                                            "cudnnCreateLRNDescriptor"}));
}

}  // namespace
