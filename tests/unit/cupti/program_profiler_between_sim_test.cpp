// SPDX-License-Identifier: Apache-2.0
//
// The program begins a session of its own while nothing of ours is recorded: right after a window,
// in a pause between two, and between two sessions of ours. Buffers of ours may be in CUPTI then,
// below CUDA 13.0 Update 1 always: the kernel kind stays on.
//
// Context:  tests
#include <cupti.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "inject/cupti/activity/buffer_callbacks.hpp"
#include "inject/cupti/subscribe/cupti_state.hpp"
#include "sim_fixture.hpp"

namespace gpuprof::cupti {
namespace {

constexpr CUpti_ActivityKind kKernels = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;

std::atomic<int> g_app_kernels{0}, g_foreign{0};
std::mutex g_own_lock;
std::set<std::uint8_t*> g_own;

// The program's own copy, opened as Python opens an extension's libraries.
void* cupti() {
  for (const char* soname : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"})
    if (void* found = dlopen(soname, RTLD_NOW | RTLD_LOCAL)) return found;
  return nullptr;
}

void CUPTIAPI app_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  *bytes = 1 << 18;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
  *records = 0;
  const std::lock_guard<std::mutex> lock(g_own_lock);
  g_own.insert(*buffer);
}
void CUPTIAPI app_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                            std::size_t valid) {
  {
    const std::lock_guard<std::mutex> lock(g_own_lock);
    if (g_own.erase(buffer) == 0) {
      g_foreign.fetch_add(1);  // a program frees it, and ends there
      return;
    }
  }
  static const auto next = reinterpret_cast<decltype(&cuptiActivityGetNextRecord)>(
      dlsym(cupti(), "cuptiActivityGetNextRecord"));
  CUpti_Activity* record = nullptr;
  while (next(buffer, valid, &record) == CUPTI_SUCCESS)
    if (record->kind == kKernels) g_app_kernels.fetch_add(1);
  std::free(buffer);
}

class SimBetween : public SimTest {
 protected:
  void SetUp() override {
    SimTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_NE(cupti(), nullptr);
  }
  void end_window() {
    hot::g_state.on.store(0);
    set_mode(Mode::kOff, settings_);
  }
  // As where the process has detached and waits to be recorded again.
  void release_cupti() {
    end_window();
    release(kTimeoutMs);
    alive_ = hot::g_state.owner_page.exchange(nullptr);
  }
  void restore_owner() { hot::g_state.owner_page.store(alive_); }

  static void app_registers() {
    ASSERT_EQ(cuptiActivityRegisterCallbacks(app_requested, app_completed), CUPTI_SUCCESS);
  }
  static void app_begins() { ASSERT_EQ(cuptiActivityEnable(kKernels), CUPTI_SUCCESS); }
  static void app_ends() {
    ASSERT_EQ(cuptiActivityDisable(kKernels), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
  }
  static void app_session(int launches) {
    app_registers();
    app_begins();
    program().launch(launches);
    program().wait();
    app_ends();
  }
  bool turn_until_hands_off_are_over() {
    return turn_until([] {
      const CuptiLock lock(kTimeoutMs);
      return lock && !g_cupti.program.active;
    });
  }
  void expect_app_had(int kernels) {
    EXPECT_EQ(g_app_kernels.load(), kernels);
    EXPECT_EQ(g_foreign.load(), 0) << "buffers of ours were completed to the program";
  }

 private:
  const std::uint32_t* alive_ = nullptr;
};

TEST_F(SimBetween, RecordsOfAWindowThatHasJustEndedComeToUs) {
  program();
  start_recording();
  program().launch(10);
  end_window();
  app_session(5);
  expect_app_had(5);
  EXPECT_EQ(kernels(), 10u);
}

TEST_F(SimBetween, InAPauseTheProgramGetsItsOwnBuffersAlone) {
  program();
  start_recording();
  program().launch(10);
  finish();
  end_window();
  ASSERT_TRUE(turn_until([] { return !accepting(base::mono_ns()); }));
  program().launch(4);
  program().wait();
  app_session(5);
  expect_app_had(5);
  ASSERT_TRUE(turn_until_hands_off_are_over());
  start_recording();
  program().launch(6);
  finish();
  EXPECT_EQ(kernels(), 16u);
  expect_app_had(5);
}

TEST_F(SimBetween, WhileThreadsLaunchTheProgramGetsItsOwnBuffersAlone) {
  program();
  std::atomic<bool> over{false};
  std::atomic<int> launched{0};
  std::thread launching([&] {
    for (; !over.load(); ++launched) program().launch(1);
  });
  for (int i = 0; i < 5; ++i) {
    start_recording();
    run_worker_tick();
    end_window();
    app_registers();
    app_begins();
    run_worker_tick();
    // One that is launched in its session: the first may have begun before.
    for (const int before = launched.load(); launched.load() < before + 2;)
      std::this_thread::yield();
    app_ends();
    ASSERT_TRUE(turn_until_hands_off_are_over());
  }
  over.store(true);
  launching.join();
  EXPECT_EQ(g_foreign.load(), 0);
  EXPECT_GT(g_app_kernels.load(), 0);
}

TEST_F(SimBetween, BetweenOurSessionsTheProgramGetsItsOwnBuffersAloneAndTheNextRecords) {
  program();
  start_recording();
  program().launch(10);
  finish();
  release_cupti();
  program().launch(4);
  program().wait();
  app_session(5);
  expect_app_had(5);
  restore_owner();
  start_recording();
  program().launch(6);
  finish();
  EXPECT_EQ(kernels(), 16u);
  expect_app_had(5);
}

TEST_F(SimBetween, ASessionThatBeganBetweenOursIsLeftAloneByTheNext) {
  program();
  start_recording();
  program().launch(10);
  finish();
  release_cupti();
  app_registers();
  app_begins();
  program().launch(2);
  restore_owner();
  start_recording();
  run_worker_tick();
  program().launch(3);
  program().wait();
  app_ends();
  expect_app_had(5);
  ASSERT_TRUE(turn_until_hands_off_are_over());
  program().launch(4);
  finish();
  EXPECT_EQ(kernels(), 14u);
  EXPECT_TRUE(has_notice("the program's own CUPTI profiler")) << all_notices();
}

TEST_F(SimBetween, CuptiThatWasFinalizedBetweenOursIsSettledAnew) {
  program();
  start_recording();
  program().launch(10);
  finish();
  release_cupti();
  ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
  restore_owner();
  start_recording();
  program().launch(4);
  finish();
  EXPECT_EQ(kernels(), 14u);
}

TEST_F(SimBetween, AProgramThatRegisteredOnceFindsItsCallbacks) {
  program();
  app_registers();
  start_recording();
  ASSERT_TRUE(turn_until_hands_off_are_over());
  program().launch(10);
  finish();
  end_window();
  app_begins();
  program().launch(5);
  program().wait();
  app_ends();
  expect_app_had(5);
  ASSERT_TRUE(turn_until_hands_off_are_over());
  start_recording();
  program().launch(2);
  finish();
  release_cupti();
  // Not preloaded, as here, we would not see a later pair of its: this one is not kept.
  if (is_activity_left_enabled()) return;
  app_begins();
  program().launch(6);
  program().wait();
  app_ends();
  expect_app_had(11);
}

}  // namespace
}  // namespace gpuprof::cupti
