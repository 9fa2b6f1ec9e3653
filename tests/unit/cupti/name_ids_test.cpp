// SPDX-License-Identifier: Apache-2.0
//
// Names of functions and kernels.
//
// Context:  tests
#include "inject/cupti/activity/name_ids.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "inject/cupti/callbacks/kernel_steps.hpp"
#include "inject/hot/steps.hpp"
#include "tests/fakes/in_process_segment.hpp"

namespace gpuprof::cupti {
namespace {

std::string bare(const char* name) {
  const TextView text = strip_api_suffix(name);
  return {text.data, text.bytes};
}
std::string source(const char* mangled) {
  char buffer[256];
  return {buffer, qualified_name(mangled, static_cast<std::uint32_t>(std::strlen(mangled)), buffer,
                                 sizeof buffer)};
}

TEST(ApiNames, LoseVersionAndStreamSuffix) {
  EXPECT_EQ(bare("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(bare("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
  EXPECT_EQ(bare("cudaMemcpy_ptds_v7000"), "cudaMemcpy");
  EXPECT_EQ(bare("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
  EXPECT_EQ(bare("cuMemAlloc_v2"), "cuMemAlloc");
  EXPECT_EQ(bare("cuLaunchKernel"), "cuLaunchKernel");
  EXPECT_EQ(bare("cuMemsetD32"), "cuMemsetD32");
  EXPECT_EQ(bare("cudaMemcpy3D_v3020"), "cudaMemcpy3D");
  EXPECT_EQ(bare("_v2"), "_v2");
  EXPECT_EQ(bare(""), "");
}

TEST(SourceNames, AreQualifiedAndEndAtTemplateArguments) {
  EXPECT_EQ(source("_Z9my_kernelPfi"), "my_kernel");
  EXPECT_EQ(source("_ZN2at6native29vectorized_elementwise_kernelILi4EEEvT_"),
            "at::native::vectorized_elementwise_kernel");
  EXPECT_EQ(source("_ZN12_GLOBAL__N_1L6kernelEv"), "_GLOBAL__N_1::kernel");
  EXPECT_EQ(source("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(source("_ZNSt6thread3runEv"), "thread::run");
  EXPECT_EQ(source("_Z"), "_Z");
  EXPECT_EQ(source("_Z99short"), "");
  EXPECT_EQ(source("_Z99999999999999999999x"), "");
}

class KernelSteps : public ::testing::Test {
 protected:
  void SetUp() override {
    segment_.plan().mode.store(static_cast<std::uint32_t>(wire::AgentState::kCounting));
    segment_.plan().on_step.store(wire::kNever);
  }
  void launch(const char* name, int times = 1) {
    for (int i = 0; i < times; ++i) {
      const hot::Guard guard(hot::RingRole::kCallback);
      ASSERT_TRUE(guard);
      on_kernel_launch(guard, name, 1);
    }
  }
  fakes::InProcessSegment segment_;
};

TEST_F(KernelSteps, LaunchesBeforeTheAnswerAreMarksForTheDaemonToNumber) {
  ASSERT_TRUE(set_expression("^fused_.*"));
  launch("fused_add", 3);
  EXPECT_EQ(segment_.all<wire::UnmatchedLaunch>().size(), 3u);
  match_pending(2);
  ASSERT_EQ(segment_.all<wire::KernelNameMatch>().size(), 1u);
  EXPECT_EQ(segment_.all<wire::KernelNameMatch>()[0].body.matched, 1u);
  EXPECT_EQ(segment_.text(segment_.all<wire::KernelNameMatch>()[0].body.name_id), "fused_add");
  launch("fused_add", 2);
  ASSERT_EQ(segment_.all<wire::StepMark>().size(), 2u);
  EXPECT_EQ(segment_.all<wire::StepMark>()[0].body.number, 0u) << "marks are not counted here";
}

TEST_F(KernelSteps, NamesThatDoNotMatchCostNothingMore) {
  ASSERT_TRUE(set_expression("optimizer"));
  launch("other", 2);
  match_pending(2);
  segment_.discard_records();
  launch("other", 5);
  EXPECT_TRUE(segment_.all<wire::UnmatchedLaunch>().empty());
  EXPECT_TRUE(segment_.all<wire::StepMark>().empty());
}

TEST_F(KernelSteps, TheLastPartOfAMangledNameMayBeMeant) {
  ASSERT_TRUE(set_expression("^adam_kernel$"));
  launch("_ZN2at6native11adam_kernelIfEEvPT_");
  match_pending(2);
  EXPECT_EQ(segment_.all<wire::KernelNameMatch>()[0].body.matched, 1u);
}

TEST_F(KernelSteps, AWrongExpressionLeavesTheOldOneAlone) {
  ASSERT_TRUE(set_expression("good"));
  EXPECT_FALSE(set_expression("bad(["));
  launch("good");
  match_pending(2);
  EXPECT_EQ(segment_.all<wire::KernelNameMatch>()[0].body.matched, 1u);
}

TEST_F(KernelSteps, ANewExpressionAsksAgain) {
  ASSERT_TRUE(set_expression("alpha"));
  launch("beta_kernel");
  match_pending(2);
  ASSERT_TRUE(set_expression("beta"));
  launch("beta_kernel");
  match_pending(3);
  ASSERT_EQ(segment_.all<wire::KernelNameMatch>().size(), 2u);
  EXPECT_EQ(segment_.all<wire::KernelNameMatch>()[1].body.matched, 1u);
}

TEST_F(KernelSteps, MoreNewNamesThanPlacesAreAskedAboutLater) {
  ASSERT_TRUE(set_expression("name_99_"));
  for (int i = 0; i < 100; ++i) launch(("name_" + std::to_string(i) + "_").c_str());
  match_pending(2);
  EXPECT_EQ(segment_.all<wire::KernelNameMatch>().size(), kWaitingNames);
  for (int i = 0; i < 100; ++i) launch(("name_" + std::to_string(i) + "_").c_str());
  match_pending(3);
  EXPECT_EQ(segment_.all<wire::KernelNameMatch>().size(), 100u);
}

TEST(KernelNamesCache, SendsATextThatFoundNoRoomWithTheNextRecord) {
  fakes::InProcessSegment segment(1, 0);
  const hot::Guard guard(hot::RingRole::kCallback);
  ASSERT_TRUE(guard);
  KernelNames names;
  EXPECT_EQ(names.id_of(guard, nullptr, 1), 0u);
  // Nobody reads: fill the ring buffer until something is lost.
  while (hot::record(guard, wire::RangePop{1, 0, 0}, 1)) {
  }
  const std::uint64_t id = names.id_of(guard, "kernel", 1);
  segment.discard_records();
  EXPECT_EQ(names.id_of(guard, "kernel", 2), id);
  EXPECT_EQ(segment.text(id), "kernel");
}

}  // namespace
}  // namespace gpuprof::cupti
