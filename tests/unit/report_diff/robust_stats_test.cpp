// SPDX-License-Identifier: Apache-2.0
//
// Statistics that a few odd steps cannot spoil: known cases.
#include "analysis/report/diff/significance/robust_stats.hpp"

#include <gtest/gtest.h>

namespace gpuprof::report::diff {
namespace {

TEST(Robust, QuantilesLieBetweenTheTwoNearestValues) {
  EXPECT_DOUBLE_EQ(2.5, median({4, 1, 3, 2}));
  EXPECT_DOUBLE_EQ(1.75, quantile({4, 1, 3, 2}, 0.25));
  EXPECT_DOUBLE_EQ(4, quantile({4, 1, 3, 2}, 1));
  EXPECT_DOUBLE_EQ(0, median({}));
}

TEST(Robust, OneStepThatTookForeverDoesNotChangeTheSpread) {
  Values values;
  for (int i = 0; i < 40; ++i) values.push_back(100 + i % 5);
  const double before = relative_spread(values);
  values.push_back(1e9);
  EXPECT_NEAR(before, relative_spread(values), 0.003);
  EXPECT_GT(before, 0.01);
  EXPECT_EQ(0, relative_spread({}));
}

TEST(Robust, WeightedMedianIsWhereHalfTheWeightIsReached) {
  EXPECT_DOUBLE_EQ(3, weighted_median({{1, 1}, {2, 1}, {3, 5}}));
  EXPECT_DOUBLE_EQ(1, weighted_median({{9, 1}, {1, 3}}));
  EXPECT_DOUBLE_EQ(0, weighted_median({}));
}

TEST(Robust, LowerMedianIsTheWeightedOneOfEqualWeights) {
  for (const Values& values : {Values{5}, Values{4, 1}, Values{3, 9, 1}, Values{8, 2, 6, 4}}) {
    std::vector<Weighted> weighted;
    for (const double value : values) weighted.push_back({value, 1});
    EXPECT_DOUBLE_EQ(weighted_median(weighted), lower_median(values));
  }
  EXPECT_DOUBLE_EQ(0, lower_median({}));
}

TEST(Robust, BlocksAreAsManyAsAllowedAndInOrder) {
  Values values;
  for (int i = 0; i < 35; ++i) values.push_back(i);
  const Values blocks = block_medians(values);
  ASSERT_EQ(kMaxBlocks, blocks.size());
  EXPECT_DOUBLE_EQ(1, blocks.front());
  EXPECT_DOUBLE_EQ(32.5, blocks.back());
  EXPECT_EQ((Values{7, 8}), block_medians({7, 8}));
}

// Figures of scipy.stats.mannwhitneyu(method="exact").
TEST(Robust, RankTestGivesTheExactProbability) {
  EXPECT_NEAR(0.1, rank_test({1, 2, 3}, {4, 5, 6}), 1e-12);
  EXPECT_NEAR(0.7, rank_test({1, 3, 5}, {2, 4, 6}), 1e-12);
  EXPECT_NEAR(2.0 / 252, rank_test({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}), 1e-12);
  EXPECT_NEAR(1, rank_test({1, 4}, {2, 3}), 1e-12);
}

TEST(Robust, RankTestCountsTiesAsTheyAre) {
  EXPECT_NEAR(1, rank_test({5, 5, 5}, {5, 5, 5}), 1e-12);
  // Of the 10 ways to deal 1 1 2 2 2 to a side of two, one gives 1 1; the mirror image is 3 of 2 2.
  EXPECT_NEAR(0.1, rank_test({1, 1}, {2, 2, 2}), 1e-12);
}

TEST(Robust, LeastPIsThatOfSidesThatLieApart) {
  EXPECT_NEAR(rank_test({1, 2, 3, 4}, {5, 6, 7, 8}), min_p_value(4, 4), 1e-12);
  EXPECT_NEAR(2.0 / 184756, min_p_value(10, 10), 1e-12);
  EXPECT_EQ(1, min_p_value(1, 1));
}

}  // namespace
}  // namespace gpuprof::report::diff
