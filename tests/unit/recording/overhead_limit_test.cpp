// SPDX-License-Identifier: Apache-2.0
//
// The grammar of --max-overhead.
#include "recording/session/overhead_limit.hpp"

#include <gtest/gtest.h>

namespace gpuprof::recording {
namespace {

TEST(MaxOverhead, IsAShareWithOrWithoutItsSign) {
  EXPECT_EQ(30'000u, parse_max_overhead("3%").value());
  EXPECT_EQ(30'000u, parse_max_overhead("3").value());
  EXPECT_EQ(25'000u, parse_max_overhead("2.5 %").value());
  EXPECT_EQ(1'000u, parse_max_overhead("0.1%").value());
  EXPECT_EQ(500'000u, parse_max_overhead("50").value());
}

TEST(MaxOverhead, OffIsNoLimit) { EXPECT_EQ(0u, parse_max_overhead("off").value()); }

TEST(MaxOverhead, RefusesWhatIsNoShare) {
  for (const char* word : {"", "%", "0", "0.09", "51", "-3", "3%%", "1e1", "inf", "nan", "3 s"})
    EXPECT_FALSE(parse_max_overhead(word)) << word;
}

}  // namespace
}  // namespace gpuprof::recording
