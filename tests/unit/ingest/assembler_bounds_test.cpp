// SPDX-License-Identifier: Apache-2.0
//
// What a process of many threads and stacks makes the daemon remember is bounded.
#include <gtest/gtest.h>

#include "daemon/ingest/steps/sample_positions.hpp"
#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {
namespace {

class Bounds : public AssemblerTest {
 protected:
  static constexpr std::uint32_t kThreads = 200'000;

  /// A thread of PyTorch's number `number` and system's `tid` runs one operator.
  void run(std::uint32_t number, std::uint32_t tid, std::uint32_t forward_thread = 0) {
    const RingInfo ring{0, tid, 1};
    ts_ += 10;
    put(wire::OpBegin{ts_, name("op"), 0, 0, -1, 1, 1, forward_thread, number, 0, 0}, {}, ring);
    put(wire::OpEnd{ts_ + 5, 1, 1, 0}, {}, ring);
  }
  std::uint32_t forward_tid_of(std::uint32_t number) {
    run(0, 1, number);
    return sink_.operators.back().forward_tid;
  }
  std::uint64_t ts_ = 1000;
};

TEST_F(Bounds, OfThreadsThatEndedOnlyTheNewestAreKnown) {
  run(1, 7);
  for (std::uint32_t i = 2; i <= kThreads; ++i) run(i, 1000 + i);
  EXPECT_EQ(1000 + kThreads, forward_tid_of(kThreads));
  EXPECT_EQ(1000 + kThreads - 60'000, forward_tid_of(kThreads - 60'000));
  EXPECT_EQ(0u, forward_tid_of(1)) << "it is not kept for ever";
}

TEST_F(Bounds, AThreadThatGoesOnStaysKnown) {
  for (std::uint32_t i = 2; i <= kThreads; ++i) {
    run(i, 1000 + i);
    if (i % 1000 == 0) run(1, 7);
  }
  EXPECT_EQ(7u, forward_tid_of(1));
}

TEST(SamplePositionsBounds, StacksWithoutAFrameThatCountsAreBoundedToo) {
  SamplePositions places;
  const wire::PyFrame none{};  // of no code
  const Tail tail{reinterpret_cast<const std::byte*>(&none), sizeof none};
  constexpr std::uint64_t kStacks = (1u << 20) + 1000;
  std::size_t most = 0;
  for (std::uint64_t id = 1; id <= kStacks; ++id) {
    wire::StackDef stack{};
    stack.id = id;
    stack.python_count = 1;
    places.define(stack, tail);
    most = std::max(most, places.stacks_kept());
  }
  EXPECT_LE(most, 1u << 20);
}

TEST(SamplePositionsBounds, OfThreadsThatEndedNoneKeepsALaterOneOut) {
  SamplePositions places;
  const auto sample = [&](std::uint32_t tid, std::uint64_t ts_ns) {
    wire::Sample one{};
    one.tid = tid, one.ts_ns = ts_ns, one.stack_id = 1;
    places.add(one);
    return places.has_thread(tid);
  };
  constexpr std::uint64_t kOneSecond = 1'000'000'000;
  constexpr std::uint32_t kMany = 300;
  for (std::uint32_t tid = 1; tid <= kMany; ++tid) sample(tid, kOneSecond);
  EXPECT_FALSE(places.has_thread(kMany)) << "bounded";
  EXPECT_TRUE(sample(1, 15 * kOneSecond)) << "it lives";
  EXPECT_TRUE(sample(kMany, 20 * kOneSecond));
  EXPECT_TRUE(places.has_thread(1));
  EXPECT_FALSE(places.has_thread(2));
}

}  // namespace
}  // namespace gpuprof::ingest
