// SPDX-License-Identifier: Apache-2.0
//
// What looks at a thread's CPU time tell of its waits: the time is the test's own.
#include "inject/sample/threads/wait_tracker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gpuprof::sample {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kPeriod = 20 * kMs;  // between two looks, at 100 Hz

/// A thread that runs and waits in turn; `ends` in ns, running first.
class Script {
 public:
  explicit Script(std::vector<std::uint64_t> ends) : ends_(std::move(ends)), ran_{0} {
    for (std::size_t i = 0; i < ends_.size(); ++i)
      ran_.push_back(ran_[i] + (i % 2 == 0 ? ends_[i] - (i == 0 ? 0 : ends_[i - 1]) : 0));
  }

  bool waits(std::uint64_t at) const { return phase(at) % 2 == 1; }
  std::uint64_t cpu(std::uint64_t at) const {
    const std::size_t now = phase(at);
    const std::uint64_t begin = now == 0 ? 0 : ends_[now - 1];
    return ran_[now] + (now % 2 == 0 && now < ends_.size() ? at - begin : 0);
  }

 private:
  std::size_t phase(std::uint64_t at) const {
    return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), at) -
                                    ends_.begin());
  }
  std::vector<std::uint64_t> ends_;
  std::vector<std::uint64_t> ran_;  // before each phase
};

/// What the sampler makes of it (off_cpu.cpp), stacks left out.
std::uint64_t told(const Script& script, std::uint64_t first, std::uint64_t until) {
  WaitTracker memory;
  std::uint64_t sum = 0, reported_ns = 0, stands_for = 0, over_reported_ns = 0;
  bool probed = false;
  for (std::uint64_t now = first; now < until; now = std::max(now + 1, memory.due_ns())) {
    const WaitTracker::Observation seen = memory.observe(now, script.cpu(now));
    if (over_reported_ns != 0) sum += memory.unreported_end(over_reported_ns).weight_ns;
    over_reported_ns = 0;
    if (seen == WaitTracker::Observation::kAsleep) {
      sum += now - (reported_ns != 0 ? reported_ns : memory.began_ns());
      reported_ns = now;
    } else if (seen == WaitTracker::Observation::kMoved) {
      if (reported_ns != 0)
        over_reported_ns = reported_ns;
      else if (probed)
        sum += stands_for;
      reported_ns = 0;
      probed = false;
      if (memory.wants_probe()) {
        probed = script.waits(now);
        if (probed)
          stands_for = memory.probe_found_waiting();
        else
          memory.probe_found_running();
      }
    }
    memory.plan_next(seen, kPeriod);
  }
  return sum;
}

class SingleWait : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SingleWait, IsAsLongAsItWasWheneverLooksCome) {
  const std::uint64_t length = GetParam() * kMs;
  const Script script({500 * kMs, 500 * kMs + length, 2'000 * kMs + length});
  for (std::uint64_t phase = 0; phase < 20; ++phase) {
    const std::uint64_t sum = told(script, kMs + phase * 500'000, 1'500 * kMs + length);
    EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(length), 0.3 * kMs)
        << GetParam() << " ms, looks from " << phase;
  }
}
INSTANTIATE_TEST_SUITE_P(Lengths, SingleWait, testing::Values(41, 60, 100, 333, 3'000));

TEST(WaitTracker, TellsAWaitBesideShortRunsWithinAPeriod) {
  // 12 ms of work on both sides: neither is a whole time between two looks.
  const Script script(
      {300 * kMs, 488 * kMs, 500 * kMs, 560 * kMs, 572 * kMs, 760 * kMs, 2'000 * kMs});
  for (std::uint64_t phase = 1; phase < 10; ++phase) {
    const std::uint64_t sum = told(script, kMs + phase * kMs, 1'000 * kMs);
    EXPECT_NEAR(static_cast<double>(sum), (188.0 + 60 + 188) * kMs, 3 * 10.0 * kMs) << phase;
  }
}

TEST(WaitTracker, TellsNothingOfAThreadThatRuns) {
  EXPECT_EQ(told(Script({10'000 * kMs}), kMs, 5'000 * kMs), 0u);
}

TEST(WaitTracker, ShortWaitsSumUpRightOnAverage) {
  // 1 ms of 2, in no step with the looks.
  std::vector<std::uint64_t> ends;
  for (std::uint64_t at = 0; at < 60'000 * kMs;) {
    ends.push_back(at += 1'013'000);
    ends.push_back(at += 1'000'000);
  }
  const Script script(ends);
  const double sum = static_cast<double>(told(script, kMs, 60'000 * kMs));
  EXPECT_NEAR(sum / (60'000.0 * kMs), 0.497, 0.06);
}

TEST(WaitTracker, WaitsBetweenShortRunsFillTheTime) {
  // 60 ms each, 0.1 ms of work between them: what belongs to neither side is halved.
  std::vector<std::uint64_t> ends;
  for (std::uint64_t at = 0; at < 20'000 * kMs;) {
    ends.push_back(at += 100'000);
    ends.push_back(at += 60 * kMs);
  }
  const double sum = static_cast<double>(told(Script(ends), kMs, 20'000 * kMs));
  EXPECT_NEAR(sum / (20'000.0 * kMs), 0.998, 0.03);
}

TEST(WaitTracker, LooksLessOftenTheLongerOneWaits) {
  WaitTracker memory;
  memory.plan_next(memory.observe(kMs, 5), kPeriod);
  EXPECT_EQ(memory.due_ns(), kMs + kPeriod);
  std::uint64_t now = memory.due_ns(), looks = 0;
  for (; now < 10'000 * kMs; now = memory.due_ns(), ++looks)
    memory.plan_next(memory.observe(now, 5), kPeriod);
  EXPECT_LT(looks, 10'000u / 80 + 60);
}

TEST(WaitTracker, AWaitWithoutAStackIsOwedToTheNext) {
  WaitTracker memory;
  std::uint64_t now = kMs, cpu = 1;
  memory.observe(now, cpu);
  while (!memory.wants_probe()) memory.observe(now += kPeriod, ++cpu);
  memory.probe_without_stack();
  while (!memory.wants_probe()) memory.observe(now += kPeriod, ++cpu);
  EXPECT_EQ(memory.probe_found_waiting(), 2 * 80 * kMs);
}

}  // namespace
}  // namespace gpuprof::sample
