// SPDX-License-Identifier: Apache-2.0
//
// The simulated CUPTI has what it must have: every function that gpuprof calls, every function that
// the real library exports.
//
// Context:  tests
// Owns:     nothing
// Promises: names are read from gpuprof's sources and from the built libraries
// Not here: what the functions do (delivery_test.cpp, client_test.cpp)
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "run_support.hpp"

using simtest::run_shell;
using simtest::RunResult;
using simtest::simulate;

namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

void collect(const std::string& text, const std::string& pattern, std::set<std::string>& names) {
  const std::regex expression(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it)
    names.insert((*it)[1]);
}

/// CUPTI functions that gpuprof looks up or interposes.
std::set<std::string> called_by_gpuprof() {
  std::set<std::string> names;
  collect(text_of(GPUSIM_PRODUCT "/library/api.hpp"), R"(X\((cupti\w+)\))", names);
  collect(text_of(GPUSIM_PRODUCT "/interpose/exports.txt"), R"((?:^|\n)(cupti\w+))", names);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(GPUSIM_PRODUCT))
    if (entry.is_regular_file())
      collect(text_of(entry.path()), R"(dlsym\([^;"]*"(cupti\w+)\")", names);
  return names;
}

/// Functions written by hand: the older copies export nothing else.
std::set<std::string> written_by_hand() {
  std::set<std::string> names;
  collect(
      run_shell("nm -D --defined-only " + simtest::library_folder() + "/gpusim_cupti12.so").output,
      R"( T (cupti\w+))", names);
  return names;
}

TEST(CuptiNames, EveryFunctionThatGpuprofCallsIsModelled) {
  const std::set<std::string> needed = called_by_gpuprof();
  const std::set<std::string> there = written_by_hand();
  ASSERT_GT(needed.size(), 20u) << "gpuprof's table was not found in " GPUSIM_PRODUCT;
  EXPECT_EQ(needed.count("cuptiFinalize"), 1u);
  for (const std::string& name : needed)
    EXPECT_EQ(there.count(name), 1u) << name << " is not in tests/simgpu/cupti";
}

TEST(CuptiNames, EveryFunctionOfTheRealLibraryIsExported) {
  const std::string real = GPUSIM_REAL_CUPTI;
  if (real.empty()) GTEST_SKIP() << "no PyTorch with CUDA whose libcupti could be compared";
  std::set<std::string> wanted, there;
  collect(run_shell("nm -D --defined-only " + real).output, R"( T (\w+))", wanted);
  collect(
      run_shell("nm -D --defined-only " + simtest::library_folder() + "/gpusim_cupti.so").output,
      R"( T (\w+))", there);
  ASSERT_GT(wanted.size(), 100u);
  for (const std::string& name : wanted) EXPECT_EQ(there.count(name), 1u) << name;
}

TEST(CuptiNames, AnOlderReleaseHidesWhatCameLater) {
  const RunResult run = simulate("--quiet --layout 13.0", "sim_client functions-of-13.2");
  EXPECT_NE(run.output.find("missing cuptiActivityGetStructSize"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("missing cuptiActivityEnable_v2"), std::string::npos);
  const RunResult later = simulate("--quiet --layout 13.2", "sim_client functions-of-13.2");
  EXPECT_EQ(later.output.find("missing cuptiActivityGetStructSize"), std::string::npos);
}

}  // namespace
