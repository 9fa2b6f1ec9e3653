// SPDX-License-Identifier: Apache-2.0
//
// Which ring buffer a thread gets.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "inject/hot/recorder.hpp"
#include "tests/fakes/in_process_segment.hpp"

namespace gpuprof::hot {
namespace {

constexpr std::uint32_t kLarge = 8, kSmall = 4;

struct Got {
  std::uint32_t ring = 0;
  std::uint64_t bytes = 0;
};

Got ring_of_a_new_thread(RingRole role, bool delivers) {
  Got got;
  std::thread([&] {
    const Guard guard(role, delivers);
    ASSERT_TRUE(guard);
    got = {guard.producer().entry, guard.producer().ring.capacity_bytes()};
  }).join();
  return got;
}

TEST(Claim, WhoDeliversGetsTheLargestRingsAndNobodyElseDoes) {
  const fakes::InProcessSegment segment(kLarge, kSmall);
  std::set<std::uint32_t> kept;
  for (std::uint32_t i = 0; i < wire::delivery_rings(kLarge); ++i) {
    const Got other = ring_of_a_new_thread(RingRole::kCallback, false);
    EXPECT_GE(other.ring, wire::delivery_rings(kLarge));
    EXPECT_EQ(other.bytes, wire::kLargeRingBytes);
    const Got got = ring_of_a_new_thread(RingRole::kCallback, true);
    EXPECT_EQ(got.bytes, wire::kDeliveryRingBytes);
    kept.insert(got.ring);
  }
  EXPECT_EQ(kept, (std::set<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(ring_of_a_new_thread(RingRole::kCallback, true).bytes, wire::kLargeRingBytes);
}

TEST(Claim, SignalsTakeSmallRingsFirst) {
  const fakes::InProcessSegment segment(kLarge, kSmall);
  for (std::uint32_t i = 0; i < kSmall; ++i)
    EXPECT_EQ(ring_of_a_new_thread(RingRole::kSignal, false).bytes, wire::kSmallRingBytes);
  EXPECT_EQ(ring_of_a_new_thread(RingRole::kSignal, false).bytes, wire::kLargeRingBytes);
}

}  // namespace
}  // namespace gpuprof::hot
