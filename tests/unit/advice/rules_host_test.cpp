// SPDX-License-Identifier: Apache-2.0
//
// Waits, loading, time between operators, first steps, a thread without a processor.
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

class HostRules : public test::StepThreadTest {
 protected:
  /// Operators that fill a step but for what a test puts in.
  void work(std::size_t step, std::uint64_t from_us, std::uint64_t to_us, int at_line) {
    op("aten::conv2d", at(step, from_us), to_us - from_us, line(at_line));
  }
};

TEST_F(HostRules, AskingForAValueInEachStepIsNamedWithItsLineAndShare) {
  steps(4);
  for (std::size_t i = 0; i < 4; ++i) {
    work(i, 0, 8000, 11);
    StepThreadOp& item = op("aten::item", at(i, 8000), 1000, line(12));
    item.wait_ns = 900 * kUs;
    item.wait_ops = 1;
  }
  EXPECT_THAT(run_rule(sync_in_loop), ElementsAre(AllOf(Names(kSyncInLoop, 12), Share(0.1))));
}

TEST_F(HostRules, AskingForAValueThatNeedsNoWaitIsNoAdvice) {
  steps(4);
  for (std::size_t i = 0; i < 4; ++i) {
    work(i, 0, 8000, 11);
    op("aten::item", at(i, 8000), 1000, line(12));
  }
  EXPECT_THAT(run_rule(sync_in_loop), IsEmpty());
}

TEST_F(HostRules, AWaitNowAndThenIsNoAdvice) {
  steps(50);
  StepThreadOp& item = op("aten::item", at(7, 8000), 1000, line(12));
  item.wait_ns = 900 * kUs;
  item.wait_ops = 1;
  EXPECT_THAT(run_rule(sync_in_loop), IsEmpty());
}

TEST_F(HostRules, WaitsOfAPackageAreToldFromOnePercentOn) {
  steps(4);
  for (std::size_t i = 0; i < 4; ++i) {
    StepThreadOp& small =
        op("aten::item", at(i, 1000), 50, inside("torch/amp/scaler.py", "step", 20));
    small.wait_ops = 1;
    StepThreadOp& large =
        op("aten::item", at(i, 2000), 500, inside("torch/amp/scaler.py", "update", 21));
    large.wait_ops = 1;
  }
  EXPECT_THAT(run_rule(sync_in_loop), ElementsAre(AllOf(Names(kSyncInLoop, 21), Share(0.05))));
}

TEST_F(HostRules, ASynchronisationOutsideOfOperatorsIsNamed) {
  steps(4);
  for (std::size_t i = 0; i < 4; ++i)
    step_thread.waits.push_back(
        {at(i, 3000), at(i, 5000), name("cudaDeviceSynchronize"), line(14)});
  const auto found = run_rule(sync_in_loop);
  ASSERT_THAT(found, ElementsAre(AllOf(Names(kSyncInLoop, 14), Share(0.2))));
  EXPECT_THAT(found[0].suggestion, HasSubstr("Remove the synchronisation from the loop"));
}

TEST_F(HostRules, ACopyFromPageableMemoryIsAnAdviceOfItsOwn) {
  steps(4);
  analysis.stack_table.frames.push_back(
      {"/job/train.py(12): train", "train", "/job/train.py", 12, true, true});
  CopyRow copy;
  copy.name = "Memcpy HtoD (Pageable -> Device)";
  copy.line = 1;
  copy.pageable = true;
  copy.bytes = 4'000'000;
  analysis.gpu.copies.push_back(copy);
  for (std::size_t i = 0; i < 4; ++i) op("aten::to", at(i, 0), 1000, line(12)).wait_ops = 1;
  EXPECT_THAT(run_rule(sync_in_loop), IsEmpty());
  EXPECT_THAT(run_rule(pageable_copy), ElementsAre(AllOf(Names(kPageableCopy, 12), Share(0.1))));
}

TEST_F(HostRules, TimeBetweenOperatorsIsNamedByTheLineBetweenTheirs) {
  steps(4);
  for (std::size_t i = 0; i < 4; ++i) {
    work(i, 0, 8000, 11);
    work(i, 9000, 10000, 13);
  }
  EXPECT_THAT(run_rule(host_code), ElementsAre(AllOf(Names(kHostCode, 12), Share(0.1))));
}

TEST_F(HostRules, SamplesKnowTheLineBetter) {
  steps(4);
  for (std::size_t i = 0; i < 4; ++i) {
    work(i, 0, 8000, 11);
    work(i, 9000, 10000, 20);
    step_thread.samples.push_back({at(i, 8500), 0, line(17), true});
  }
  const auto found = run_rule(host_code);
  ASSERT_THAT(found, ElementsAre(Names(kHostCode, 17)));
  EXPECT_EQ(found[0].line_source, "samples");
}

