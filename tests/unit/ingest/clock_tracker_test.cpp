// SPDX-License-Identifier: Apache-2.0
#include "daemon/ingest/clocks/clock_tracker.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "daemon/ingest/clocks/clock_report.hpp"
#include "daemon/ingest/decode/id_map.hpp"

namespace gpuprof::ingest {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kReal = 1'700'000'000'000'000'000;
constexpr std::uint64_t kFlushNs = 25 * kMs;

wire::ClockSync reading(std::uint64_t cupti, std::uint64_t mono, std::uint64_t gap = 20) {
  return {cupti, mono, cupti, mono, 0, gap, 0};
}

/// A machine whose counter runs at `ghz`, with CUPTI's clock as told.
struct Machine {
  double ghz = 2.6;
  std::uint64_t ticks(std::uint64_t mono) const {
    return 7'000'000'000'000 + static_cast<std::uint64_t>(static_cast<long double>(mono) *
                                                          static_cast<long double>(ghz));
  }
  wire::ClockSync real(std::uint64_t mono, std::uint64_t gap = 100) const {
    return {kReal + mono, mono, kReal + mono, mono, ticks(mono), gap, 0};
  }
  wire::ClockSync counter(std::uint64_t mono, std::uint64_t gap = 100) const {
    return {ticks(mono), mono, kReal + mono, mono, ticks(mono), gap, wire::kClockForeign};
  }
  /// Runs at the counter's rate, but from another zero.
  wire::ClockSync other(std::uint64_t mono, std::uint64_t gap = 100) const {
    return {ticks(mono) - 5'000'000'000'000,
            mono,
            kReal + mono,
            mono,
            ticks(mono),
            gap,
            wire::kClockForeign};
  }
  /// CLOCK_REALTIME of a process whose callback puts it back by a second.
  wire::ClockSync stepped(std::uint64_t mono, std::uint64_t gap = 100) const {
    return {kReal + mono - 1000 * kMs, mono, kReal + mono, mono, ticks(mono), gap,
            wire::kClockForeign};
  }
};

std::uint64_t start_of(ClockTracker& clocks, std::uint64_t cupti, ReadingPosition place,
                       TimeBounds bounds = {}) {
  TimeSpan times{cupti, cupti};
  EXPECT_TRUE(clocks.to_mono(&times, place, bounds));
  return times.start_ns;
}

TimeSpan span_of(ClockTracker& clocks, std::uint64_t start, std::uint64_t end,
                 TimeBounds bounds = {}) {
  TimeSpan times{start, end};
  EXPECT_TRUE(clocks.to_mono(&times, clocks.place(true), bounds));
  return times;
}

std::uint64_t apart(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

TEST(ClockTracker, SeedServesUntilTheFirstReading) {
  ClockTracker clocks;
  EXPECT_FALSE(clocks.known());
  clocks.seed(100, 5000);
  EXPECT_TRUE(clocks.is_settled(clocks.place(false)));
  EXPECT_EQ(150u, start_of(clocks, 5050, {}));
  clocks.add(reading(9000, 200));
  EXPECT_EQ(250u, start_of(clocks, 9050, {}));
  EXPECT_EQ(150u, start_of(clocks, 8950, {})) << "before the first reading the first is used";
}

TEST(ClockTracker, ReadingsWithinTheirUncertaintyChangeNothing) {
  ClockTracker clocks;
  clocks.add(reading(1000 * kMs, 500 * kMs));
  for (std::uint64_t i = 1; i < 100; ++i)
    clocks.add(reading((1000 + 25 * i) * kMs, (500 + 25 * i) * kMs + i % 40));
  ASSERT_EQ(1u, clocks.segments().size());
  EXPECT_EQ(1u, clocks.segments()[0].pieces());
  EXPECT_EQ(2000 * kMs + 7, start_of(clocks, 2500 * kMs + 7, clocks.place(true)));
}

TEST(ClockTracker, AStepOfTheSystemClockIsFollowedEitherWay) {
  for (const std::uint64_t after : {4100 * kMs, 600 * kMs}) {
    ClockTracker clocks;
    EXPECT_EQ(0, clocks.add(reading(1000 * kMs, 500 * kMs)));
    const ReadingPosition before = clocks.place(true);
    EXPECT_EQ(static_cast<std::int64_t>(after - 1100 * kMs), clocks.add(reading(after, 600 * kMs)));
    const ReadingPosition behind = clocks.place(true);
    clocks.add(reading(after + 100 * kMs, 700 * kMs));
    EXPECT_EQ(2u, clocks.segments().size());
    EXPECT_EQ(550 * kMs, start_of(clocks, 1050 * kMs, before));
    EXPECT_EQ(650 * kMs, start_of(clocks, after + 50 * kMs, behind));
  }
}

TEST(ClockTracker, ReadingsOfAnyNumberAreToldApart) {
  ClockTracker clocks;
  clocks.add(reading(614, 100));
  clocks.add(reading((std::uint64_t{1} << 63) + 200, 200));  // the largest distance there is
  EXPECT_EQ(2u, clocks.segments().size());
}

TEST(ClockTracker, NumberOfPiecesAndSegmentsIsBounded) {
  ClockTracker drifting, jumping;
  for (std::uint64_t i = 1; i < 20'000; ++i) {
    drifting.add(reading(i * 3000, i * 1000, 0));
    jumping.add(reading(kReal + i * i * 100 * kMs, i * kMs, 0));
  }
  EXPECT_EQ(1u, drifting.segments().size());
  EXPECT_LE(drifting.segments()[0].pieces(), 4096u);
  EXPECT_LE(jumping.segments().size(), 64u);
  EXPECT_GT(start_of(drifting, 20'000 * 3000, drifting.place(true)), 0u);
}

TEST(ClockTracker, CounterAppearingInMidRunIsConvertedAtTheSessionsRate) {
  const Machine machine;
  ClockTracker clocks;
  std::uint64_t now = 1000 * kMs;
  for (; now < 6000 * kMs; now += kFlushNs) clocks.add(machine.real(now, 60 + now / kMs % 40));
  clocks.add(machine.counter(now));
  const ReadingPosition place = clocks.place(true);
  clocks.add(machine.counter(now + kMs));
  EXPECT_TRUE(clocks.is_settled(place)) << "the rate is known from before";
  const ClockSegment& segment = clocks.segments().back();
  EXPECT_EQ(ClockSource::kCounter, segment.source());
  EXPECT_LT(segment.rate_error(), 1e-7);
  EXPECT_GT(segment.baseline_ns(), 4000 * kMs);
  for (const std::uint64_t long_ns : {1'000u, 37'001u, 999'999u}) {
    TimeSpan times{machine.ticks(now + 5000), machine.ticks(now + 5000 + long_ns)};
    ASSERT_TRUE(clocks.to_mono(&times, place, {}));
    EXPECT_LE(apart(times.end_ns - times.start_ns, long_ns), 1u);
    EXPECT_LE(apart(times.start_ns, now + 5000), 50u);
  }
}

TEST(ClockTracker, CounterFromTheStartWaitsUntilItsRateIsGood) {
  const Machine machine;
  ClockTracker clocks;
  std::uint64_t now = 1000 * kMs;
  const ReadingPosition first = clocks.place(true);
  clocks.add(machine.counter(now));
  EXPECT_FALSE(clocks.is_settled(first));
  EXPECT_FALSE(clocks.segments().back().has_rate());
  while (!clocks.is_settled(first)) {
    ASSERT_LT(now, 1300 * kMs) << "a rate good to a nanosecond in a millisecond";
    clocks.add(machine.counter(now += kFlushNs));
  }
  const TimeSpan times = span_of(clocks, machine.ticks(now), machine.ticks(now + kMs));
  EXPECT_LE(apart(times.end_ns - times.start_ns, kMs), 1u);
}

TEST(ClockTracker, ClockWithARateOfItsOwnIsFitted) {
  const Machine machine;
  ClockTracker clocks;
  std::uint64_t now = 1000 * kMs;
  for (; now < 4000 * kMs; now += kFlushNs) clocks.add(machine.other(now));
  EXPECT_EQ(ClockSource::kUnknown, clocks.segments().back().source());
  const std::uint64_t zero = machine.ticks(now) - 5'000'000'000'000;
  const TimeSpan times = span_of(clocks, zero, zero + 2'600'000);
  EXPECT_LE(apart(times.end_ns - times.start_ns, kMs), 1u);
  EXPECT_LE(apart(times.start_ns, now), 50u);
}

TEST(ClockTracker, AReadingThatTookLongBendsNothing) {
  const Machine machine;
  ClockTracker clocks;
  std::uint64_t now = 1000 * kMs;
  for (int i = 0; now < 4000 * kMs; now += kFlushNs, ++i) {
    wire::ClockSync sync = machine.counter(now);
    if (i % 5 == 3) sync.mono_ns += 20'000, sync.uncertainty_ns = 45'000;
    clocks.add(sync);
  }
  EXPECT_EQ(1u, clocks.segments().size());
  const TimeSpan times = span_of(clocks, machine.ticks(now), machine.ticks(now + kMs));
  EXPECT_LE(apart(times.end_ns - times.start_ns, kMs), 1u);
  EXPECT_LE(apart(times.start_ns, now), 500u);
}

TEST(ClockTracker, ARateThatChangesIsFollowedWithoutAJump) {
  Machine machine;
  ClockTracker clocks;
  std::uint64_t now = 1000 * kMs, ticks = 7'000'000'000'000, last = 0;
  for (int i = 0; i < 2000; ++i, now += kFlushNs) {
    machine.ghz = i < 800 ? 2.6 : 2.6 * (1 + 20e-6);  // as NTP corrects by 20 ppm
    ticks += static_cast<std::uint64_t>(machine.ghz * static_cast<double>(kFlushNs));
    clocks.add({ticks, now + kFlushNs, kReal + now, now, ticks, 100, wire::kClockForeign});
    if (!clocks.segments().back().has_good_rate()) continue;
    const std::uint64_t start = span_of(clocks, ticks, ticks).start_ns;
    EXPECT_LE(apart(start, now + kFlushNs), 3000u) << i;
    if (last != 0) {
      EXPECT_LE(apart(start - last, kFlushNs), 2000u) << i;
    }
    last = start;
  }
  EXPECT_EQ(1u, clocks.segments().size());
  EXPECT_NEAR(1 / machine.ghz, clocks.segments().back().rate(), 1e-6 / machine.ghz);
}

/// CUPTI's clock steps back by a second between the readings at 1,100 and 1,125 ms.
class Stepping : public testing::Test {
 protected:
  void SetUp() override {
    std::uint64_t now = 1000 * kMs;
    for (; now < kStep; now += kFlushNs) clocks_.add(machine_.real(now));
    before_ = clocks_.place(true);
    clocks_.add(machine_.stepped(now));
    behind_ = clocks_.place(true);
    for (int i = 0; i < 20; ++i) clocks_.add(machine_.stepped(now += kFlushNs));
  }
  static constexpr std::uint64_t kStep = 1110 * kMs;
  static constexpr std::uint64_t kBack = kReal - 1000 * kMs;
  Machine machine_;
  ClockTracker clocks_;
  ReadingPosition before_, behind_;
};

TEST_F(Stepping, RecordsOfBothClocksInOneDeliveryGetTheirOwn) {
  ASSERT_EQ(2u, clocks_.segments().size());
  EXPECT_EQ(ClockSource::kNanoseconds, clocks_.segments()[1].source());
  const std::uint64_t early = 1102 * kMs, late = 1112 * kMs;
  for (const ReadingPosition place : {before_, behind_}) {
    EXPECT_EQ(early, start_of(clocks_, kReal + early, place, {early - 50'000}));
    EXPECT_EQ(late, start_of(clocks_, kBack + late, place, {late - 50'000}));
  }
  EXPECT_EQ(0u, clocks_.ambiguous()) << "a launch tells a second";
}

TEST_F(Stepping, RecordsWrittenAnewWithTheNewClockOfWorkBeforeItAreRight) {
  const std::uint64_t work = 1005 * kMs;  // its record was written after the change
  EXPECT_EQ(work, start_of(clocks_, kBack + work, behind_, {work - 1000}));
}

TEST_F(Stepping, RecordsThatFitBothAreCounted) {
  // Written without a launch: by the old clock at 1,050 ms, or by the new one at 2,050: not yet.
  EXPECT_EQ(1050 * kMs, start_of(clocks_, kReal + 1050 * kMs, behind_));
  EXPECT_EQ(0u, clocks_.ambiguous());
  // By the new clock at 1,112 ms, or by the old one at 112: nothing speaks against either.
  EXPECT_EQ(1112 * kMs, start_of(clocks_, kBack + 1112 * kMs, behind_));
  EXPECT_EQ(1u, clocks_.ambiguous());
  EXPECT_EQ(1000 * kMs, clocks_.ambiguous_by_ns());
}

TEST_F(Stepping, LongAfterAStepNothingIsAmbiguous) {
  const std::uint64_t now = 1500 * kMs;
  EXPECT_EQ(now, span_of(clocks_, kBack + now, kBack + now + 10).start_ns);
  EXPECT_EQ(0u, clocks_.ambiguous());
}

TEST(ClockTracker, ASmallStepLeavesRecordsAroundItInDoubtAndSaysSo) {
  const Machine machine;
  ClockTracker clocks;
  clocks.add(machine.real(1000 * kMs));
  const ReadingPosition before = clocks.place(true);
  wire::ClockSync stepped = machine.real(1025 * kMs);
  stepped.cupti_ns += 3 * kMs, stepped.real_ns += 3 * kMs;
  EXPECT_EQ(static_cast<std::int64_t>(3 * kMs), clocks.add(stepped));
  EXPECT_EQ(1010 * kMs, start_of(clocks, kReal + 1010 * kMs, before, {1001 * kMs}));
  EXPECT_EQ(1u, clocks.ambiguous());
  EXPECT_EQ(3 * kMs, clocks.ambiguous_by_ns());
  const TimeBounds call{0, 1010 * kMs, 1010 * kMs};
  EXPECT_EQ(1010 * kMs, start_of(clocks, kReal + 1013 * kMs, before, call));
  EXPECT_EQ(1u, clocks.ambiguous()) << "a host call is known by its callback";
}

TEST(ClockTracker, AreDescribedWithSourceRateAndFit) {
  const Machine machine;
  ClockTracker clocks;
  for (std::uint64_t now = 1000 * kMs; now <= 3000 * kMs; now += kFlushNs)
    clocks.add(machine.counter(now));
  const std::string text = describe_clock(clocks.segments().back());
  EXPECT_NE(std::string::npos, text.find("time-stamp counter, 1 tick = 0.384615")) << text;
  EXPECT_NE(std::string::npos, text.find("snapshots 2 s apart")) << text;
  EXPECT_NE(std::string::npos, text.find("since 1000000000, 81 snapshots")) << text;
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
