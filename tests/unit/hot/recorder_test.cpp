// SPDX-License-Identifier: Apache-2.0
//
// Claims, guards and definitions on an in-process segment.
#include "inject/hot/recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gpuprof::hot {
namespace {

// A segment of two ring buffers in ordinary memory: enough to run out of ring buffers.
class Recorder : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kRings = 2;

  void SetUp() override {
    ASSERT_TRUE(map_thread_blocks());
    layout_ = wire::segment_layout(0, kRings);
    memory_ = static_cast<std::uint8_t*>(std::aligned_alloc(4096, layout_.total_bytes));
    std::memset(memory_, 0, layout_.total_bytes);
    auto* rings = reinterpret_cast<wire::RingEntry*>(memory_ + layout_.directory_offset);
    for (std::uint32_t i = 0; i < kRings; ++i) {
      std::uint8_t* ring = memory_ + layout_.rings_offset + i * (wire::kSmallRingBytes + 4096);
      rings[i].ring.distance = ring - reinterpret_cast<std::uint8_t*>(&rings[i].ring);
      rings[i].capacity_bytes = wire::kSmallRingBytes;
    }
    g_state.segment_bytes = layout_.total_bytes;
    g_state.rings = rings;
    g_state.ring_count = kRings;
    g_state.large_rings = 0;
    g_state.stats = reinterpret_cast<wire::Stats*>(memory_ + layout_.stats_offset);
    g_state.segment = memory_;
    g_state.epoch.fetch_add(1);
    g_state.owner_page = &kAlive;
  }
  void TearDown() override {
    g_state.owner_page = nullptr;
    retire_threads([](std::uint32_t tid, void*) { return thread_exited(tid); }, nullptr);
    g_state.epoch.fetch_add(1);
    g_state.stats = nullptr;
    std::free(memory_);
  }

  // Kinds read from ring buffer `index`, in order.
  std::vector<wire::Kind> read(std::uint32_t index) {
    auto* header =
        g_state.rings[index].ring.resolve<wire::RingHeader>(memory_, layout_.total_bytes);
    wire::RingReader reader(header, reinterpret_cast<std::byte*>(header) + wire::kRingDataOffset,
                            wire::kSmallRingBytes);
    std::vector<std::byte> scratch(wire::kMaxFrameBytes);
    std::vector<wire::Kind> kinds;
    wire::RingReader::Frame frame;
    const std::uint64_t limit = reader.head_position();
    while (reader.next(limit, scratch.data(), &frame) == wire::RingReader::Next::kFrame)
      kinds.push_back(frame.kind);
    return kinds;
  }
  std::uint64_t counter(wire::Counter which) {
    return g_state.stats->counters[static_cast<std::uint32_t>(which)].load();
  }
  // One record more than fits is dropped.
  void fill(const Guard& guard) {
    std::uint64_t i = 0;
    while (i < 100000 && record(guard, wire::RangePop{i, 0, 0}, i)) ++i;
    ASSERT_LT(i, 100000u);
  }
  wire::RingHeader* my_header() {
    return g_state.rings[my_ring()].ring.resolve<wire::RingHeader>(memory_, layout_.total_bytes);
  }
  void drain() { my_header()->tail = my_header()->head.load(); }
  std::uint32_t my_ring() {
    for (std::uint32_t i = 0; i < kRings; ++i)
      if (g_state.rings[i].tid.load() == current_tid()) return i;
    return kRings;
  }

  static constexpr std::uint32_t kAlive = 1;
  wire::SegmentLayout layout_{};
  std::uint8_t* memory_ = nullptr;
};

TEST_F(Recorder, DefinesATextOncePerRing) {
  {
    const Guard guard(RingRole::kCallback);
    ASSERT_TRUE(guard);
    const std::uint64_t a = intern(guard, "kernel", 6, 1);
    EXPECT_EQ(intern(guard, "kernel", 6, 2), a);
    EXPECT_NE(intern(guard, "kernels", 7, 3), a);
  }
  using enum wire::Kind;
  EXPECT_EQ(read(my_ring()), (std::vector<wire::Kind>{kRingOpen, kStringDef, kStringDef}));
}

TEST_F(Recorder, GuardRefusesToNestInOneContext) {
  const Guard outer(RingRole::kCallback);
  ASSERT_TRUE(outer);
  const Guard inner(RingRole::kCallback);
  EXPECT_FALSE(inner);
  const Guard signal(RingRole::kSignal);  // a signal may interrupt a callback
  EXPECT_TRUE(signal);
}

TEST_F(Recorder, ThreadWithoutRingIsCountedAndGoesOn) {
  // Given a thread that holds both ring buffers
  const Guard callback(RingRole::kCallback);
  const Guard signal(RingRole::kSignal);
  ASSERT_TRUE(callback);
  ASSERT_TRUE(signal);
  // When another one wants to record
  std::thread([] {
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(Guard(RingRole::kCallback));
  }).join();
  // Then it is counted once as a thread and each time as a record
  EXPECT_EQ(counter(wire::Counter::kThreadsWithoutRing), 1u);
  EXPECT_EQ(counter(wire::Counter::kDroppedNoRing), 3u);
}

