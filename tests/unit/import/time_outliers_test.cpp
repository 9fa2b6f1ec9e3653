// SPDX-License-Identifier: Apache-2.0
#include "analysis/import/time/time_outliers.hpp"
#include "analysis/import/store/parse_numbers.hpp"

#include "tests/unit/import/import_fixture.hpp"

namespace gpuprof::test {
namespace {

using importer::TimeHistogram;

constexpr std::int64_t kHour = 3'600'000'000'000, kDay = 24 * kHour, kYear = 365 * kDay;
constexpr std::int64_t kNow = 50 * kYear;

TEST(TimeSpread, LongRecordingsBelongTogether) {
  TimeHistogram spread;
  // More stretches than are kept apart.
  for (std::int64_t i = 0; i < 100'000; ++i) spread.add(kNow + i * kHour, kNow + i * kHour + 5);
  EXPECT_FALSE(spread.bounds().has_value());
  spread.add(5 * kDay, 5 * kDay + 1);
  ASSERT_TRUE(spread.bounds().has_value());
  EXPECT_EQ(spread.bounds()->from_ns, kNow);
  EXPECT_EQ(spread.bounds()->to_ns, kNow + 99'999 * kHour);
}

TEST(TimeSpread, ANumberThatStandsForNothingIsOneHoweverFrequent) {
  TimeHistogram spread;
  for (int i = 0; i < 1000; ++i) {
    spread.add(0, 0);
    spread.add(-1'000'000, -1'000'000);
    if (i < 3) spread.add(kNow + i, kNow + i + 1);
  }
  const auto bounds = spread.bounds();
  ASSERT_TRUE(bounds.has_value());
  EXPECT_TRUE(bounds->holds(kNow + 1, kNow + 2));
  EXPECT_FALSE(bounds->holds(0, 0));
  EXPECT_FALSE(bounds->holds(-1'000'000, -1'000'000));
  EXPECT_FALSE(bounds->holds(kNow, kNow + kYear));
}

TEST(TimeSpread, ExtremesDoNotOverflow) {
  TimeHistogram spread;
  for (const std::int64_t at : {importer::kEarliestNs, importer::kLatestNs, kNow, kNow + 1})
    spread.add(at, importer::kLatestNs);
  ASSERT_TRUE(spread.bounds().has_value());
  EXPECT_EQ(spread.bounds()->from_ns, kNow);
}

using FarTimes = ImportTest;

TEST_F(FarTimes, AreSetAsideAcrossSortedParts) {
  // More records than are sorted at once.
  std::string events = complete("kernel", "broken", 0, 0, "\"device\":0,\"stream\":7");
  constexpr int kGood = 150'000;
  for (int i = 0; i < kGood; ++i) events += "," + complete("cpu_op", "good", 1.6e15 + 10 * i, 5);
  events += "," + complete("cpu_op", "late", 3.2e15, 5);
  const auto told = import_events(events);
  EXPECT_EQ(told->operators.size(), static_cast<std::size_t>(kGood));
  EXPECT_TRUE(told->kernels.empty());
  ASSERT_EQ(session_.windows.size(), 1u);
  EXPECT_EQ(session_.windows[0].end_ns - session_.windows[0].start_ns,
            10'000u * (kGood - 1) + 5'001);
  EXPECT_TRUE(has_note("2 events of"));
  EXPECT_TRUE(has_note("1 of 'kernel', 1 of 'operator'"));
  EXPECT_EQ(imported_->files.at(0).account.events(), kGood + 2u);
}

TEST_F(FarTimes, NegativeLengthsAreNoneAndTold) {
  import_events(complete("cpu_op", "good", 1, 2) + "," + complete("cpu_op", "short", 3, -1));
  EXPECT_TRUE(has_note("1 negative duration (read as 0)"));
}

}  // namespace
}  // namespace gpuprof::test
