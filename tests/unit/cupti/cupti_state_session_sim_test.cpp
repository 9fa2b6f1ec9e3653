// SPDX-License-Identifier: Apache-2.0
//
// The whole component against the simulated GPU, in one process. Run under gpusim-run; each case is
// a process of its own, because CUPTI's state is.
//
// Context:  tests
#include <dlfcn.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <vector>

#include "sim_fixture.hpp"

namespace gpuprof::cupti {
namespace {

using namespace std::chrono_literals;
using wire::Counter;

class SimSession : public SimTest {};

TEST_F(SimSession, RecordsKernelsCopiesSetsAndTheirCallsWithOneCorrelationEach) {
  program();
  start_recording();
  program().launch(100);
  program().copy();
  program().set();
  finish();

  const auto kernels = segment_.all<wire::KernelExec>();
  ASSERT_EQ(kernels.size(), 100u);
  EXPECT_EQ(segment_.text(kernels[0].body.name_id), "_ZN3sim5firstEPfi");
  EXPECT_EQ(kernels[0].body.grid_x, 64u);
  EXPECT_EQ(kernels[0].body.grid_y, 2u);
  EXPECT_EQ(kernels[0].body.block_x, 128u);
  EXPECT_EQ(kernels[0].body.dynamic_shared_bytes, 256u);
  EXPECT_LT(kernels[0].body.start_ns, kernels[0].body.end_ns);

  std::set<std::uint32_t> calls, launches;
  for (const auto& call : segment_.all<wire::ApiCall>())
    if (segment_.text(call.body.name_id) == "cuLaunchKernel") calls.insert(call.body.correlation);
  for (const auto& launch : segment_.all<wire::Launch>()) {
    launches.insert(launch.body.correlation);
    EXPECT_EQ(launch.body.stack_id, 4711u);
    EXPECT_EQ(launch.body.tid, static_cast<std::uint32_t>(gettid()));
  }
  for (const auto& kernel : kernels) {
    EXPECT_TRUE(calls.contains(kernel.body.correlation));
    EXPECT_TRUE(launches.contains(kernel.body.correlation));
  }
  ASSERT_EQ(segment_.all<wire::MemCopy>().size(), 1u);
  EXPECT_EQ(segment_.all<wire::MemCopy>()[0].body.bytes, SimProgram::kBytes);
  ASSERT_EQ(segment_.all<wire::MemSet>().size(), 1u);
  EXPECT_GE(segment_.all<wire::Sync>().size(), 1u);
  EXPECT_EQ(segment_.counter(Counter::kDroppedRingFull), 0u);
}

TEST_F(SimSession, SaysWhichCuptiItUsesAndThatTheGpuIsSimulated) {
  program();
  start_recording();
  run_worker_tick();
  EXPECT_EQ(fakes::g_facts["simulated"], "true");
  EXPECT_NE(fakes::g_facts["cupti_version"], "");
  EXPECT_NE(fakes::g_facts["cupti_path"], "");
}

TEST_F(SimSession, DescribesDevicesFromDriverAttributes) {
  program();
  start_recording();
  run_worker_tick();
  const auto devices = segment_.all<wire::DeviceInfo>();
  ASSERT_FALSE(devices.empty());
  EXPECT_NE(segment_.text(devices[0].body.name_id).find("Simulated GPU"), std::string::npos);
  EXPECT_GT(devices[0].body.sm_count, 0u);
  EXPECT_EQ(devices[0].body.warp_size, 32u);
  EXPECT_GT(devices[0].body.total_memory_bytes, 0u);
  EXPECT_GT(devices[0].body.max_threads_per_sm, 0u);
}

TEST_F(SimSession, OwnDeviceQueriesAreNotRecorded) {
  program();
  start_recording();
  run_worker_tick(3);
  finish();
  for (const auto& call : segment_.all<wire::ApiCall>())
    EXPECT_EQ(call.body.tid, static_cast<std::uint32_t>(gettid()))
        << segment_.text(call.body.name_id);
}

TEST_F(SimSession, ClockPairsStandBeforeAndAfterEachFlush) {
  program();
  start_recording();
  program().launch(4);
  finish();
  const auto clocks = segment_.all<wire::ClockSync>();
  ASSERT_GE(clocks.size(), 2u);
  EXPECT_NE(clocks[0].body.cupti_ns, 0u);
  EXPECT_EQ(clocks[0].body.flags, 0u);
  EXPECT_LT(clocks.front().body.mono_ns, clocks.back().body.mono_ns);
}

TEST_F(SimSession, OffGivesTheSlotBack) {
  program();
  start_recording();
  program().launch(4);
  program().wait();
  set_mode(Mode::kOff, settings_);
  hot::g_state.on.store(0);

  // A client of its own can have the slot now.
  void* cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (cupti == nullptr) cupti = dlopen("libcupti.so.12", RTLD_NOW | RTLD_NOLOAD);
  if (cupti == nullptr) cupti = dlopen("libcupti.so.11.8", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(cupti, nullptr);
  const auto subscribe =
      reinterpret_cast<int (*)(void**, void (*)(), void*)>(dlsym(cupti, "cuptiSubscribe"));
  void* handle = nullptr;
  EXPECT_EQ(subscribe(
                &handle, [] {}, nullptr),
            0);
}

TEST_F(SimSession, RecordsOfTheWindowStillComeAfterItsEnd) {
  program();
  start_recording();
  program().launch(50);
  set_mode(Mode::kOff, settings_);
  program().wait();
  EXPECT_TRUE(flush(true, kTimeoutMs));
  EXPECT_EQ(segment_.all<wire::KernelExec>().size(), 50u);
}

TEST_F(SimSession, ASecondWindowRecordsAgain) {
  program();
  for (int window = 0; window < 3; ++window) {
    start_recording();
    program().launch(20);
    program().wait();
    set_mode(Mode::kOff, settings_);
    EXPECT_TRUE(flush(true, kTimeoutMs));
  }
  EXPECT_EQ(segment_.all<wire::KernelExec>().size(), 60u);
}

TEST_F(SimSession, GraphNodesCarryTheLaunchesCorrelation) {
  program();
  start_recording();
  program().graph(5, 3);
  finish();
  std::set<std::uint32_t> correlations;
  std::set<std::uint64_t> nodes;
  for (const auto& kernel : segment_.all<wire::KernelExec>()) {
    correlations.insert(kernel.body.correlation);
    nodes.insert(kernel.body.graph_node);
  }
  EXPECT_EQ(segment_.all<wire::KernelExec>().size(), 15u);
  EXPECT_EQ(correlations.size(), 3u);
  EXPECT_EQ(nodes.size(), 5u);
}

TEST_F(SimSession, GraphModeGivesOneRecordPerLaunch) {
  program();
  settings_.graph_nodes = false;
  start_recording();
  program().graph(5, 3);
  finish();
  EXPECT_EQ(segment_.all<wire::GraphExec>().size(), 3u);
  EXPECT_EQ(segment_.all<wire::KernelExec>().size(), 0u);
}

TEST_F(SimSession, KernelStepsCountWithoutAnyRecord) {
  program();
  ASSERT_TRUE(set_step_expression("sim::second"));
  segment_.plan().mode.store(static_cast<std::uint32_t>(wire::AgentState::kCounting));
  segment_.plan().on_step.store(wire::kNever);
  hot::g_state.on.store(hot::kOnKernelSteps);
  set_mode(Mode::kKernelSteps, settings_);
  program().launch(10);
  run_worker_tick();  // the worker answers for both names
  program().launch(10);
  program().wait();
  run_worker_tick();

  const auto marks = segment_.all<wire::UnmatchedLaunch>();
  EXPECT_EQ(marks.size(), 10u);  // both names, until answered
  const auto answers = segment_.all<wire::KernelNameMatch>();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_NE(answers[0].body.matched, answers[1].body.matched);
  EXPECT_EQ(segment_.all<wire::StepMark>().size(), 5u);
  EXPECT_EQ(hot::g_state.stats->steps.load(), 5u);
  EXPECT_EQ(segment_.all<wire::KernelExec>().size(), 0u);
  EXPECT_EQ(segment_.all<wire::Launch>().size(), 0u);
}

TEST_F(SimSession, GraphStepsHearOfGraphsAlone) {
  program();
  segment_.plan().mode.store(static_cast<std::uint32_t>(wire::AgentState::kCounting));
  hot::g_state.on.store(hot::kOnOpSteps);
  set_mode(Mode::kGraphSteps, settings_);
  program().launch(10);
  program().graph(5, 3);
  program().wait();
  run_worker_tick();
  const auto of_this_thread = [] {
    const hot::Guard guard(hot::RingRole::kCallback);
    return guard.block().graphs;
  };
  EXPECT_EQ(of_this_thread().launches, 3u);
  EXPECT_EQ(of_this_thread().captures, 1u);
  EXPECT_FALSE(of_this_thread().capturing());
  EXPECT_EQ(segment_.all<wire::Launch>().size(), 0u);
  EXPECT_EQ(segment_.all<wire::KernelExec>().size(), 0u);
  set_mode(Mode::kOff, settings_);
  program().graph(5, 3);
  EXPECT_EQ(of_this_thread().launches, 3u);
}

TEST_F(SimSession, ManyThreadsLoseNothing) {
  segment_.start_drainer();
  program();
  start_recording();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] {
      CUcontext context;
      cuDevicePrimaryCtxRetain(&context, 0);
      cuCtxSetCurrent(context);
      program().launch(400);
    });
  for (int i = 0; i < 25; ++i) {
    run_worker_tick();
    std::this_thread::sleep_for(10ms);
  }
  for (auto& thread : threads) thread.join();
  finish();
  EXPECT_EQ(segment_.all<wire::KernelExec>().size(), 3200u);
  EXPECT_EQ(segment_.counter(Counter::kDroppedRingFull), 0u);
  EXPECT_EQ(segment_.counter(Counter::kCuptiNoBuffer), 0u);
}

TEST_F(SimSession, ExitFlushDeliversWhatIsThere) {
  program();
  start_recording();
  program().launch(10);
  program().wait();
  before_exit();
  EXPECT_EQ(segment_.all<wire::KernelExec>().size(), 10u);
}

}  // namespace
}  // namespace gpuprof::cupti
