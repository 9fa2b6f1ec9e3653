// SPDX-License-Identifier: Apache-2.0
//
// What durations come to.
#include "analysis/report/aggregation/duration_stats.hpp"

#include <gtest/gtest.h>

namespace gpuprof::report {
namespace {

TEST(DurationStats, PercentilesLieBetweenNeighbours) {
  DurationCollector times;
  for (const std::uint64_t ns : {40u, 10u, 30u, 20u}) times.add(ns);
  const DurationStats s = times.stats();
  EXPECT_EQ(100u, s.total_ns);
  EXPECT_EQ(10u, s.min_ns);
  EXPECT_DOUBLE_EQ(25, s.p50_ns);
  EXPECT_DOUBLE_EQ(37, s.p90_ns);
  EXPECT_NEAR(12.91, s.stddev_ns, 0.01);
  EXPECT_EQ(0u, DurationCollector().stats().count);
}

}  // namespace
}  // namespace gpuprof::report
