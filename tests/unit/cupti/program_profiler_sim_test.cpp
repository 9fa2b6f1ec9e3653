// SPDX-License-Identifier: Apache-2.0
//
// The program is a CUPTI user itself. Its calls reach our wrappers, as with a preload: they are
// linked into this test and come first.
//
// Context:  tests
#include <cupti.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "inject/cupti/subscribe/cupti_state.hpp"
#include "sim_fixture.hpp"

namespace gpuprof::cupti {
namespace {

using namespace std::chrono_literals;

std::atomic<int> g_app_kernels{0};

void CUPTIAPI app_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  *bytes = 1 << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
  *records = 0;
}
void CUPTIAPI app_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                            std::size_t valid) {
  // cuptiActivityGetNextRecord is not one of our wrappers: look it up in the copy that is mapped.
  void* cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  const auto next = reinterpret_cast<CUptiResult (*)(std::uint8_t*, std::size_t, CUpti_Activity**)>(
      dlsym(cupti, "cuptiActivityGetNextRecord"));
  CUpti_Activity* record = nullptr;
  while (next(buffer, valid, &record) == CUPTI_SUCCESS)
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) g_app_kernels.fetch_add(1);
  std::free(buffer);  // of a buffer that is not its own this would abort
}

class SimHandOver : public SimTest {
 protected:
  bool turn_until_it_is_done(int sessions = 1) {
    return turn_until([sessions] { return notice_count("profiler has ended") == sessions; });
  }
  void SetUp() override {
    SimTest::SetUp();
    // The program's own copy, opened as Python opens an extension's libraries.
    ASSERT_NE(dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL), nullptr);
  }
  std::size_t calls_of(const std::string& name) {
    std::size_t count = 0;
    for (const auto& call : segment_.all<wire::ApiCall>())
      count += segment_.text(call.body.name_id) == name ? 1 : 0;
    return count;
  }
  static void CUPTIAPI nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}
  // The order of a current Kineto: no subscriber, kinds off first, then a forced flush.
  void app_session(int launches) {
    ASSERT_EQ(cuptiActivityRegisterCallbacks(app_requested, app_completed), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    program().launch(launches);
    program().wait();
    ASSERT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    run_worker_tick(3);  // we must not step in before it has read
    ASSERT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
  }
};

TEST_F(SimHandOver, AProfilerWithoutSubscriberGetsItsRecordsAndWeTakeUpAfterIt) {
  program();
  start_recording();
  program().launch(10);
  program().wait();
  app_session(5);
  EXPECT_EQ(g_app_kernels.load(), 5);
  EXPECT_EQ(kernels(), 10u) << "what was ours came to us before";

  EXPECT_TRUE(turn_until_it_is_done());
  program().launch(7);
  finish();
  EXPECT_EQ(kernels(), 17u);
  EXPECT_EQ(g_app_kernels.load(), 5);
  EXPECT_TRUE(has_notice("the program's own CUPTI profiler")) << all_notices();
  EXPECT_TRUE(has_notice("has ended")) << all_notices();
}

TEST_F(SimHandOver, WhatWasLaunchedBeforeOurReturnIsToldApart) {
  program();
  start_recording();
  app_session(5);
  program().launch(4);
  program().wait();
  EXPECT_TRUE(turn_until_it_is_done());
  program().launch(7);
  finish();
  EXPECT_EQ(kernels(), 7u);
  EXPECT_EQ(g_app_kernels.load(), 5);
  EXPECT_TRUE(has_notice("(6 launches and waits): they are in its trace")) << all_notices();
  EXPECT_TRUE(
      has_notice("(5 launches and waits) between its end and gpuprof's return is in neither"))
      << all_notices();
}

TEST_F(SimHandOver, ASecondSessionOfTheProgramWorksToo) {
  program();
  start_recording();
  app_session(5);
  EXPECT_TRUE(turn_until_it_is_done());
  app_session(6);
  EXPECT_EQ(g_app_kernels.load(), 11);
  EXPECT_TRUE(turn_until_it_is_done(2));
  program().launch(3);
  finish();
  EXPECT_EQ(kernels(), 3u);
}

TEST_F(SimHandOver, AOneShotSubscriberNeverSees39) {
  program();
  start_recording();
  program().launch(4);
  program().wait();
  CUpti_SubscriberHandle handle{};
  ASSERT_EQ(cuptiSubscribe(&handle, nothing, nullptr), CUPTI_SUCCESS);
  app_session(4);
  EXPECT_EQ(kernels(), 4u) << "its session lasts: hands off";
  ASSERT_EQ(cuptiUnsubscribe(handle), CUPTI_SUCCESS);
  EXPECT_TRUE(turn_until_it_is_done());
  program().launch(4);
  finish();
  EXPECT_EQ(kernels(), 8u);
}

