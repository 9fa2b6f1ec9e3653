// SPDX-License-Identifier: Apache-2.0
//
// Rows of API calls: from our callbacks, and from CUPTI's records where no callback comes. Each
// case names, in CMakeLists.txt, the switches of gpusim-run it needs.
//
// Context:  tests
#include <thread>

#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/subscribe/cupti_state.hpp"
#include "sim_fixture.hpp"

namespace gpuprof::cupti {
namespace {

class SimCalls : public SimTest {
 protected:
  std::size_t launch_rows(bool own) {
    std::size_t count = 0;
    for (const auto& call : segment_.all<wire::ApiCall>())
      count += segment_.text(call.body.name_id) == "cuLaunchKernel" &&
                       ((call.body.flags & wire::kApiMonotonicClock) != 0) == own
                   ? 1
                   : 0;
    return count;
  }
  static bool kinds_are_on() {
    constexpr std::uint64_t kBoth =
        kind_bit(CUPTI_ACTIVITY_KIND_RUNTIME) | kind_bit(CUPTI_ACTIVITY_KIND_DRIVER);
    const CuptiLock lock(kTimeoutMs);
    return (g_cupti.kinds & kBoth) != 0;
  }
  /// Launches, with a turn of the worker after each, until the kinds are on.
  bool launch_until_kinds_are_on() {
    for (int i = 0; i < 2400 && !kinds_are_on(); ++i) {
      program().launch(1);
      program().wait();
      run_worker_tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    return kinds_are_on();
  }
};

TEST_F(SimCalls, ComeFromCallbacksAndNoKindOfThemIsOn) {
  program();
  start_recording();
  const std::uint64_t before_ns = base::mono_ns();
  program().launch(10);
  program().mark();
  program().refused();
  finish();
  EXPECT_FALSE(kinds_are_on());
  EXPECT_EQ(kernels(), 10u);
  EXPECT_EQ(launch_rows(true), 11u);
  const std::uint64_t after_ns = base::mono_ns();
  std::size_t marks = 0, refused = 0;
  for (const auto& call : segment_.all<wire::ApiCall>()) {
    EXPECT_EQ(call.body.flags, wire::kApiMonotonicClock);
    EXPECT_LE(before_ns, call.body.start_ns);
    EXPECT_LE(call.body.start_ns, call.body.end_ns);
    EXPECT_LE(call.body.end_ns, after_ns);
    EXPECT_EQ(call.body.tid, static_cast<std::uint32_t>(gettid()));
    marks += segment_.text(call.body.name_id) == "cuEventRecord" ? 1 : 0;
    refused += call.body.result == CUDA_ERROR_INVALID_VALUE ? 1 : 0;
  }
  EXPECT_EQ(marks, 1u);
  EXPECT_EQ(refused, 1u);
  for (const auto& launch : segment_.all<wire::Launch>())
    EXPECT_NE(launch.body.cbid, std::uint32_t{CUPTI_DRIVER_TRACE_CBID_cuEventRecord});
}

TEST_F(SimCalls, AreNotRecordedWhereNobodyAskedForThem) {
  program();
  settings_.calls = false;
  start_recording();
  program().launch(10);
  finish();
  EXPECT_EQ(kernels(), 10u);
  EXPECT_EQ(segment_.all<wire::ApiCall>().size(), 0u);
  EXPECT_FALSE(kinds_are_on());
}

TEST_F(SimCalls, ComeFromCuptiWhereNoCallbackIsMade) {  // --scenario deaf-callbacks:20
  program();
  start_recording();
  ASSERT_TRUE(launch_until_kinds_are_on());
  const std::size_t own = launch_rows(true);
  program().launch(10);
  finish();
  EXPECT_EQ(launch_rows(true), own);
  EXPECT_EQ(launch_rows(false), 10u);
  set_mode(Mode::kOff, settings_);
  run_worker_tick();
  EXPECT_FALSE(kinds_are_on());
}

TEST_F(SimCalls, AreAskedOfCuptiWhereNoReturnIsSeen) {  // --scenario deaf-api:20
  program();
  start_recording();
  EXPECT_TRUE(launch_until_kinds_are_on());
  EXPECT_GT(launch_rows(true), 0u);
}

TEST_F(SimCalls, OfThreadsThatWaitOneAfterTheOtherAreNoSilence) {  // --kernel-time 3s
  program();
  start_recording();
  program().launch(1);
  run_worker_tick();
  const auto wait = [] {
    CUcontext context{};
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    program().wait();
  };
  std::thread first(wait);
  bool asked = false;
  const auto look_for = [&](std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
      turn_for(std::chrono::milliseconds(25));
      asked = asked || kinds_are_on();
    }
  };
  look_for(std::chrono::milliseconds(700));
  std::thread second(wait);
  look_for(std::chrono::milliseconds(700));
  EXPECT_FALSE(asked);
  first.join();
  second.join();
}

TEST_F(SimCalls, ThatWaitAreNoSilence) {
  program();
  start_recording();
  program().launch(1);
  // As a thread that is inside of one: entered, not returned, while kernels run.
  g_callback_state.other_calls.fetch_add(1);
  run_worker_tick(2);
  for (int i = 0; i < 40; ++i) {
    g_callback_state.kernel_records.fetch_add(1);
    run_worker_tick();
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    ASSERT_FALSE(kinds_are_on());
  }
  g_callback_state.returns.fetch_add(1);
  run_worker_tick();
  EXPECT_FALSE(kinds_are_on());
}

}  // namespace
}  // namespace gpuprof::cupti
