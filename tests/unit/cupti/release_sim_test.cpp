// SPDX-License-Identifier: Apache-2.0
//
// Letting go of CUPTI and coming back, on the simulated GPU.
//
// Context:  tests
#include <cupti.h>

#include <fstream>
#include <string>

#include "inject/cupti/activity/buffer_pool.hpp"
#include "inject/cupti/activity/flush_thread.hpp"
#include "sim_fixture.hpp"

namespace gpuprof::cupti {
namespace {

using namespace std::chrono_literals;

class SimRelease : public SimTest {
 protected:
  // What the simulated CUPTI says is on, whoever asked for it.
  static std::uint32_t kinds_on() {
    using GetKinds = CUptiResult (*)(CUpti_SubscriberHandle, CUpti_ActivityKind*, std::uint32_t*,
                                     std::uint32_t*);
    const auto get = reinterpret_cast<GetKinds>(in_cupti("cuptiActivityGetEnabledKinds"));
    std::uint32_t count = ~0u;
    EXPECT_EQ(get(nullptr, nullptr, nullptr, &count), CUPTI_SUCCESS);
    return count;
  }
  static std::uint32_t callbacks_on(CUpti_CallbackDomain domain) {
    using GetCallbacks = CUptiResult (*)(CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                         CUpti_CallbackId*, std::uint32_t*, std::uint32_t*);
    const auto get = reinterpret_cast<GetCallbacks>(in_cupti("cuptiGetEnabledCallbacks"));
    std::uint32_t count = ~0u;
    EXPECT_EQ(get(nullptr, domain, nullptr, nullptr, &count), CUPTI_SUCCESS);
    return count;
  }
  // Whether somebody else may have the slot: takes it and gives it back.
  static bool slot_is_free() {
    const auto take = reinterpret_cast<decltype(&::cuptiSubscribe)>(in_cupti("cuptiSubscribe"));
    const auto give = reinterpret_cast<decltype(&::cuptiUnsubscribe)>(in_cupti("cuptiUnsubscribe"));
    CUpti_SubscriberHandle handle{};
    if (take(
            &handle, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr) !=
        CUPTI_SUCCESS)
      return false;
    return give(handle) == CUPTI_SUCCESS;
  }
  static std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) ++count;
    return count;
  }
  void release_cupti() {
    hot::g_state.on.store(0);
    set_mode(Mode::kOff, settings_);
    EXPECT_TRUE(release(kTimeoutMs));
  }
  void expect_nothing_left() {
    EXPECT_EQ(kinds_on(), 0u);
    EXPECT_EQ(callbacks_on(CUPTI_CB_DOMAIN_RUNTIME_API), 0u);
    EXPECT_EQ(callbacks_on(CUPTI_CB_DOMAIN_DRIVER_API), 0u);
    EXPECT_TRUE(slot_is_free());
    EXPECT_FALSE(g_buffers.mapped());
  }

 private:
  static void* in_cupti(const char* name) {
    void* cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    EXPECT_NE(cupti, nullptr);
    return cupti != nullptr ? dlsym(cupti, name) : nullptr;
  }
};

TEST_F(SimRelease, NothingIsLeftInCuptiAndTheNextSessionRecords) {
  program();
  start_recording();
  program().launch(20);
  EXPECT_GT(kinds_on(), 5u) << "else nothing is proved";
  EXPECT_GT(callbacks_on(CUPTI_CB_DOMAIN_DRIVER_API), 5u);
  EXPECT_FALSE(slot_is_free());
  finish();
  EXPECT_EQ(kernels(), 20u);
  release_cupti();
  expect_nothing_left();

  program().launch(5);
  program().wait();
  start_recording();
  program().launch(7);
  finish();
  EXPECT_EQ(kernels(), 27u) << "those of the first session and of the second, none between";
  release_cupti();
  expect_nothing_left();
}

TEST_F(SimRelease, WhileTheProgramLaunches) {
  program();
  std::atomic<bool> over{false};
  std::thread launching([&] {
    while (!over.load()) program().launch(1);
  });
  for (int i = 0; i < 10; ++i) {
    start_recording();
    turn_for(20ms);
    release_cupti();
  }
  over.store(true);
  launching.join();
  program().wait();
  expect_nothing_left();
}

TEST_F(SimRelease, AHundredTimesNothingGrows) {
  program();
  std::size_t first = 0;
  for (int i = 0; i < 100; ++i) {
    start_recording();
    program().launch(3);
    finish();
    release_cupti();
    if (i == 4) first = mappings();
  }
  EXPECT_EQ(kernels(), 300u);
  expect_nothing_left();
  // The C library and the simulator map as they like, a little.
  EXPECT_LE(mappings(), first + 4);
}

TEST_F(SimRelease, TheThreadEndsWithTheWorker) {
  program();
  start_recording();
  program().launch(3);
  finish();
  release_cupti();
  EXPECT_TRUE(is_flush_thread_kept()) << "the next session may need it";
  on_worker_exit();
  EXPECT_FALSE(is_flush_thread_kept());
}

}  // namespace
}  // namespace gpuprof::cupti