// As PyTorch's profiler did until August 2026.
TEST_F(SimHandOver, AProgramThatKeepsTheSlotIsRecordedWithoutCallbacks) {
  program();
  start_recording();
  program().launch(4);
  finish();
  CUpti_SubscriberHandle handle{};
  ASSERT_EQ(cuptiSubscribe(&handle, nothing, nullptr), CUPTI_SUCCESS);
  app_session(5);
  ASSERT_TRUE(turn_until_it_is_done());
  ASSERT_EQ(segment_.all<wire::Launch>().size(), 4u + 1);  // and a wait
  program().launch(6);
  finish();
  EXPECT_EQ(kernels(), 10u);
  EXPECT_EQ(calls_of("cuLaunchKernel"), 10u);
  EXPECT_EQ(segment_.all<wire::Launch>().size(), 4u + 1) << "no callback";
  EXPECT_EQ(notice_count("keeps CUPTI's one subscriber slot"), 1) << all_notices();

  app_session(7);
  EXPECT_EQ(g_app_kernels.load(), 12) << "its next session is its own";
  ASSERT_TRUE(turn_until_it_is_done(2));
  program().launch(2);
  finish();
  EXPECT_EQ(kernels(), 12u);

  ASSERT_EQ(cuptiUnsubscribe(handle), CUPTI_SUCCESS);
  ASSERT_TRUE(
      turn_until([] { return notice_count("kept CUPTI's one subscriber slot for a time") == 1; }));
  program().launch(3);
  finish();
  EXPECT_EQ(kernels(), 15u);
  EXPECT_EQ(calls_of("cuLaunchKernel"), 15u);
  EXPECT_EQ(segment_.all<wire::Launch>().size(), 4u + 1 + 3 + 1);
}

// It may share the slot, and what it does by later calls is not seen.
TEST_F(SimHandOver, ASlotTakenByTheLaterCallIsItsSessionUntilItIsGivenBack) {
  program();
  start_recording();
  program().launch(4);
  program().wait();
  CUpti_SubscriberHandle handle{};
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  ASSERT_EQ(cuptiSubscribe_v2(&handle, nothing, nullptr, &params), CUPTI_SUCCESS);
  turn_for(2500ms);  // longer than one that does nothing rests
  program().launch(4);
  program().wait();
  EXPECT_EQ(kernels(), 4u);
  EXPECT_EQ(notice_count("profiler has ended"), 0) << all_notices();
  EXPECT_EQ(g_cupti.kinds, 0u);
  ASSERT_EQ(cuptiUnsubscribe(handle), CUPTI_SUCCESS);
  EXPECT_TRUE(turn_until_it_is_done());
  program().launch(4);
  finish();
  EXPECT_EQ(kernels(), 8u);
}

TEST_F(SimHandOver, AProgramThatKeepsTheSlotIsLeftAloneWhileNothingIsRecorded) {
  program();
  CUpti_SubscriberHandle handle{};
  start_recording();
  ASSERT_EQ(cuptiSubscribe(&handle, nothing, nullptr), CUPTI_SUCCESS);
  app_session(5);
  ASSERT_TRUE(turn_until_it_is_done());
  program().launch(2);
  finish();
  EXPECT_EQ(kernels(), 2u);
  set_mode(Mode::kOff, settings_);
  run_worker_tick(3);
  EXPECT_EQ(g_cupti.kinds, 0u) << "the window is over";
  app_session(6);
  EXPECT_EQ(g_app_kernels.load(), 11);
  start_recording();
  ASSERT_TRUE(turn_until([] { return g_cupti.kinds != 0; }));
  program().launch(3);
  finish();
  EXPECT_EQ(kernels(), 5u);
}

TEST_F(SimHandOver, FinalizeByTheProgramIsSurvived) {
  program();
  start_recording();
  program().launch(4);
  program().wait();
  app_session(2);
  ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
  EXPECT_TRUE(turn_until_it_is_done());
  program().launch(6);
  finish();
  EXPECT_EQ(kernels(), 10u);
}

TEST_F(SimHandOver, AProgramThatRegisteredLongAgoGetsItsCallbacksBack) {
  program();
  ASSERT_EQ(cuptiActivityRegisterCallbacks(app_requested, app_completed), CUPTI_SUCCESS);
  start_recording();
  EXPECT_TRUE(turn_until_it_is_done());
  program().launch(4);
  program().wait();
  ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  program().launch(5);
  program().wait();
  ASSERT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
  EXPECT_EQ(g_app_kernels.load(), 5);
  EXPECT_EQ(kernels(), 4u);
}

TEST_F(SimHandOver, ArmedLeavesTheProgramAlone) {
  program();
  app_session(5);
  EXPECT_EQ(g_app_kernels.load(), 5);
  EXPECT_TRUE(fakes::g_notices.empty()) << all_notices();
}

}  // namespace
}  // namespace gpuprof::cupti
