// SPDX-License-Identifier: Apache-2.0
//
// cuBLAS and cuBLASLt of the simulated GPU: statuses, kernels, refusals, hygiene.
//
// Context:  tests
// Owns:     nothing
// Promises: checked through a program linked by SONAME and the truth log
// Not here: PyTorch on top of them (tests/e2e/simgpu)
#include <gtest/gtest.h>

#include <set>

#include "run_support.hpp"

using simtest::OutputRow;
using simtest::run_shell;
using simtest::RunResult;
using simtest::simulate;

namespace {

RunResult families(const std::string& options = "") {
  return simulate("--quiet --pytorch yes --devices 1 " + options, "blas_app");
}

std::string status(const RunResult& run, const std::string& call) {
  for (const OutputRow& row : run.of("call"))
    if (row.fields.count(call) != 0) return row.text(call);
  return "not called";
}

/// Names of the kernels, one a line.
std::string kernels(const RunResult& run) {
  std::string names;
  for (const OutputRow& row : run.operations("kernel")) names += row.text("name") + "\n";
  return names;
}

bool has(const RunResult& run, const std::string& name) {
  return kernels(run).find(name) != std::string::npos;
}

TEST(Cublas, EachFamilyAnswersAsTheRealOne) {
  const RunResult run = families();
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const std::map<std::string, std::string> expected = {
      {"no_such_type", "15"}, {"negative", "7"},          {"layout_size", "7"},
      {"set_backwards", "7"}, {"groups_absent", "7"},     {"groups_negative", "7"},
      {"groups_handle", "1"}, {"used_after_destroy", "1"}};
  EXPECT_GT(run.count("call"), 30u);
  for (const OutputRow& row : run.of("call"))
    for (const auto& [name, value] : row.fields) {
      const auto it = expected.find(name);
      EXPECT_EQ(value, it != expected.end() ? it->second : "0") << name;
    }
}

TEST(Cublas, CopiesNeedARuntime) {
  EXPECT_NE(families().output.find("result copied 1-3\n"), std::string::npos);
  const RunResult without = simulate("--quiet --devices 1", "blas_app");
  EXPECT_EQ(status(without, "set_vector"), "15") << without.output;
  EXPECT_EQ(status(without, "get_matrix_64"), "15");
  EXPECT_EQ(status(without, "set_nothing"), "0");
}

TEST(Cublas, HostResultsAreThoseOfZeros) {
  const RunResult run = families();
  EXPECT_NE(run.output.find("result dot 0\n"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("result nrm2 0\n"), std::string::npos);
  EXPECT_NE(run.output.find("result amax 1\n"), std::string::npos);
  EXPECT_NE(run.output.find("result info 0\n"), std::string::npos);
  EXPECT_NE(run.output.find("result rows 30 written 8\n"), std::string::npos);
}

TEST(Cublas, EveryProductIsOneNamedKernelOfItsType) {
  const RunResult run = families();
  for (const char* name :
       {"ampere_sgemm_", "nvjet_hsh_", "nvjet_tst_", "f64f64_f64f64_f64_nt", "ampere_cgemm_",
        "tf32f32_f32_tn", "i8i32_i8i32_i32_tn", "_bias_TNT", "_gelubias_TNT", "nvjet_qqtst_",
        "gemv2T_kernel_val", "axpy_kernel_val", "trsm_left_kernel", "getrf_batched_kernel"})
    EXPECT_TRUE(has(run, name)) << name << "\n" << kernels(run);
}

TEST(Cublas, ShapesChooseTilesAndATallSumIsSplit) {
  const RunResult run = families();
  std::set<std::string> half;
  std::size_t reduces = 0;
  for (const OutputRow& row : run.operations("kernel")) {
    if (row.text("name").rfind("nvjet_hsh_", 0) == 0) half.insert(row.text("name"));
    reduces += row.text("name").find("splitKreduce_kernel") != std::string::npos;
  }
  EXPECT_EQ(half.size(), 3u) << kernels(run);
  EXPECT_TRUE(has(run, "_splitK_"));
  EXPECT_EQ(reduces, 1u);
}

TEST(Cublas, AnEmptyProductLaunchesNothingAndABatchIsOneGrid) {
  const RunResult run = families();
  std::size_t batched = 0;
  for (const OutputRow& row : run.operations("kernel"))
    batched +=
        row.text("grid").size() > 3 && row.text("grid").rfind(",12") == row.text("grid").size() - 3;
  EXPECT_EQ(batched, 1u) << kernels(run);
  EXPECT_EQ(status(run, "empty"), "0");
}

TEST(Cublas, ModelsDiffer) {
  const RunResult ampere = families("--model a100");
  EXPECT_TRUE(has(ampere, "ampere_fp16_s16816gemm_fp16_")) << kernels(ampere);
  EXPECT_EQ(status(ampere, "lt_fp8"), "15");
  EXPECT_NE(ampere.output.find("heuristic lt_fp8 status 15 count 0"), std::string::npos);
  const RunResult volta = families("--model v100");
  EXPECT_TRUE(has(volta, "volta_fp16_s884gemm_fp16_")) << kernels(volta);
  EXPECT_FALSE(has(volta, "ampere_"));
}

TEST(Cublas, EveryLaunchIsARuntimeCallOfItsOwn) {
  const RunResult run = families();
  std::set<std::string> correlations;
  for (const OutputRow& row : run.truth)
    if (row.type == "api" && row.text("name") == "cudaLaunchKernelExC")
      correlations.insert(row.text("corr"));
  for (const OutputRow& row : run.operations("kernel"))
    EXPECT_EQ(correlations.count(row.text("corr")), 1u) << row.text("name");
  EXPECT_EQ(correlations.size(), run.operations("kernel").size());
}

TEST(Cublas, MangledNamesDemangle) {
  const std::string file = simtest::scratch_path("names.txt");
  std::string mangled;
  const RunResult run = families();
  for (const OutputRow& row : run.operations("kernel"))
    if (row.text("name").rfind("_Z", 0) == 0) mangled += row.text("name") + " ";
  const RunResult filtered = run_shell("printf '%s\\n' " + mangled + "| c++filt");
  EXPECT_GT(filtered.rows.size(), 8u);
  EXPECT_EQ(filtered.output.find("_Z"), std::string::npos) << filtered.output;
}

TEST(Cublas, WhatIsMissingIsRefusedByName) {
  const std::string files[] = {GPUSIM_CUBLAS_REFUSALS, GPUSIM_CUBLASLT_REFUSALS};
  for (const std::string& file : files) {
    const RunResult run = simulate("--quiet --pytorch yes", "blas_app refused " + file);
    ASSERT_EQ(run.exit_code, 0) << run.output;
    EXPECT_GT(run.count("refused"), 100u);
    for (const OutputRow& row : run.of("refused"))
      for (const auto& [name, value] : row.fields) EXPECT_EQ(value, "15") << name;
    std::size_t logged = 0;
    for (const OutputRow& row : run.truth) logged += row.type == "refused";
    EXPECT_EQ(logged, run.count("refused"));
  }
}

TEST(Cublas, LibrariesAreNamedAndMarkedAndRunNothingAtTheEnd) {
  for (const char* name : {"cublas", "cublasLt"}) {
    const std::string file = simtest::library_folder() + "/gpusim_" + name + ".so";
    const std::string soname = std::string("lib") + name + ".so.13";
    const std::string symbols = run_shell("nm -D " + file).output;
    const std::string dynamic = run_shell("readelf -d " + file).output;
    EXPECT_NE(dynamic.find("[" + soname + "]"), std::string::npos);
    EXPECT_EQ(dynamic.find("libstdc++"), std::string::npos);
    EXPECT_NE(symbols.find("gpuprof_simulated_gpu"), std::string::npos);
    EXPECT_EQ(symbols.find("__cxa_thread_atexit"), std::string::npos);
    EXPECT_NE(symbols.find("@@" + soname), std::string::npos);
  }
}

}  // namespace
