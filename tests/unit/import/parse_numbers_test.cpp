// SPDX-License-Identifier: Apache-2.0
#include "analysis/import/store/parse_numbers.hpp"

#include <gtest/gtest.h>

namespace gpuprof::importer {
namespace {

TEST(NumberText, MicrosecondsBecomeNanosecondsToTheDigit) {
  EXPECT_EQ(parse_us_as_ns("0"), 0);
  EXPECT_EQ(parse_us_as_ns("12.5"), 12'500);
  EXPECT_EQ(parse_us_as_ns("4550131015528.024"), 4'550'131'015'528'024);
  EXPECT_EQ(parse_us_as_ns("1623142623460111"), 1'623'142'623'460'111'000);
  EXPECT_EQ(parse_us_as_ns("0.001"), 1);
  EXPECT_EQ(parse_us_as_ns("-3.25"), -3'250);
}

TEST(NumberText, DigitsBelowANanosecondRound) {
  EXPECT_EQ(parse_us_as_ns("1.0004"), 1'000);
  EXPECT_EQ(parse_us_as_ns("1.0005"), 1'001);
  EXPECT_EQ(parse_us_as_ns("0.9999"), 1'000);
}

TEST(NumberText, ExponentsAreRead) {
  EXPECT_EQ(parse_us_as_ns("1e3"), 1'000'000);
  EXPECT_EQ(parse_us_as_ns("-1.5e1"), -15'000);
}

TEST(NumberText, WhatIsNoTimeIsNone) {
  for (const char* text : {"", "-", "abc", "NaN", "Infinity", "-Infinity", "1e300", "1.2.3",
                           "99999999999999999999", "-2000000000000000", "0x10"})
    EXPECT_EQ(parse_us_as_ns(text), std::nullopt) << text;
}

TEST(NumberText, WholeNumbersMayHaveAnEmptyFraction) {
  EXPECT_EQ(parse_int64("17"), 17);
  EXPECT_EQ(parse_int64("17.0"), 17);
  EXPECT_EQ(parse_int64("17.5"), std::nullopt);
  EXPECT_EQ(parse_int64("99999999999999999999"), std::nullopt);
  EXPECT_EQ(parse_uint64("18446744073709551615"), 18446744073709551615ULL);
}

}  // namespace
}  // namespace gpuprof::importer
