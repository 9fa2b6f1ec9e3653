// SPDX-License-Identifier: Apache-2.0
#include "cli/session/daemon_watchdog.hpp"

#include <gtest/gtest.h>

namespace gpuprof::cli {
namespace {

using State = DaemonWatchdog::State;
using Look = DaemonWatchdog::Observation;

/// The state after `count` looks that all find the same.
State after(DaemonWatchdog& pulse, unsigned count, const Look& look) {
  State state = State::kAlive;
  for (unsigned i = 0; i < count; ++i) state = pulse.observe(look);
  return state;
}

TEST(DaemonWatchdog, StoppedDaemonIsGivenAFewSeconds) {
  DaemonWatchdog pulse;
  const Look stopped{true, false, 7};
  EXPECT_EQ(after(pulse, DaemonWatchdog::kStoppedPolls - 1, stopped), State::kAlive);
  EXPECT_EQ(pulse.observe(stopped), State::kStopped);
}

TEST(DaemonWatchdog, ContinuedDaemonStartsAnew) {
  DaemonWatchdog pulse;
  after(pulse, DaemonWatchdog::kStoppedPolls - 1, {true, false, 7});
  pulse.observe({false, false, 8});
  EXPECT_EQ(after(pulse, DaemonWatchdog::kStoppedPolls - 1, {true, false, 8}), State::kAlive);
}

TEST(DaemonWatchdog, IdleAndSilentIsStuck) {
  DaemonWatchdog pulse;
  pulse.observe({false, false, 7});
  EXPECT_EQ(after(pulse, DaemonWatchdog::kHungPolls - 1, {false, false, 7}), State::kAlive);
  EXPECT_EQ(pulse.observe({false, false, 7}), State::kHung);
}

TEST(DaemonWatchdog, WorkingDaemonIsWaitedForHoweverLong) {
  DaemonWatchdog busy, using_cpu;
  EXPECT_EQ(after(busy, 100 * DaemonWatchdog::kHungPolls, {false, true, 7}), State::kAlive);
  for (unsigned i = 0; i < 100 * DaemonWatchdog::kHungPolls; ++i) {
    ASSERT_EQ(using_cpu.observe({false, false, i / 50}), State::kAlive) << i;
  }
}

TEST(DaemonWatchdog, AWordCounts) {
  DaemonWatchdog pulse;
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(after(pulse, DaemonWatchdog::kHungPolls - 1, {false, false, 7}), State::kAlive);
    pulse.reset();
  }
}

}  // namespace
}  // namespace gpuprof::cli
