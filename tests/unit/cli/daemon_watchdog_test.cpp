// SPDX-License-Identifier: Apache-2.0
#include "cli/session/daemon_watchdog.hpp"

#include <gtest/gtest.h>

namespace gpuprof::cli {
namespace {

using State = DaemonPulse::State;
using Look = DaemonPulse::Look;

/// The state after `count` looks that all find the same.
State after(DaemonPulse& pulse, unsigned count, const Look& look) {
  State state = State::kAlive;
  for (unsigned i = 0; i < count; ++i) state = pulse.see(look);
  return state;
}

TEST(DaemonPulse, StoppedDaemonIsGivenAFewSeconds) {
  DaemonPulse pulse;
  const Look stopped{true, false, 7};
  EXPECT_EQ(after(pulse, DaemonPulse::kLooksStopped - 1, stopped), State::kAlive);
  EXPECT_EQ(pulse.see(stopped), State::kStopped);
}

TEST(DaemonPulse, ContinuedDaemonStartsAnew) {
  DaemonPulse pulse;
  after(pulse, DaemonPulse::kLooksStopped - 1, {true, false, 7});
  pulse.see({false, false, 8});
  EXPECT_EQ(after(pulse, DaemonPulse::kLooksStopped - 1, {true, false, 8}), State::kAlive);
}

TEST(DaemonPulse, IdleAndSilentIsStuck) {
  DaemonPulse pulse;
  pulse.see({false, false, 7});
  EXPECT_EQ(after(pulse, DaemonPulse::kLooksStuck - 1, {false, false, 7}), State::kAlive);
  EXPECT_EQ(pulse.see({false, false, 7}), State::kStuck);
}

TEST(DaemonPulse, WorkingDaemonIsWaitedForHoweverLong) {
  DaemonPulse busy, using_cpu;
  EXPECT_EQ(after(busy, 100 * DaemonPulse::kLooksStuck, {false, true, 7}), State::kAlive);
  for (unsigned i = 0; i < 100 * DaemonPulse::kLooksStuck; ++i) {
    ASSERT_EQ(using_cpu.see({false, false, i / 50}), State::kAlive) << i;
  }
}

TEST(DaemonPulse, AWordCounts) {
  DaemonPulse pulse;
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(after(pulse, DaemonPulse::kLooksStuck - 1, {false, false, 7}), State::kAlive);
    pulse.spoke();
  }
}

}  // namespace
}  // namespace gpuprof::cli