TEST_F(Recorder, WhatFoundNoRoomIsDefinedAtItsNextUseAndNothingElseAgain) {
  {
    const Guard guard(RingRole::kCallback);
    intern(guard, "sent", 4, 1);
    fill(guard);
    intern(guard, "dropped", 7, 1);
  }
  EXPECT_EQ(counter(wire::Counter::kDroppedRingFull), 2u);
  // When the daemon has drained
  drain();
  {
    const Guard guard(RingRole::kCallback);
    for (int i = 0; i < 2; ++i) {
      intern(guard, "sent", 4, 2);
      intern(guard, "dropped", 7, 2);
    }
  }
  // Then the loss stands in the stream, and the text that is missing
  EXPECT_EQ(read(my_ring()), (std::vector<wire::Kind>{wire::Kind::kLost, wire::Kind::kStringDef}));
}

// Marks of steps half a millisecond long, beside a daemon that does not come by.
TEST_F(Recorder, WhatIsDroppedTakesNoRoomFromVitalRecords) {
  constexpr std::uint64_t kMarks = 150;
  {
    const Guard guard(RingRole::kCallback);
    fill(guard);
    for (std::uint64_t i = 0; i < kMarks; ++i) {
      EXPECT_TRUE(record_reserved(guard, wire::StepMark{i, i, 0, 0, 0}, i)) << i;
      EXPECT_FALSE(record(guard, wire::RangePop{i, 0, 0}, i));
    }
  }
  const std::vector<wire::Kind> kinds = read(my_ring());
  ASSERT_GE(kinds.size(), kMarks);
  EXPECT_TRUE(std::all_of(kinds.end() - kMarks, kinds.end(),
                          [](wire::Kind kind) { return kind == wire::Kind::kStepMark; }));
  EXPECT_EQ(counter(wire::Counter::kDroppedRingFull), kMarks + 1);
  // When the daemon has drained, then the loss stands before the next record, a vital one, too
  drain();
  {
    const Guard guard(RingRole::kCallback);
    EXPECT_TRUE(record_reserved(guard, wire::StepMark{kMarks, kMarks, 0, 0, 0}, kMarks));
  }
  EXPECT_EQ(read(my_ring()), (std::vector<wire::Kind>{wire::Kind::kLost, wire::Kind::kStepMark}));
}

TEST_F(Recorder, VitalRecordsOfAFullRingAreDroppedAndCountedToo) {
  const Guard guard(RingRole::kCallback);
  fill(guard);
  std::uint64_t marks = 0;
  while (marks < 100000 && record_reserved(guard, wire::StepMark{marks, marks, 0, 0, 0}, marks))
    ++marks;
  EXPECT_GT(marks, 300u);
  EXPECT_LT(marks, 450u);
  EXPECT_EQ(counter(wire::Counter::kDroppedRingFull), 2u);
}

TEST_F(Recorder, LongTextIsCutAtACharacter) {
  std::string text(wire::kMaxTextBytes - 1, 'a');
  text += "\xc3\xa4 end";
  {
    const Guard guard(RingRole::kCallback);
    intern(guard, text.data(), static_cast<std::uint32_t>(text.size()), 1);
  }
  auto* header =
      g_state.rings[my_ring()].ring.resolve<wire::RingHeader>(memory_, layout_.total_bytes);
  wire::RingReader reader(header, reinterpret_cast<std::byte*>(header) + wire::kRingDataOffset,
                          wire::kSmallRingBytes);
  std::vector<std::byte> scratch(wire::kMaxFrameBytes);
  wire::RingReader::Frame frame;
  std::uint32_t sent = 0, flags = 0;
  while (reader.next(reader.head_position(), scratch.data(), &frame) ==
         wire::RingReader::Next::kFrame) {
    if (frame.kind != wire::Kind::kStringDef) continue;
    const auto def = base::load<wire::StringDef>(frame.payload);
    sent = def.bytes, flags = def.flags;
  }
  EXPECT_EQ(sent, wire::kMaxTextBytes - 1);
  EXPECT_EQ(flags, wire::kStringCut);
}

TEST_F(Recorder, TextsThatDifferOnlyBehindTheCutHaveDifferentIds) {
  const std::string same(wire::kMaxTextBytes + 10, 'a');
  const std::string one = same + "1", two = same + "2";
  const Guard guard(RingRole::kCallback);
  const auto bytes = static_cast<std::uint32_t>(one.size());
  EXPECT_NE(intern(guard, one.data(), bytes, 1), intern(guard, two.data(), bytes, 1));
}

TEST_F(Recorder, RingOfADeadThreadIsRetired) {
  std::uint32_t tid = 0;
  std::thread([&] {
    const Guard guard(RingRole::kCallback);
    EXPECT_TRUE(guard);
    tid = current_tid();
  }).join();
  retire_threads([](std::uint32_t candidate,
                    void* dead) { return candidate == *static_cast<std::uint32_t*>(dead); },
                 &tid);
  int retired = 0;
  for (std::uint32_t i = 0; i < kRings; ++i)
    retired +=
        g_state.rings[i].state.load() == static_cast<std::uint32_t>(wire::RingState::kRetired);
  EXPECT_EQ(retired, 1);
}

TEST_F(Recorder, ErrnoIsKept) {
  errno = 77;
  {
    const Guard guard(RingRole::kCallback);
    errno = 5;
  }
  EXPECT_EQ(errno, 77);
}

}  // namespace
TEST(SentTable, RemembersTwoThatShareAPlaceUntilTheRingIsAnothers) {
  SentTable<8> table;
  for (const std::uint64_t id : {1u, 5u}) {
    EXPECT_FALSE(table.contains(id, 7));
    EXPECT_FALSE(table.contains(id, 7)) << "what was not added was dropped";
    table.insert(id);
  }
  EXPECT_TRUE(table.contains(1, 7));
  EXPECT_TRUE(table.contains(5, 7));
  EXPECT_FALSE(table.contains(5, 8));
}

}  // namespace gpuprof::hot
