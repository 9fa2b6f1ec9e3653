// SPDX-License-Identifier: Apache-2.0
//
// The worker of a program whose threads are bound to processors.
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>

#include "inject/hot/state.hpp"
#include "inject/sample/threads/threads.hpp"
#include "tests/unit/sample/sampler_fixture.hpp"

namespace gpuprof::sample {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

cpu_set_t affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

cpu_set_t first_of(const cpu_set_t& all) {
  cpu_set_t one;
  CPU_ZERO(&one);
  int number = 0;
  while (!CPU_ISSET(number, &all)) ++number;
  CPU_SET(number, &one);
  return one;
}

class Affinity : public ::testing::Test {
 protected:
  void SetUp() override {
    if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one processor";
  }
  /// What a worker that was bound to `bound` may use at each of these times.
  template <typename Between>
  std::vector<cpu_set_t> worker_at(const cpu_set_t& bound, std::vector<std::uint64_t> times_ns,
                                   Between between) {
    std::vector<cpu_set_t> seen;
    fixture.on_worker([&] {
      sched_setaffinity(0, sizeof bound, &bound);
      TriggerPlan plan{};
      plan.signal = SIGRTMAX - 2;
      open_threads(nullptr, plan);
      for (const std::uint64_t at_ns : times_ns) {
        scan_threads(at_ns);
        update_affinity(at_ns);
        seen.push_back(affinity());
        between();
      }
      close_threads();
    });
    return seen;
  }
  const cpu_set_t all = affinity(), one = first_of(all);
  SamplerFixture fixture;
};

TEST_F(Affinity, OfAWorkerThatABoundThreadMadeIsThatOfAllThreads) {
  const auto seen = worker_at(one, {kSecond}, [] {});
  ASSERT_EQ(1u, seen.size());
  EXPECT_TRUE(CPU_EQUAL(&seen[0], &all));
}

TEST_F(Affinity, FollowsAProgramThatIsBoundLater) {
  // The fixture's other threads are bound, too.
  const auto seen = worker_at(all, {kSecond, 2 * kSecond, 60 * kSecond}, [&] {
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
      if (const int tid = std::stoi(thread.path().filename()); tid != gettid())
        sched_setaffinity(tid, sizeof one, &one);
  });
  ASSERT_EQ(3u, seen.size());
  EXPECT_TRUE(CPU_EQUAL(&seen[0], &all));
  EXPECT_TRUE(CPU_EQUAL(&seen[1], &all)) << "looked a moment ago";
  EXPECT_TRUE(CPU_EQUAL(&seen[2], &one));
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    sched_setaffinity(std::stoi(thread.path().filename()), sizeof all, &all);
}

}  // namespace
}  // namespace gpuprof::sample
