// SPDX-License-Identifier: Apache-2.0
//
// The processor's counter as a clock, against the clock itself.
#include "inject/hot/clock/tsc_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace gpuprof::hot {
namespace {

// Between two comparisons the counter may be off by what they are off: far less than this.
constexpr std::uint64_t kOff = 50'000;

/// Asks for `ms`, each time between two looks at the clock.
void compare(TscClock& ticks, std::uint64_t ms) {
  const std::uint64_t end = base::mono_ns() + ms * 1'000'000;
  std::uint64_t last = 0, before = 0;
  while ((before = base::mono_ns()) < end) {
    const std::uint64_t now = ticks.now_ns(), after = base::mono_ns();
    ASSERT_GE(now + kOff, before);
    ASSERT_LE(now, after + kOff);
    ASSERT_GE(now, last);
    last = now;
  }
}

class Counter : public testing::Test {
 protected:
  void SetUp() override {
    check_clocksource();
    if (!g_tsc_is_trusted.load())
      GTEST_SKIP() << "SKIPPED: the kernel does not keep time by the processor's counter";
  }
};

TEST_F(Counter, TellsTheTimeOfTheClock) {
  TscClock ticks{};
  compare(ticks, 50);
}

TEST_F(Counter, GoesOnAfterTheThreadSlept) {
  TscClock ticks{};
  for (int i = 0; i < 5; ++i) {
    compare(ticks, 10);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  compare(ticks, 10);
}

TEST(Clock, IsAskedWhereTheCounterIsNotTrusted) {
  g_tsc_is_trusted.store(false);
  TscClock ticks{};
  compare(ticks, 20);
}

// The kernel would know, but a thread may be somewhere else before it does.
TEST_F(Counter, NeverGoesBackWhenTrustEnds) {
  for (int i = 0; i < 50; ++i) {
    g_tsc_is_trusted.store(true);
    TscClock ticks{};
    compare(ticks, 3);
    std::uint64_t last = ticks.now_ns();
    g_tsc_is_trusted.store(false);
    for (int k = 0; k < 50'000; ++k) {
      const std::uint64_t now = ticks.now_ns();
      ASSERT_GE(now, last);
      last = now;
    }
  }
}

}  // namespace
}  // namespace gpuprof::hot
