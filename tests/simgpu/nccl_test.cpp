// SPDX-License-Identifier: Apache-2.0
//
// The NCCL fake, seen from an ordinary program.
//
// Context:  tests
// Owns:     nothing
// Promises: checked from outside; needs the header of a PyTorch wheel
// Not here: several processes and late ranks (collective_test.cpp)
#include <gtest/gtest.h>

#include "run_support.hpp"

using simtest::OutputRow;
using simtest::RunResult;

namespace {

class Nccl : public testing::Test {
 protected:
  void SetUp() override {
    run_ = simtest::simulate("--quiet --devices 2", "nccl_app");
    ASSERT_EQ(run_.exit_code, 0) << run_.output;
  }
  RunResult run_;
};

TEST_F(Nccl, OneProcessHasSeveralRanks) {
  const std::vector<OutputRow> comms = run_.of("comm");
  ASSERT_EQ(comms.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(comms[i].number("count"), 2u);
    EXPECT_EQ(comms[i].number("rank"), i);
    EXPECT_EQ(comms[i].number("device"), i);
  }
}

TEST_F(Nccl, SmallPayloadsTravelAndAreReduced) {
  EXPECT_EQ(run_.first("average").text("first"), "4.5");
  EXPECT_EQ(run_.first("average").text("second"), "4.5");
  EXPECT_EQ(run_.first("gathered").text("own"), "2");
  EXPECT_EQ(run_.first("gathered").text("other"), "1");
  EXPECT_EQ(run_.first("received").text("first"), "2");
  EXPECT_EQ(run_.first("received").text("second"), "1");
}

TEST_F(Nccl, EveryRankLaunchesOneKernelThatEndsWithTheOthers) {
  const std::vector<OutputRow> kernels = run_.operations("kernel");
  ASSERT_EQ(kernels.size(), 6u);
  std::map<std::string, std::vector<std::uint64_t>> ends;
  for (const OutputRow& k : kernels) ends[k.text("name")].push_back(k.number("end"));
  ASSERT_EQ(ends.size(), 3u);
  for (const auto& [name, times] : ends) {
    ASSERT_EQ(times.size(), 2u) << name;
    EXPECT_EQ(times[0], times[1]) << name;
    EXPECT_NE(name.find("ncclDevKernel_"), std::string::npos);
  }
}

TEST_F(Nccl, MistakesAndMissingFunctionsAreSaid) {
  EXPECT_EQ(run_.first("mistake").number("root"), 4u);  // ncclInvalidArgument
  EXPECT_EQ(run_.first("mistake").number("end"), 5u);   // ncclInvalidUsage
  EXPECT_EQ(run_.first("split").number("result"), 5u);
  EXPECT_EQ(run_.first("split").number("end"), 0u);
  EXPECT_NE(run_.output.find("said simulated GPU (gpuprof): the root is no rank"),
            std::string::npos);
  EXPECT_EQ(run_.first("refused").number("code"), 5u);
  EXPECT_EQ(run_.first("destroyed").number("again"), 4u);
}

}  // namespace
