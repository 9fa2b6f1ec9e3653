// SPDX-License-Identifier: Apache-2.0
#include "daemon/ingest/clocks.hpp"

#include <gtest/gtest.h>

#include "daemon/ingest/id_map.hpp"

namespace gpuprof::ingest {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

wire::ClockSync reading(std::uint64_t cupti, std::uint64_t mono, std::uint64_t gap = 20) {
  return {cupti, mono, cupti, mono, 0, gap, 0};
}

TEST(Clocks, SeedServesUntilTheFirstReading) {
  Clocks clocks;
  EXPECT_FALSE(clocks.known());
  clocks.seed(100, 5000);
  EXPECT_EQ(150u, clocks.to_mono(5050));
  clocks.add(reading(9000, 200));
  EXPECT_EQ(250u, clocks.to_mono(9050));
  EXPECT_EQ(150u, clocks.to_mono(8950)) << "before the first reading the first is used";
}

TEST(Clocks, ReadingsWithinTheirUncertaintyChangeNothing) {
  Clocks clocks;
  clocks.add(reading(1000 * kMs, 500 * kMs));
  for (std::uint64_t i = 1; i < 100; ++i)
    clocks.add(reading((1000 + 25 * i) * kMs, (500 + 25 * i) * kMs + i % 40));
  EXPECT_EQ(1u, clocks.pieces());
  EXPECT_EQ(2000 * kMs + 7, clocks.to_mono(2500 * kMs + 7));
}

TEST(Clocks, ForwardStepOfTheSystemClockIsFollowed) {
  Clocks clocks;
  EXPECT_EQ(0, clocks.add(reading(1000 * kMs, 500 * kMs)));
  EXPECT_EQ(static_cast<std::int64_t>(3000 * kMs), clocks.add(reading(4100 * kMs, 600 * kMs)));
  EXPECT_EQ(550 * kMs, clocks.to_mono(1050 * kMs));
  EXPECT_EQ(650 * kMs, clocks.to_mono(4150 * kMs));
}

TEST(Clocks, BackwardStepOfTheSystemClockIsFollowed) {
  Clocks clocks;
  clocks.add(reading(9000 * kMs, 500 * kMs));
  EXPECT_LT(clocks.add(reading(2000 * kMs, 600 * kMs)), 0);
  EXPECT_EQ(550 * kMs, clocks.to_mono(9050 * kMs)) << "from before the step";
  EXPECT_EQ(650 * kMs, clocks.to_mono(2050 * kMs));
}

TEST(Clocks, NumberOfPiecesIsBounded) {
  Clocks clocks;
  for (std::uint64_t i = 0; i < 20'000; ++i) clocks.add(reading(i * 3000, i * 1000, 0));
  EXPECT_LE(clocks.pieces(), 4096u);
  EXPECT_GT(clocks.to_mono(20'000 * 3000), 0u);
}

TEST(IdMap, FindsWhatWasPut) {
  IdMap map(42);
  for (std::uint64_t i = 0; i < 5000; ++i) map.put(i * 64, static_cast<std::uint32_t>(i + 1));
  for (std::uint64_t i = 0; i < 5000; ++i) ASSERT_EQ(i + 1, map.find(i * 64));
  EXPECT_EQ(0u, map.find(1));
  map.put(64, 9);
  EXPECT_EQ(9u, map.find(64));
  EXPECT_EQ(5000u, map.size());
}

}  // namespace
}  // namespace gpuprof::ingest
