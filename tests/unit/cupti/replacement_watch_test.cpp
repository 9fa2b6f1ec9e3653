// SPDX-License-Identifier: Apache-2.0
//
// When buffer callbacks count as replaced; the clock is the test's.
//
// Context:  tests
#include "inject/cupti/subscribe/replacement_watch.hpp"

#include <gtest/gtest.h>

namespace gpuprof::cupti {
namespace {

constexpr std::uint64_t kTurnNs = 25'000'000, kSecondNs = 1'000'000'000;

class Replacement : public ::testing::Test {
 protected:
  /// Turns of the worker, each with a flush, while `work` does what the program does in one.
  template <typename F>
  bool replaced_within(std::uint64_t seconds, F work) {
    bool replaced = false;
    for (std::uint64_t i = 0; i < seconds * kSecondNs / kTurnNs && !replaced; ++i) {
      work(i);
      now_ns_ += kTurnNs;
      ++seen_.flushes;
      replaced = watch_.is_replaced(seen_, now_ns_);
    }
    return replaced;
  }

  ReplacementWatch watch_;
  DeliveryCounts seen_;
  std::uint64_t now_ns_ = 77 * kSecondNs;
};

TEST_F(Replacement, IsSeenWhereWorkAndWaitsLeaveNothing) {
  const std::uint64_t begun_ns = now_ns_;
  EXPECT_TRUE(replaced_within(60, [&](std::uint64_t) { ++seen_.runs, ++seen_.waits; }));
  EXPECT_GE(now_ns_ - begun_ns, 5 * kSecondNs);
}

TEST_F(Replacement, IsNoneWhereBuffersCome) {
  EXPECT_FALSE(replaced_within(60, [&](std::uint64_t i) {
    ++seen_.runs, ++seen_.waits;
    seen_.completions += i % 100 == 0 ? 1 : 0;
  }));
}

TEST_F(Replacement, IsNoneOfAProgramThatIsQuietAfterOneCall) {
  EXPECT_FALSE(replaced_within(60, [&](std::uint64_t i) {
    seen_.runs += i == 0 ? 1 : 0;
    seen_.waits += i == 1 ? 1 : 0;
  }));
}

TEST_F(Replacement, IsNoneOfAProgramThatOnlyWaits) {
  EXPECT_FALSE(replaced_within(60, [&](std::uint64_t) { ++seen_.waits; }));
}

TEST_F(Replacement, IsNoneWhileALongKernelIsWaitedFor) {
  EXPECT_FALSE(replaced_within(60, [&](std::uint64_t) { ++seen_.runs; }));
}

TEST_F(Replacement, IsNoneWhileNothingIsAskedFor) {
  EXPECT_FALSE(replaced_within(60, [&](std::uint64_t) {
    ++seen_.runs, ++seen_.waits;
    seen_.flushes = 0;
  }));
}

TEST_F(Replacement, BeginsAnewWithEachWindow) {
  const auto work = [&](std::uint64_t) { ++seen_.runs, ++seen_.waits; };
  EXPECT_FALSE(replaced_within(4, work));
  watch_.forget();
  EXPECT_FALSE(replaced_within(4, work));
}

}  // namespace
}  // namespace gpuprof::cupti
