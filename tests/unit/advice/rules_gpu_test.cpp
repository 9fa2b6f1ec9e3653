// SPDX-License-Identifier: Apache-2.0
//
// Rules that look at the tables of a GPU.
#include "tests/unit/advice/story_builder.hpp"

namespace gpuprof::report::advice {
namespace {

using test::kMs;
using test::kUs;
using test::Names;
using test::Share;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class GpuRules : public test::StepThreadTest {
 protected:
  void SetUp() override {
    steps(10);
    analysis.stack_table.frames.push_back(
        {"/job/net.py(8): forward", "forward", "/job/net.py", 8, true, true});
    GpuSummary gpu;
    gpu.utilisation = gpu.utilisation_in_steps = 0.9;
    gpu.compute_major = 9;
    gpu.kernels = 1000;
    gpu.memory_bytes = 80'000'000'000;
    gpu.peak_allocated_bytes = 40'000'000'000;
    analysis.steps.gpus.push_back(gpu);
    analysis.steps.counted = 10;
  }
  KernelRow& kernel(const std::string& text, const std::string& owner, std::uint64_t count,
                    std::uint64_t total_ns) {
    KernelRow row;
    row.name = text;
    row.owner = owner;
    row.line = 1;
    row.time.count = count;
    row.time.total_ns = total_ns;
    row.time.mean_ns = static_cast<double>(total_ns) / static_cast<double>(count);
    analysis.gpu.kernels.push_back(row);
    return analysis.gpu.kernels.back();
  }
};

TEST_F(GpuRules, ABusyGpuIsNoAdvice) {
  kernel("sm90_xmma_gemm_bf16bf16_bf16f32", "aten::mm", 1000, 80 * kMs).tensor_core = true;
  for (const Rule& rule : rules()) {
    if (rule.check_process == nullptr) continue;
    EXPECT_THAT(run_rule(rule.check_process), IsEmpty()) << rule.id;
  }
}

TEST_F(GpuRules, AGpuThatIsIdleHalfOfTheTimeIsNamedWithTheLoop) {
  kernel("vectorized_elementwise_kernel", "aten::add", 1000, kMs);
  analysis.steps.gpus[0].utilisation = analysis.steps.gpus[0].utilisation_in_steps = 0.3;
  EXPECT_THAT(run_rule(gpu_idle), ElementsAre(AllOf(Names(kGpuIdle, 10), Share(0.7))));
}

TEST_F(GpuRules, WhatLiesBetweenStepsIsToldApartFromWhatLiesInThem) {
  kernel("vectorized_elementwise_kernel", "aten::add", 1000, kMs);
  analysis.steps.span_ns = 500 * kMs;
  analysis.steps.counted_ns = 100 * kMs;
  GpuSummary& gpu = analysis.steps.gpus[0];
  gpu.utilisation = 0.04;
  gpu.utilisation_in_steps = 0.2;
  const std::vector<Advice> idle = run_rule(gpu_idle);
  ASSERT_THAT(idle, ElementsAre(Share(0.8)));
  EXPECT_EQ(idle[0].share_base, "step");
  EXPECT_THAT(idle[0].finding,
              AllOf(HasSubstr("kernels for only 20.0 % of a step."),
                    HasSubstr("80.0 % of the time from the first to the last step"),
                    HasSubstr("busy for 4.0 %")));
  gpu.utilisation = 0.18;
  gpu.utilisation_in_steps = 0.9;
  const std::vector<Advice> busy = run_rule(gpu_idle);
  ASSERT_THAT(busy, ElementsAre(Share(0.82)));
  EXPECT_EQ(busy[0].share_base, "time from the first to the last step");
  EXPECT_DOUBLE_EQ(busy[0].ns_per_step * static_cast<double>(analysis.steps.counted), 410 * kMs);
  EXPECT_THAT(run_rules(std::vector{RuleInput{analysis, step_thread}})[0].finding,
              AllOf(HasSubstr("kernels for 90.0 % of a step."), HasSubstr("busy for 18.0 %")));
  analysis.steps.counted_ns = 450 * kMs;  // what is idle for half of them is still worth saying
  EXPECT_THAT(run_rule(gpu_idle)[0].finding, HasSubstr("10.0 % of the time from the first"));
  EXPECT_THAT(busy[0].suggestion, HasSubstr("between its steps"));
}

TEST_F(GpuRules, AGpuThatWaitsForLaunchesOfShortKernelsIsNamedWithTheirLine) {
  kernel("vectorized_elementwise_kernel", "aten::add", 1000, 2 * kMs);
  analysis.gpu.launches = analysis.gpu.tiny_kernels = 1000;
  analysis.gpu.launch_gap_ns = 60 * kMs;
  EXPECT_THAT(run_rule(launch_bound), IsEmpty());  // busy all the same
  analysis.steps.gpus[0].utilisation_in_steps = 0.3;
  EXPECT_THAT(run_rule(launch_bound), ElementsAre(AllOf(Names(kLaunchBound, 8), Share(0.6))));
  analysis.gpu.tiny_kernels = 400;
  EXPECT_THAT(run_rule(launch_bound), IsEmpty());
}

TEST_F(GpuRules, ProductsInSinglePrecisionAreNamedWithTheirLine) {
  kernel("ampere_sgemm_128x64_nn", "aten::mm", 100, 30 * kMs);
  kernel("void at::native::reduce_kernel<512, 1>", "aten::sum", 100, 40 * kMs);
  const auto found = run_rule(fp32_math);
  ASSERT_THAT(found, ElementsAre(AllOf(Names(kFp32Math, 8), Share(0.3))));
  EXPECT_THAT(found[0].finding, HasSubstr("without tensor cores"));
}

TEST_F(GpuRules, Tf32IsNotCalledWithoutTensorCores) {
  kernel("sm90_xmma_fprop_implicit_gemm_tf32f32_tf32f32", "aten::cudnn_convolution", 100, 30 * kMs);
  const auto found = run_rule(fp32_math);
  ASSERT_THAT(found, ElementsAre(Names(kFp32Math, 8)));
  EXPECT_THAT(found[0].finding, AllOf(HasSubstr("TF32"), Not(HasSubstr("without tensor cores"))));
}

TEST_F(GpuRules, ProductsWithSixteenBitsOrOnOldGpusAreNoAdvice) {
  kernel("sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32", "aten::cudnn_convolution", 100,
         30 * kMs);
  kernel("ampere_sgemm_128x64_nn", "aten::mm", 100, 8 * kMs);
  EXPECT_THAT(run_rule(fp32_math), IsEmpty());
  analysis.gpu.kernels.erase(analysis.gpu.kernels.begin());
  EXPECT_THAT(run_rule(fp32_math), testing::SizeIs(1));
  analysis.steps.gpus[0].compute_major = 6;
  EXPECT_THAT(run_rule(fp32_math), IsEmpty());
}

TEST_F(GpuRules, NearlyAllMemoryIsNamedWithTheLargestBlocksLine) {
  DeviceMemory memory;
  memory.device = 0;
  memory.at_peak = {{3'000'000'000, 0, "aten::empty", 0}, {2'000'000'000, 0, "aten::cat", 1}};
  analysis.memory.devices.push_back(memory);
  EXPECT_THAT(run_rule(memory_limit), IsEmpty());
  analysis.steps.gpus[0].peak_allocated_bytes = 75'000'000'000;
  const auto found = run_rule(memory_limit);
  ASSERT_THAT(found, ElementsAre(Names(kMemoryLimit, 8)));
  EXPECT_THAT(found[0].finding, HasSubstr("aten::cat"));
}

}  // namespace
}  // namespace gpuprof::report::advice
