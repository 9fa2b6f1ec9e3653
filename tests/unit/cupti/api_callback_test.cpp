// SPDX-License-Identifier: Apache-2.0
//
// Entry and exit of calls, made by hand: which become a launch, which a row.
//
// Context:  tests
#include "inject/cupti/callbacks/api_callback.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "gpuprof/base/clock.hpp"
#include "inject/cupti/callback_state.hpp"
#include "tests/fakes/in_process_segment.hpp"

namespace gpuprof::cupti {
namespace {

constexpr auto kRuntime = CUPTI_CB_DOMAIN_RUNTIME_API;
constexpr auto kDriver = CUPTI_CB_DOMAIN_DRIVER_API;
constexpr std::uint32_t kLaunch = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
constexpr std::uint32_t kInner = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
constexpr std::uint32_t kBegin = CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000;
constexpr std::uint32_t kEnd = CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000;
constexpr int kInvalidValue = CUDA_ERROR_INVALID_VALUE;
constexpr std::uint32_t kMark = CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020;

class Callbacks : public ::testing::Test {
 protected:
  void SetUp() override {
    hot::g_state.on.store(hot::kOnCuda);
    g_callback_state.drop_api.store(false);
    g_callback_state.callbacks_on_since_ns.store(0);
  }
  void enter(CUpti_CallbackDomain domain, std::uint32_t cbid, std::uint32_t correlation) {
    call(domain, cbid, correlation, CUPTI_API_ENTER, 0);
  }
  void leave(CUpti_CallbackDomain domain, std::uint32_t cbid, std::uint32_t correlation,
             int result = 0) {
    call(domain, cbid, correlation, CUPTI_API_EXIT, result);
  }
  std::size_t launches() { return segment_.all<wire::Launch>().size(); }
  auto rows() { return segment_.all<wire::ApiCall>(); }
  /// Ids of this process that no other test used: a thread remembers the last one.
  static std::uint32_t fresh() {
    static std::atomic<std::uint32_t> s_last{1000};
    return ++s_last;
  }
  fakes::InProcessSegment segment_;

