// SPDX-License-Identifier: Apache-2.0
//
// The flush thread comes and ends as often as the program forks.
//
// Context:  tests
#include "inject/cupti/activity/flush_thread.hpp"

#include <gtest/gtest.h>

#include "gpuprof/base/clock.hpp"

namespace gpuprof::cupti {
namespace {

void spin(std::uint64_t ns) {
  const std::uint64_t until = base::mono_ns() + ns;
  while (base::mono_ns() < until) {
  }
}

// At any moment of its life: an end that it does not hear of would hold up a fork, and every later
// one.
TEST(FlushThread, HearsThatItIsToEnd) {
  constexpr std::uint64_t kTimes = 20'000, kLatestNs = 60'000;
  constexpr std::uint32_t kTimeoutMs = 20'000;
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    ASSERT_TRUE(start_flush_thread()) << i;
    spin(i * 7919 % kLatestNs);
    ASSERT_TRUE(stop_flush_thread(kTimeoutMs)) << i;
  }
}

}  // namespace
}  // namespace gpuprof::cupti