TEST_F(HostRules, OneLongGapIsNoAdvice) {
  steps(20);
  for (std::size_t i = 0; i < 20; ++i) {
    work(i, 0, 5000, 11);
    work(i, i == 3 ? 9900 : 5020, 10000, 13);
  }
  EXPECT_THAT(run_rule(host_code), IsEmpty());
}

TEST_F(HostRules, WaitingForTheBackwardPassOfAnotherThreadIsNoTimeOfTheProgram) {
  steps(4);
  for (std::size_t i = 0; i < 4; ++i) {
    work(i, 0, 5000, 11);
    step_thread.backward.push_back({at(i, 5010), at(i, 8990), 3});
    work(i, 9000, 10000, 13);
  }
  EXPECT_THAT(run_rule(host_code), IsEmpty());
}

TEST_F(HostRules, WaitingInACollectiveIsNoTimeOfTheProgram) {
  steps(4);
  for (std::size_t i = 0; i < 4; ++i) {
    work(i, 0, 5000, 11);
    step_thread.collectives.push_back({at(i, 5000), at(i, 9000)});
    work(i, 9000, 10000, 13);
  }
  EXPECT_THAT(run_rule(host_code), IsEmpty());
}

TEST_F(HostRules, BatchesMadeByTheThreadItselfAreNamed) {
  steps(6);
  for (std::size_t i = 0; i < 6; ++i) {
    op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at(i, 0), 1000, line(10))
        .kind = StepThreadOpKind::kLoader;
    work(i, 1000, 10000, 11);
  }
  EXPECT_THAT(run_rule(data_loading), ElementsAre(AllOf(Names(kDataLoading, 10), Share(0.1))));
  EXPECT_THAT(run_rule(loader_workers), IsEmpty());
}

TEST_F(HostRules, WorkersThatKeepUpAreNoAdviceThoughTheyTakeTimeToStart) {
  steps(30);
  for (std::size_t i = 0; i < 30; ++i) {
    op("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at(i, 0),
       i == 0 ? 9000 : 100, line(10))
        .kind = StepThreadOpKind::kLoader;
    work(i, 9000, 10000, 11);
  }
  EXPECT_THAT(run_rule(loader_workers), IsEmpty());
  for (StepThreadOp& loading : step_thread.ops)
    if (loading.kind == StepThreadOpKind::kLoader) loading.end_ns = loading.start_ns + 2 * kMs;
  EXPECT_THAT(run_rule(loader_workers), ElementsAre(AllOf(Names(kLoaderWorkers, 10), Share(0.2))));
  EXPECT_THAT(run_rule(data_loading), IsEmpty());
}

TEST_F(HostRules, AFirstStepIsNamedIfSamplesSawACompiler) {
  steps(5);
  first_stands_apart();
  step_thread.warm_up[0].start_ns -= 990 * kMs;
  const std::uint32_t compiling = inside("/x/torch/_dynamo/convert_frame.py", "compile", 15);
  for (std::uint64_t i = 0; i < 9; ++i)
    step_thread.samples.push_back(
        {step_thread.warm_up[0].start_ns + i * 100 * kMs, 0, i < 6 ? compiling : line(11), false});
  const auto found = run_rule(first_step);
  ASSERT_THAT(found, ElementsAre(Names(kFirstStep, 15)));
  EXPECT_NEAR(found[0].share, 6.0 / 9, 1e-9);
  for (ThreadSample& sample : step_thread.samples) sample.stack = line(11);
  EXPECT_THAT(run_rule(first_step), IsEmpty());
}

TEST_F(HostRules, LoadingOfDeviceCodeIsACauseOfALongFirstStep) {
  steps(5);
  first_stands_apart();
  step_thread.warm_up[0].start_ns -= 90 * kMs;
  step_thread.overheads.push_back({step_thread.warm_up[0].start_ns,
                                   step_thread.warm_up[0].start_ns + 60 * kMs,
                                   name("Lazy Function Loading")});
  EXPECT_THAT(run_rule(first_step), ElementsAre(Share(0.6)));
}

TEST_F(HostRules, AThreadWithoutAProcessorIsToldOnlyWhereItsOwnProcessKeepsAllBusy) {
  steps(400);
  analysis.meta.facts["host.processors"] = "2";
  for (std::size_t i = 0; i < 200; ++i)
    step_thread.samples.push_back({at(2 * i, 5000), 10 * kMs, line(11), false});
  ThreadRow all;
  all.cpu_ns = 8'000 * kMs;
  analysis.host.threads.push_back(all);
  EXPECT_THAT(run_rule(host_starved), ElementsAre(Share(0.5)));
  analysis.host.threads[0].cpu_ns = 4'000 * kMs;
  EXPECT_THAT(run_rule(host_starved), IsEmpty());
}

}  // namespace
}  // namespace gpuprof::report::advice