 private:
  static void call(CUpti_CallbackDomain domain, std::uint32_t cbid, std::uint32_t correlation,
                   CUpti_ApiCallbackSite site, int result) {
    CUpti_CallbackData data{};
    data.callbackSite = site;
    data.correlationId = correlation;
    if (site == CUPTI_API_EXIT) data.functionReturnValue = &result;
    api_callback(nullptr, domain, cbid, &data);
  }
};

TEST_F(Callbacks, ACallIsALaunchWhenItBeginsAndARowWhenItReturns) {
  const std::uint32_t id = fresh();
  enter(kRuntime, kLaunch, id);
  EXPECT_EQ(launches(), 1u);
  EXPECT_EQ(rows().size(), 0u);
  leave(kRuntime, kLaunch, id, 719);
  EXPECT_EQ(launches(), 1u);
  ASSERT_EQ(rows().size(), 1u);
  const wire::ApiCall row = rows()[0].body;
  EXPECT_EQ(row.correlation, id);
  EXPECT_EQ(row.cbid, kLaunch);
  EXPECT_EQ(row.api, static_cast<std::uint32_t>(wire::ApiDomain::kRuntime));
  EXPECT_EQ(row.tid, static_cast<std::uint32_t>(gettid()));
  EXPECT_EQ(row.result, 719);
  EXPECT_EQ(row.flags, wire::kApiMonotonicClock);
  EXPECT_LE(segment_.all<wire::Launch>()[0].body.ts_ns, row.start_ns);
  EXPECT_LE(row.start_ns, row.end_ns);
}

TEST_F(Callbacks, TheDriversCallInsideARuntimeCallIsNone) {
  const std::uint32_t id = fresh();
  enter(kRuntime, kLaunch, id);
  enter(kDriver, kInner, id);
  leave(kDriver, kInner, id, 1);
  EXPECT_EQ(rows().size(), 0u) << "the outer one has not returned";
  leave(kRuntime, kLaunch, id);
  EXPECT_EQ(launches(), 1u);
  ASSERT_EQ(rows().size(), 1u);
  EXPECT_EQ(rows()[0].body.cbid, kLaunch);
  EXPECT_EQ(rows()[0].body.result, 0);
}

TEST_F(Callbacks, AMarkIsARowAndNoLaunch) {
  const std::uint64_t before = launch_count(), returns = g_callback_state.returns.load();
  const std::uint32_t id = fresh();
  enter(kRuntime, kMark, id);
  leave(kRuntime, kMark, id);
  EXPECT_EQ(launches(), 0u);
  EXPECT_EQ(rows().size(), 1u);
  EXPECT_EQ(launch_count(), before);
  EXPECT_EQ(g_callback_state.returns.load(), returns);
}

TEST_F(Callbacks, AReturnWhoseBeginNobodySawIsNoRow) {
  leave(kRuntime, kLaunch, fresh());
  EXPECT_EQ(rows().size(), 0u);
  const std::uint32_t id = fresh();
  enter(kRuntime, kLaunch, id);
  leave(kRuntime, kLaunch, id);
  leave(kRuntime, kLaunch, id);
  EXPECT_EQ(rows().size(), 1u) << "nor one that returned already";
}

TEST_F(Callbacks, ACallAmidWhichRecordingEndsIsNoRow) {
  const std::uint32_t id = fresh();
  enter(kRuntime, kLaunch, id);
  hot::g_state.on.store(0);
  leave(kRuntime, kLaunch, id);
  EXPECT_EQ(rows().size(), 0u);
  hot::g_state.on.store(hot::kOnCuda);
  const std::uint32_t next = fresh();
  enter(kRuntime, kLaunch, next);
  leave(kRuntime, kLaunch, next);
  ASSERT_EQ(rows().size(), 1u);
  EXPECT_EQ(rows()[0].body.correlation, next);
}

TEST_F(Callbacks, OfACallInsideAnotherOneThatIsNoneOfItsOwnTheInnerIsARow) {
  const std::uint32_t outer = fresh(), inner = fresh();
  enter(kRuntime, kLaunch, outer);
  enter(kDriver, kInner, inner);
  leave(kDriver, kInner, inner);
  leave(kRuntime, kLaunch, outer);
  EXPECT_EQ(launches(), 2u);
  ASSERT_EQ(rows().size(), 1u);
  EXPECT_EQ(rows()[0].body.correlation, inner);
}

TEST_F(Callbacks, ACaptureThatWasRefusedIsNone) {
  const auto launched_into_one = [this] {
    const std::uint32_t id = fresh();
    enter(kRuntime, kLaunch, id);
    leave(kRuntime, kLaunch, id);
    return (segment_.all<wire::Launch>().back().body.flags & wire::kLaunchCaptured) != 0;
  };
  const auto call = [this](std::uint32_t cbid, int result) {
    const std::uint32_t id = fresh();
    enter(kRuntime, cbid, id);
    leave(kRuntime, cbid, id, result);
  };
  g_callback_state.captures.store(0);
  call(kBegin, kInvalidValue);
  EXPECT_FALSE(launched_into_one());
  call(kBegin, 0);
  EXPECT_TRUE(launched_into_one());
  call(kEnd, kInvalidValue);
  EXPECT_TRUE(launched_into_one()) << "of another stream";
  call(kEnd, 0);
  EXPECT_FALSE(launched_into_one());
  call(kEnd, kInvalidValue);
  EXPECT_FALSE(launched_into_one());
  call(kBegin, 0);
  call(kEnd, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_FALSE(launched_into_one());
}

TEST_F(Callbacks, OnlyACallAfterOneThatNeverReturnedTellsOfSilence) {
  const std::uint64_t before = g_callback_state.unreturned.load();
  const std::uint32_t first = fresh(), second = fresh();
  enter(kRuntime, kLaunch, first);
  EXPECT_EQ(g_callback_state.unreturned.load(), before);
  enter(kRuntime, kLaunch, second);
  EXPECT_EQ(g_callback_state.unreturned.load(), before + 1);
  leave(kRuntime, kLaunch, second);
  enter(kRuntime, kLaunch, fresh());
  EXPECT_EQ(g_callback_state.unreturned.load(), before + 1);
  // Callbacks were off for a time: it may have returned then.
  g_callback_state.callbacks_on_since_ns.store(base::mono_ns() + 1);
  while (base::mono_ns() <= g_callback_state.callbacks_on_since_ns.load()) {
  }
  enter(kRuntime, kLaunch, fresh());
  EXPECT_EQ(g_callback_state.unreturned.load(), before + 1);
}

}  // namespace
}  // namespace gpuprof::cupti
