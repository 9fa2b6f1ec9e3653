// SPDX-License-Identifier: Apache-2.0
//
// The walk along frame records (unwind_frames.cpp), which x86-64 compiles for this test only.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "gpuprof/wire/records.hpp"
#include "inject/sample/unwind/unwind.hpp"

namespace gpuprof::sample {
namespace {

constexpr std::uint64_t kStack = 0x7f0000001000, kCode = 0x555500000000;
constexpr std::uint32_t kRoom = 32;

/// Words of a stack that was copied from kStack.
struct Copied {
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(64);
  std::uint32_t flags = 0;

  void record(std::size_t at, std::uint64_t next, std::uint64_t caller) {
    words[at] = next;
    words[at + 1] = caller;
  }
  static std::uint64_t address(std::size_t word) { return kStack + word * 8; }

  std::vector<std::uint64_t> walk(std::uint64_t frame, std::uint32_t room = kRoom) {
    const StackCopy copy{kStack, words.size() * 8,
                         reinterpret_cast<const unsigned char*>(words.data())};
    std::vector<std::uint64_t> frames(room);
    const UnwindResult walk =
        unwind(registers_at(kCode, kStack, frame), true, copy, frames.data(), room);
    flags = walk.flags;
    frames.resize(walk.count);
    return frames;
  }
};

TEST(FramesWalk, GoesFromRecordToRecordUntilTheOutermost) {
  Copied stack;
  stack.record(4, Copied::address(10), kCode + 1);
  stack.record(10, Copied::address(20), kCode + 2);
  stack.record(20, 0, kCode + 3);

  const auto frames = stack.walk(Copied::address(4));

  EXPECT_EQ(frames, (std::vector<std::uint64_t>{kCode, kCode + 1, kCode + 2, kCode + 3}));
  EXPECT_EQ(stack.flags, 0u);
}

TEST(FramesWalk, EndsAtAnEmptyRecord) {
  Copied stack;
  stack.record(4, Copied::address(10), kCode + 1);

  EXPECT_EQ(stack.walk(Copied::address(4)), (std::vector<std::uint64_t>{kCode, kCode + 1}));
  EXPECT_EQ(stack.flags, 0u);
}

TEST(FramesWalk, SaysThatThereWasMoreThanRoom) {
  Copied stack;
  stack.record(4, Copied::address(10), kCode + 1);
  stack.record(10, Copied::address(20), kCode + 2);
  stack.record(20, 0, kCode + 3);

  EXPECT_EQ(stack.walk(Copied::address(4), 3).size(), 3u);
  EXPECT_EQ(stack.flags, wire::kStackNativeDeep);
  EXPECT_EQ(stack.walk(Copied::address(4), 4).size(), 4u);
  EXPECT_EQ(stack.flags, 0u);
}

TEST(FramesWalk, EndsWhereARecordIsNotAboveTheOneBefore) {
  for (const std::size_t next : {10u, 11u, 4u}) {
    Copied stack;
    stack.record(4, Copied::address(10), kCode + 1);
    stack.record(10, Copied::address(next), kCode + 2);

    EXPECT_EQ(stack.walk(Copied::address(4)).size(), 3u) << next;
    EXPECT_EQ(stack.flags, wire::kStackNativeTruncated) << next;
  }
}

TEST(FramesWalk, ReadsNothingBesideTheCopy) {
  for (const std::uint64_t next :
       {Copied::address(63), Copied::address(64), Copied::address(62) + 4,
        kStack + (std::uint64_t{64} << 20), ~std::uint64_t{7}}) {
    Copied stack;
    stack.record(4, next, kCode + 1);

    EXPECT_EQ(stack.walk(Copied::address(4)).size(), 2u) << std::hex << next;
    EXPECT_EQ(stack.flags, wire::kStackNativeTruncated) << std::hex << next;
  }
}

TEST(FramesWalk, WithoutAFramePointerIsTheProgramCounter) {
  Copied stack;

  EXPECT_EQ(stack.walk(0), std::vector<std::uint64_t>{kCode});
  EXPECT_EQ(stack.flags, wire::kStackNativeTruncated);
}

struct Own {
  std::uint64_t frames[kRoom] = {};
  UnwindResult walk;
  std::uint64_t inner_returns_to = 0, outer_returns_to = 0;
};

__attribute__((noinline, optimize("no-omit-frame-pointer"))) void inner(Own& own) {
  own.inner_returns_to = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  Registers here;
  current_registers(&here);
  own.walk = unwind(here, false, StackCopy{}, own.frames, kRoom);
}
__attribute__((noinline, optimize("no-omit-frame-pointer"))) void outer(Own& own) {
  own.outer_returns_to = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  inner(own);
  asm volatile("");
}

TEST(FramesWalk, FindsItsOwnCallers) {
  Own own;

  outer(own);

  ASSERT_GE(own.walk.count, 3u);
  EXPECT_EQ(own.frames[1], own.inner_returns_to);
  EXPECT_EQ(own.frames[2], own.outer_returns_to);
}

}  // namespace
}  // namespace gpuprof::sample
