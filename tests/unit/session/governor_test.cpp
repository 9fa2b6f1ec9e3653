// SPDX-License-Identifier: Apache-2.0
//
// When something is left out under --max-overhead, what, and when nothing is.
#include "daemon/session/target/governor.hpp"

#include <gmock/gmock.h>

#include "daemon/session/target/overhead_monitor.hpp"

namespace gpuprof::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kLook = 100 * kMs;
constexpr std::uint64_t kThreePercent = 30'000;

wire::Config everything() {
  wire::Config config{};
  config.trace = wire::kTraceAll;
  config.rate_hz = 100;
  config.launch_stacks = 1;
  config.torch_detail = wire::kTorchAll;
  config.step_source = static_cast<std::uint32_t>(wire::StepSource::kAuto);
  return config;
}

std::vector<std::uint32_t> bits_of(const std::vector<Reduction>& reductions) {
  std::vector<std::uint32_t> bits;
  for (const Reduction& reduction : reductions) bits.push_back(reduction.reduced);
  return bits;
}

/// A process under a clock of the test's own, looked at every 100 ms.
struct Program {
  explicit Program(std::uint64_t limit_ppm, bool needs_steps = false)
      : governor(limit_ppm, reductions_for(everything(), needs_steps)) {
    look({});
  }

  std::optional<Governor::Decision> look(const ThreadCosts& costs) {
    now_ns += kLook;
    for (const auto& [tid, cost] : costs) cpu_ns[tid] += runs_ns;
    return governor.check(now_ns, recording, costs,
                          [this](std::uint32_t tid) -> std::optional<std::uint64_t> {
                            if (!cpu_is_known) return {};
                            return cpu_ns[tid];
                          });
  }

  /// Looks for `ms`, with `cost` in each, until there is a step.
  std::optional<Governor::Decision> run(std::uint64_t ms, const ThreadCosts& costs) {
    for (std::uint64_t at = 0; at < ms * kMs; at += kLook)
      if (auto step = look(costs)) return step;
    return {};
  }

  Governor governor;
  std::uint64_t now_ns = 1'000'000 * kMs;
  std::uint64_t runs_ns = kLook;  // of each look
  bool recording = true, cpu_is_known = true;
  std::map<std::uint32_t, std::uint64_t> cpu_ns;
};

ThreadCosts callbacks(std::uint64_t ns) { return {{7, {ns, 0}}}; }
ThreadCosts samples(std::uint64_t ns) { return {{7, {0, ns}}}; }

