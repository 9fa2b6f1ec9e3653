// SPDX-License-Identifier: Apache-2.0
//
// Sets of time.
#include "analysis/export/containers/intervals.hpp"

#include <gtest/gtest.h>

namespace gpuprof::exporter {
namespace {

bool same(const Intervals& a, const Intervals& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.start_ns == y.start_ns && x.end_ns == y.end_ns;
  });
}

TEST(Intervals, MergedSetsNeitherTouchNorOverlap) {
  Intervals set{{30, 40}, {0, 10}, {5, 12}, {12, 15}, {20, 20}, {32, 35}};
  normalize(set);
  EXPECT_TRUE(same(set, {{0, 15}, {30, 40}}));
}

TEST(Intervals, DifferencesAndSumsAreExact) {
  const Intervals a{{0, 10}, {20, 40}}, b{{5, 22}, {30, 31}, {39, 50}};
  EXPECT_TRUE(same(subtract(a, b), {{0, 5}, {22, 30}, {31, 39}}));
  EXPECT_TRUE(same(unite(a, b), {{0, 50}}));
  EXPECT_EQ(15u, overlap_ns(a, 5, 30));
  EXPECT_EQ(0u, overlap_ns(a, 10, 20));
}

}  // namespace
}  // namespace gpuprof::exporter
