// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/target/drain_pace.hpp"

#include <gtest/gtest.h>

namespace gpuprof::session {
namespace {

// Drains a target that fills `percent_per_ms` of its fullest ring buffer; the most it was found to
// hold.
std::uint64_t fullest_of(DrainPace& pace, std::uint64_t percent_per_ms, int drains) {
  std::uint64_t fullest = 0;
  for (int i = 0; i < drains; ++i) {
    const std::uint64_t gap_ns = pace.period_ns() + 60'000;
    const std::uint64_t percent = percent_per_ms * gap_ns / 1'000'000;
    fullest = std::max(fullest, percent);
    pace.drained(gap_ns, percent);
  }
  return fullest;
}

TEST(DrainPace, QuietTargetsAreDrainedSeldom) {
  DrainPace pace;
  EXPECT_EQ(fullest_of(pace, 0, 10), 0u);
  EXPECT_EQ(pace.period_ns(), DrainPace::kMaxPeriodNs);
  fullest_of(pace, 2, 10);
  EXPECT_EQ(pace.period_ns(), DrainPace::kMaxPeriodNs);
}

TEST(DrainPace, FillingRingsAreDrainedSooner) {
  DrainPace pace;
  fullest_of(pace, 18, 1);
  EXPECT_EQ(pace.period_ns(), DrainPace::kMinPeriodNs);
  EXPECT_LT(fullest_of(pace, 18, 20), 25u);
}

TEST(DrainPace, ComesBackWithinTwoDrains) {
  DrainPace pace;
  fullest_of(pace, 18, 5);
  fullest_of(pace, 0, 2);
  EXPECT_EQ(pace.period_ns(), DrainPace::kMaxPeriodNs);
}

TEST(DrainPace, DrainsBackToBackAreNoReasonToHurry) {
  DrainPace pace;
  pace.drained(0, 0);
  EXPECT_EQ(pace.period_ns(), DrainPace::kMaxPeriodNs);
}

TEST(DrainPace, AnyNumberKeepsItBetweenItsLimits) {
  DrainPace pace;
  pace.drained(0, 100);
  EXPECT_EQ(pace.period_ns(), DrainPace::kMinPeriodNs);
  pace.drained(90'000'000'000'000, 1);
  EXPECT_LE(pace.period_ns(), DrainPace::kMaxPeriodNs);
}

}  // namespace
}  // namespace gpuprof::session
