// SPDX-License-Identifier: Apache-2.0
//
// Steps: categories, GPU summary and what is left out, as TensorBoard's PyTorch plugin has them.
#include "analysis/report/aggregation/step_tables.hpp"

#include "tests/unit/report/report_fixture.hpp"

namespace gpuprof::report {
namespace {

using test::ReportTest;
using testing::DoubleNear;
using testing::ElementsAre;

constexpr std::uint64_t kUs = 1000;

class StepsTest : public ReportTest {
 protected:
  /// Two steps with a loader, matrix products and all-reduces; the plugin's own figures for it are
  /// known.
  void record_example() {
    record([](model::EventSink& to) {
      const char* const names[] = {"",
                                   "NVIDIA H200",
                                   "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                                   "aten::linear",
                                   "nccl:all_reduce",
                                   "aten::mm",
                                   "sm80_xmma_gemm_f32f32_tn_n",
                                   "ncclDevKernel_AllReduce_Sum_f32_RING_LL"};
      for (model::StringId i = 1; i < std::size(names); ++i) to.on(model::StringDef{i, names[i]});
      model::Device device{};
      device.name = 1;
      device.sm_count = 132;
      device.warp_size = 32;
      device.max_threads_per_block = 1024;
      device.max_threads_per_sm = 2048;
      device.max_blocks_per_sm = 32;
      device.registers_per_sm = device.registers_per_block = 65536;
      device.shared_per_sm_bytes = 233472;
      device.shared_per_block_bytes = 49152;
      device.shared_per_block_optin_bytes = 232448;
      device.compute_major = 9;
      to.on(device);
      to.on(step(1, 10, 400));
      to.on(step(2, 400, 700));
      model::Operator loader = op(2, 2, 15, 50), reduce = op(4, 4, 230, 255),
                      second = op(7, 4, 500, 525);
      loader.scope = reduce.scope = second.scope = model::kScopeUser;
      to.on(loader);
      to.on(call(1001, 80, 90, 3));
      to.on(op(3, 3, 60, 170));
      to.on(call(1002, 240, 250, 4));
      to.on(reduce);
      to.on(call(1003, 430, 440, 6));
      to.on(op(6, 5, 420, 480));
      to.on(call(1004, 510, 520, 7));
      to.on(second);
      const auto gemm = [&](std::uint32_t correlation, std::uint64_t from, std::uint64_t until,
                            model::RangeId of, bool talks) {
        model::Kernel k = kernel(correlation, from, until, of);
        k.name = talks ? 7 : 6;
        k.grid = {talks ? 16u : 66u, 1, 1};
        k.block = {talks ? 512u : 128u, 1, 1};
        k.registers = talks ? 96 : 64;
        to.on(k);
      };
      gemm(1001, 100, 180, 3, false);
      gemm(1002, 260, 320, 4, true);
      gemm(1003, 450, 550, 6, false);
      gemm(1004, 530, 620, 7, true);
    });
  }
};

TEST_F(StepsTest, CategoriesAreThePlugins) {
  record_example();
  const ProcessReport a = analysis();
  ASSERT_EQ(2u, a.steps.steps.size());
  EXPECT_EQ(2u, a.steps.counted);
  EXPECT_THAT(a.steps.steps[0].time,
              ElementsAre(80 * kUs, 0, 0, 85 * kUs, 10 * kUs, 35 * kUs, 30 * kUs, 150 * kUs));
  EXPECT_THAT(a.steps.steps[1].time,
              ElementsAre(100 * kUs, 0, 0, 70 * kUs, 10 * kUs, 0, 20 * kUs, 100 * kUs));
  EXPECT_DOUBLE_EQ(345'000, a.steps.length.mean_ns);
  EXPECT_EQ(140 * kUs, a.steps.steps[0].gpu_busy_ns);
  EXPECT_EQ(2u, a.steps.steps[0].kernels);
}

TEST_F(StepsTest, ACopyFromHostToHostIsNoWorkOfTheGpu) {
  record([](model::EventSink& to) {
    to.on(kernel(0, 10, 50));
    model::MemCopy copy{};
    copy.start_ns = kStart + 40'000;
    copy.end_ns = kStart + 90'000;
    copy.copy_kind = 9;
    to.on(copy);
  });
  const ProcessReport a = analysis();
  EXPECT_EQ(40 * kUs, a.steps.steps[0].gpu_busy_ns);
  EXPECT_EQ(0u, a.steps.steps[0].time[static_cast<std::size_t>(Category::kMemcpy)]);
}

TEST_F(StepsTest, GpuSummaryIsThePlugins) {
  record_example();
  const ProcessReport a = analysis();
  ASSERT_EQ(1u, a.steps.gpus.size());
  const GpuSummary& gpu = a.steps.gpus[0];
  EXPECT_EQ("NVIDIA H200", gpu.name);
  EXPECT_THAT(gpu.utilisation * 100, DoubleNear(44.93, 0.005));
  // 180 us of 66 blocks and 150 us of 16 blocks on 132 multiprocessors, in 690 us.
  EXPECT_THAT(gpu.sm_efficiency * 100, DoubleNear(15.6785, 0.0001));
  EXPECT_THAT(gpu.occupancy_percent, DoubleNear(3.0, 0.05));
  EXPECT_DOUBLE_EQ(1, gpu.tensor_core_share);
}

TEST_F(StepsTest, AStepLastsUntilItsGpuWorkHasEnded) {
  record([](model::EventSink& to) {
    to.on(step(0, 10, 100));
    to.on(call(1, 20, 25));
    to.on(step(1, 100, 200));
    to.on(call(2, 110, 115));
    to.on(kernel(1, 50, 130));
    to.on(kernel(2, 130, 180));
  });
  const ProcessReport a = analysis();
  EXPECT_EQ(kStart + 130 * kUs, a.steps.steps[0].end_ns);
  EXPECT_EQ(kStart + 130 * kUs, a.steps.steps[1].start_ns);
  EXPECT_EQ(120 * kUs, a.steps.steps[0].length_ns());
  EXPECT_EQ(70 * kUs, a.steps.steps[1].length_ns());
}

TEST_F(StepsTest, ATornLastStepIsNotCounted) {
  record([](model::EventSink& to) {
    std::uint32_t correlation = 0;
    for (std::uint64_t i = 0; i < 3; ++i) {
      to.on(step(i, i * 100, i * 100 + 100));
      const int launches = i == 2 ? 1 : 3;
      for (int n = 0; n < launches; ++n) {
        to.on(call(++correlation, i * 100 + 10, i * 100 + 12));
        to.on(kernel(correlation, i * 100 + 20, i * 100 + 30));
      }
    }
  });
  const ProcessReport a = analysis();
  EXPECT_EQ(2u, a.steps.counted);
  EXPECT_FALSE(a.steps.steps[2].is_counted);
  EXPECT_DOUBLE_EQ(100'000, a.steps.length.mean_ns);
}

TEST_F(StepsTest, WaitsAndMemoryBelongToTheStepTheyAreIn) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "cudaStreamSynchronize"});
    to.on(step(0, 0, 100));
    to.on(step(1, 100, 200));
    model::ApiCall wait = call(1, 120, 150);
    wait.name = 1;
    to.on(wait);
    to.on(allocation(110, 1000, 1, 5000, 0));
    to.on(allocation(160, -1000, 1, 4000, 0));
  });
  const ProcessReport a = analysis();
  EXPECT_EQ(0u, a.steps.steps[0].waits);
  EXPECT_EQ(1u, a.steps.steps[1].waits);
  EXPECT_EQ(30 * kUs, a.steps.steps[1].wait_ns);
  EXPECT_EQ(5000u, a.steps.steps[1].peak_gpu_bytes);
  EXPECT_EQ(1u, a.steps.steps[1].allocations);
}

