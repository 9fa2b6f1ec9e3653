// SPDX-License-Identifier: Apache-2.0
//
// What the ring buffers of a segment say of the cost of threads.
#include "daemon/session/target/overhead_monitor.hpp"

#include <gmock/gmock.h>

namespace gpuprof::session {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kOneMs = 1'000'000;
// No process has this number: its threads' CPU time is not known.
constexpr std::uint32_t kNobody = 0x7fffffff;

class OverheadTest : public testing::Test {
 protected:
  static wire::Config samples_and_operators() {
    wire::Config config{};
    config.trace = wire::kTraceAll;
    config.rate_hz = 100;
    config.torch_detail = wire::kTorchAll;
    return config;
  }

  void claim(std::uint32_t ring, std::uint32_t tid, wire::RingRole role) {
    wire::RingEntry& entry = segment.entry(ring);
    entry.tid = tid;
    entry.role = static_cast<std::uint32_t>(role);
    entry.state = static_cast<std::uint32_t>(wire::RingState::kActive);
  }
  void free(std::uint32_t ring) {
    segment.entry(ring).state = static_cast<std::uint32_t>(wire::RingState::kFree);
  }
  void spend(std::uint32_t ring, std::uint64_t ns) { segment.ring_header(ring)->overhead_ns += ns; }

  std::optional<Governor::Decision> look(std::uint64_t after_ns = 100 * kOneMs) {
    now_ns += after_ns;
    return overhead.look(segment, true, now_ns);
  }

  ingest::SharedSegment segment = ingest::SharedSegment::create({}, 1).take();
  OverheadMonitor overhead{30'000, reductions_for(samples_and_operators(), false), kNobody};
  std::uint64_t now_ns = 1'000'000 * kOneMs;
};

TEST_F(OverheadTest, AddsUpBothRingsOfAThread) {
  claim(0, 7, wire::RingRole::kCallback);
  claim(50, 7, wire::RingRole::kSignal);
  claim(1, 8, wire::RingRole::kCallback);
  ASSERT_FALSE(look());
  spend(0, 20 * kOneMs);
  spend(50, 12 * kOneMs);
  spend(1, 25 * kOneMs);
  const auto step = look();
  ASSERT_TRUE(step);
  EXPECT_EQ(7u, step->tid);
  EXPECT_EQ(32'000u, step->share_ppm);
  EXPECT_EQ(
      "3.2 % of the time of thread 7 was spent in gpuprof's own code, more than --max-overhead 3 %",
      overhead.describe(*step));
  EXPECT_EQ(57 * kOneMs, overhead.own_ns());
}

TEST_F(OverheadTest, IsLookedAtTenTimesASecondAtMost) {
  claim(0, 7, wire::RingRole::kCallback);
  look();
  spend(0, 50 * kOneMs);
  EXPECT_FALSE(look(5 * kOneMs));
  EXPECT_TRUE(look(95 * kOneMs));
}

TEST_F(OverheadTest, AThreadIsNotTakenForTheOneThatHadItsRing) {
  claim(0, 7, wire::RingRole::kCallback);
  look();
  spend(0, 25 * kOneMs);
  EXPECT_FALSE(look());
  spend(0, 25 * kOneMs);
  free(0);
  EXPECT_FALSE(look());
  claim(0, 8, wire::RingRole::kCallback);
  EXPECT_FALSE(look());
  EXPECT_EQ(50 * kOneMs, overhead.own_ns());
}

TEST_F(OverheadTest, ACounterThatGoesBackOrJumpsIsNoCost) {
  claim(0, 7, wire::RingRole::kCallback);
  look();
  segment.ring_header(0)->overhead_ns = ~0ULL;
  EXPECT_FALSE(look());
  segment.ring_header(0)->overhead_ns = 5;
  EXPECT_FALSE(look());
  EXPECT_EQ(0u, overhead.own_ns());
}

}  // namespace
}  // namespace gpuprof::session
