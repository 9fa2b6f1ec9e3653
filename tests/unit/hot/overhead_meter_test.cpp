// SPDX-License-Identifier: Apache-2.0
//
// One entry in many is timed, and what it stands for.
#include "inject/hot/clock/overhead_meter.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "inject/hot/recorder.hpp"
#include "tests/fakes/in_process_segment.hpp"

namespace gpuprof::hot {
namespace {

std::uint64_t own_ns() {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < g_state.ring_count; ++i)
    sum += g_state.rings[i]
               .ring.resolve<wire::RingHeader>(g_state.segment, g_state.segment_bytes)
               ->overhead_ns.load();
  return sum;
}

// Entries between two that are timed, over many.
std::multiset<int> distances(bool rare) {
  OverheadMeter cost;
  cost.begin(rare, 12345);
  std::multiset<int> all;
  for (int since = 0, entry = 0; entry < 100'000; ++entry) {
    ++since;
    cost.enter(false);
    if (!cost.is_timed()) continue;
    cost.end();
    all.insert(since);
    since = 0;
  }
  return all;
}

TEST(Cost, IsOffAtFirst) {
  OverheadMeter cost;
  EXPECT_FALSE(cost.is_on());
  EXPECT_FALSE(cost.is_timed());
}

TEST(Cost, TimesOneEntryInSixtyFourAtDistancesThatVary) {
  const std::multiset<int> all = distances(false);
  EXPECT_GE(*all.begin(), 33);
  EXPECT_LE(*all.rbegin(), 96);
  EXPECT_GT(std::set<int>(all.begin(), all.end()).size(), 50u);
  EXPECT_NEAR(64.5, 100'000.0 / static_cast<double>(all.size()), 2);
}

TEST(Cost, TimesOneSignalInFourOrFive) {
  const std::multiset<int> all = distances(true);
  EXPECT_GE(*all.begin(), 1);
  EXPECT_LE(*all.rbegin(), 8);
  EXPECT_NEAR(4.5, 100'000.0 / static_cast<double>(all.size()), 0.2);
}

TEST(Cost, StandsForTheEntriesSinceTheLastOne) {
  g_state.clock_cost_ns = 0;
  OverheadMeter cost;
  cost.begin(false, 1);
  int entries = 0;
  while (!cost.is_timed()) cost.enter(false), ++entries;
  cost.set_begin(base::mono_ns() - 1'000);
  const std::uint64_t told = cost.end();
  EXPECT_GE(told, static_cast<std::uint64_t>(entries) * 1'000);
  EXPECT_LT(told, static_cast<std::uint64_t>(entries) * 20'001 + 1'000'001);
}

TEST(Cost, AThreadThatLostItsProcessorIsNoCostOfAllTheEntriesBefore) {
  g_state.clock_cost_ns = 0;
  OverheadMeter cost;
  cost.begin(false, 1);
  while (!cost.is_timed()) cost.enter(false);
  cost.set_begin(base::mono_ns() - 50'000'000);
  EXPECT_LE(cost.end(), 96u * 20'000 + 1'000'000);
}

TEST(Cost, ADeliveryStandsForItself) {
  g_state.clock_cost_ns = 0;
  OverheadMeter cost;
  cost.begin(false, 1);
  cost.enter(true);
  ASSERT_TRUE(cost.is_timed());
  cost.set_begin(base::mono_ns() - 2'000'000);
  const std::uint64_t told = cost.end();
  EXPECT_GE(told, 2'000'000u);
  EXPECT_LE(told, 10'000'000u);
}

TEST(Cost, WhatACallerSpentOnTellingUsIsInIt) {
  g_state.clock_cost_ns = 0;
  OverheadMeter cost;
  cost.begin(true, 1);
  while (!cost.is_timed()) cost.enter(false);
  cost.add_caller_cost(5'000);
  EXPECT_GE(cost.end(), 5'000u);
}

// In a thread of its own each, so that it claims its ring buffer in the test's segment.
template <typename F>
void in_a_thread(F f) {
  std::thread(f).join();
  retire_threads([](std::uint32_t tid, void*) { return thread_exited(tid); }, nullptr);
}

void many_entries() {
  for (int i = 0; i < 1'000; ++i) {
    const Guard guard(RingRole::kCallback);
    ASSERT_TRUE(guard);
    for (const std::uint64_t until = base::mono_ns() + 5'000; base::mono_ns() < until;) {
    }
  }
}

TEST(Guard, MeasuresNothingWhereNobodyAskedForIt) {
  fakes::InProcessSegment segment;
  g_state.measures_overhead = false;
  in_a_thread(many_entries);
  EXPECT_EQ(0u, own_ns());
}

TEST(Guard, MeasuresWhatHappensInside) {
  fakes::InProcessSegment segment;
  g_state.measures_overhead = true;
  in_a_thread(many_entries);
  g_state.measures_overhead = false;
  EXPECT_GE(own_ns(), 4'000'000u);   // of 5 ms, the last entries are not told yet
  EXPECT_LE(own_ns(), 60'000'000u);  // also on a machine that is busy with other things
}

TEST(Guard, DoesNotMeasureThreadsThatOnlyDeliver) {
  fakes::InProcessSegment segment;
  g_state.measures_overhead = true;
  in_a_thread([] {
    const Guard guard(RingRole::kCallback, true);
    ASSERT_TRUE(guard);
    EXPECT_FALSE(guard.producer().overhead.is_on());
  });
  g_state.measures_overhead = false;
}

}  // namespace
}  // namespace gpuprof::hot