TEST_F(StepsTest, WithoutStepsThereIsOneAroundEverything) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::mm"});
    to.on(op(1, 1, 10, 60));
  });
  const ProcessReport a = analysis();
  ASSERT_EQ(1u, a.steps.steps.size());
  EXPECT_TRUE(a.steps.is_synthetic);
  EXPECT_EQ(50 * kUs, a.steps.steps[0].length_ns());
}

TEST_F(StepsTest, AWindowWithoutStepsIsNoneWhereOthersHaveSome) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::mm"});
    to.on(step(0, 10, 100));
    to.on(op(1, 1, 10, 60));
    to.on(op(2, 1, 1'500, 1'600));
  });
  model::Window second = window_;
  second.index = 1;
  second.start_ns = window_.end_ns;
  second.end_ns = window_.end_ns + 1'000'000;
  const auto a = analyze_process(session_, session_.processes.at(0), {window_, second}, {});
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(1u, a.value().steps.steps.size());
  EXPECT_FALSE(a.value().steps.is_synthetic);
  EXPECT_EQ(2u, a.value().meta.windows.size());
  EXPECT_THAT(a.value().meta.missing, testing::Contains(testing::HasSubstr("(1 of 2 windows)")));
}

}  // namespace
}  // namespace gpuprof::report