TEST(Governor, LeavesEverythingAsItIsBelowTheLimit) {
  Program program(kThreePercent);
  EXPECT_FALSE(program.run(60'000, callbacks(29 * kLook / 1000)));
  EXPECT_EQ(0u, program.governor.reduced());
  EXPECT_NEAR(29'000, static_cast<double>(program.governor.highest_ppm()), 10);
}

TEST(Governor, TakesOneReductionAboveTheLimitAndSaysWhoseTimeItWas) {
  Program program(kThreePercent);
  const auto step = program.run(2000, {{7, {kLook / 20, 0}}, {8, {kLook / 100, 0}}});
  ASSERT_TRUE(step && step->reduction);
  EXPECT_EQ(7u, step->tid);
  EXPECT_GT(step->share_ppm, kThreePercent);
  EXPECT_EQ(wire::kThrottleStacks, step->reduction->reduced);
  EXPECT_EQ(wire::kThrottleStacks, program.governor.reduced());
}

TEST(Governor, ActsAsSoonAsASecondIsSureToBeAboveTheLimit) {
  Program program(kThreePercent);
  // 20 % of each look: after two of them more than 3 % of a second is spent.
  EXPECT_FALSE(program.look(callbacks(kLook / 5)));
  EXPECT_TRUE(program.look(callbacks(kLook / 5)));
}

TEST(Governor, ForgetsWhatIsOlderThanASecond) {
  Program program(kThreePercent);
  EXPECT_FALSE(program.run(100, callbacks(kLook / 5)));
  EXPECT_FALSE(program.run(1000, callbacks(0)));
  EXPECT_FALSE(program.run(100, callbacks(kLook / 5)));
}

TEST(Governor, JudgesAReductionByWhatCameAfterIt) {
  Program program(kThreePercent);
  ASSERT_TRUE(program.run(1000, callbacks(kLook / 5)));
  EXPECT_FALSE(program.run(10'000, callbacks(kLook / 50)));
  EXPECT_EQ(wire::kThrottleStacks, program.governor.reduced());
  EXPECT_TRUE(program.run(2000, callbacks(kLook / 5)));
}

TEST(Governor, GivesAReductionTimeToTakeEffect) {
  Program program(kThreePercent);
  ASSERT_TRUE(program.run(1000, callbacks(kLook)));
  EXPECT_FALSE(program.look(callbacks(kLook)));
}

TEST(Governor, GoesDownTheOrderOfReductionsAndSaysOnceThatNothingIsLeft) {
  Program program(kThreePercent);
  std::vector<std::uint32_t> taken;
  std::optional<Governor::Decision> last;
  const ThreadCosts both{{7, {kLook / 10, kLook / 10}}};
  for (int i = 0; i < 20; ++i)
    if (const auto step = program.run(2000, both)) {
      last = step;
      if (step->reduction) taken.push_back(step->reduction->reduced);
    }
  const auto rate = [](std::uint32_t n) { return n << wire::kThrottleRateShift; };
  const std::uint32_t stacks = wire::kThrottleStacks, api = stacks | wire::kThrottleApi | rate(3);
  const std::uint32_t host = api | wire::kThrottleHost, silent = host | wire::kThrottleSamples;
  EXPECT_THAT(taken, ElementsAre(stacks, stacks | rate(1), stacks | rate(2), stacks | rate(3), api,
                                 host, silent, silent | wire::kThrottleSteps));
  ASSERT_TRUE(last);
  EXPECT_FALSE(last->reduction);
  EXPECT_FALSE(program.run(20'000, both));
}

TEST(Governor, PassesOverWhatWouldSaveNearlyNothing) {
  Program operators(kThreePercent);
  ASSERT_TRUE(operators.run(2000, callbacks(kLook / 10)));
  const auto second = operators.run(2000, callbacks(kLook / 10));
  ASSERT_TRUE(second && second->reduction);
  EXPECT_EQ(wire::kThrottleStacks | wire::kThrottleApi, second->reduction->reduced);

  Program sampled(kThreePercent);
  ASSERT_TRUE(sampled.run(2000, samples(kLook / 10)));
  const auto then = sampled.run(2000, samples(kLook / 10));
  ASSERT_TRUE(then && then->reduction);
  EXPECT_EQ(1u, wire::rate_halvings(then->reduction->reduced));
}

TEST(Governor, PutsShortWindowsTogether) {
  Program program(kThreePercent);
  bool acted = false;
  for (int window = 0; window < 20 && !acted; ++window) {
    program.recording = true;
    acted = program.look(callbacks(kLook / 10)).has_value();
    program.recording = false;
    for (int i = 0; i < 30; ++i) EXPECT_FALSE(program.look(callbacks(0)));
  }
  EXPECT_TRUE(acted);
}

TEST(Governor, JudgesNothingWhileNothingIsRecorded) {
  Program program(kThreePercent);
  program.recording = false;
  EXPECT_FALSE(program.run(5000, callbacks(kLook)));
}

TEST(Governor, ComparesWithTheTimeAThreadRan) {
  Program program(kThreePercent);
  program.runs_ns = kLook / 4;  // 2 % of the wall clock's time, 8 % of its own
  const auto step = program.run(3000, callbacks(kLook / 50));
  ASSERT_TRUE(step);
  EXPECT_GT(step->share_ppm, kThreePercent);
}

TEST(Governor, IsNotMovedByAThreadThatHardlyRuns) {
  Program program(kThreePercent);
  program.runs_ns = kLook / 1000;
  EXPECT_FALSE(program.run(10'000, callbacks(kLook / 1000)));
}

TEST(Governor, TakesTheWallClockWhereCpuTimeIsNotKnown) {
  Program program(kThreePercent);
  program.cpu_is_known = false;
  program.runs_ns = kLook / 4;
  EXPECT_FALSE(program.run(5000, callbacks(kLook / 50)));
}

TEST(Governor, BelievesNoThreadThatSpentMoreThanTheTimeThatPassed) {
  Program program(500'000);
  const auto step = program.run(5000, callbacks(1ULL << 50));
  ASSERT_TRUE(step);
  EXPECT_LE(step->share_ppm, 1'000'000u);
}

TEST(Reductions, HoldNothingThatIsOffAnyway) {
  wire::Config config = everything();
  config.trace = wire::kTracePython;
  config.step_source = 0;
  const auto rate = [](std::uint32_t n) { return n << wire::kThrottleRateShift; };
  EXPECT_THAT(bits_of(reductions_for(config, false)), ElementsAre(rate(1), rate(2), rate(3), 8));
  config.rate_hz = 2;
  EXPECT_THAT(bits_of(reductions_for(config, false)), ElementsAre(rate(1), 8));
  config.rate_hz = 0;
  EXPECT_THAT(bits_of(reductions_for(config, false)), ElementsAre());
}

TEST(Reductions, KeepStepsThatWindowsAreCountedIn) {
  EXPECT_EQ(wire::kThrottleSteps, reductions_for(everything(), false).back().reduced);
  EXPECT_NE(wire::kThrottleSteps, reductions_for(everything(), true).back().reduced);
}

TEST(Reductions, SayTheRateThatIsLeft) {
  EXPECT_THAT(reductions_for(everything(), false)[2].what,
              HasSubstr("25 times a second instead of 100"));
}

TEST(PercentText, HasThreeDigitsAndNoIdleZeros) {
  EXPECT_EQ("3 %", percent_text(30'000));
  EXPECT_EQ("3.01 %", percent_text(30'100));
  EXPECT_EQ("0.103 %", percent_text(1'030));
  EXPECT_EQ("12.7 %", percent_text(127'000));
  EXPECT_EQ("100 %", percent_text(1'000'000));
}

}  // namespace
}  // namespace gpuprof::session
