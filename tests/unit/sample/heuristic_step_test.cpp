// SPDX-License-Identifier: Apache-2.0
//
// Frames without unwind tables: code and stack are bytes of the test's own.
#include "inject/sample/unwind/heuristic_step.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <map>

#include "inject/sample/jit/jit_code_table.hpp"

namespace gpuprof::sample {
namespace {

constexpr std::uint64_t kCode = 0x7f00'0000'0000, kCodeEnd = kCode + 0x10000;
constexpr std::uint64_t kStack = 0x7ffe'0000'0000;

class Memory {
 public:
  void code(std::uint64_t at, std::initializer_list<int> bytes) {
    for (const int byte : bytes) put(at++, static_cast<unsigned char>(byte));
  }
  void word(std::uint64_t at, std::uint64_t value) {
    for (int i = 0; i < 8; ++i) put(at + i, static_cast<unsigned char>(value >> (8 * i)));
  }
  /// A place in known code behind a call.
  std::uint64_t caller(std::uint64_t at) {
    for (int i = 1; i <= 8; ++i) code(at - i, {0x90});
    code(at - 5, {0xe8, 0, 0, 0, 0});
    return at;
  }
  CodeAccess access() {
    return {[](void* from, std::uint64_t at, std::uint64_t* word) {
              auto& words = static_cast<Memory*>(from)->words_;
              const auto found = words.find(at);
              if (at % 8 != 0 || found == words.end()) return false;
              *word = found->second;
              return true;
            },
            [](void*, std::uint64_t at) { return at >= kCode && at < kCodeEnd; }, this};
  }
  /// The same, made by Go.
  CodeAccess go() {
    CodeAccess access = this->access();
    access.is_go = access.is_code;
    return access;
  }

 private:
  void put(std::uint64_t at, unsigned char byte) {
    std::uint64_t& word = words_[at & ~std::uint64_t{7}];
    const unsigned shift = 8 * (at % 8);
    word = (word & ~(std::uint64_t{0xff} << shift)) | std::uint64_t{byte} << shift;
  }
  std::map<std::uint64_t, std::uint64_t> words_;
};

void expect_at(const FrameRegisters& frame, std::uint64_t pc, std::uint64_t sp, std::uint64_t fp) {
  EXPECT_EQ(frame.pc, pc);
  EXPECT_EQ(frame.sp, sp);
  EXPECT_EQ(frame.fp, fp);
  EXPECT_FALSE(frame.interrupted);
}

/// sub $8,%rsp; call *%rcx; add $8,%rsp; ret: what CPython 3.12 and 3.13 make of each function.
struct Trampoline : testing::Test {
  void SetUp() override {
    memory.code(kCode, {0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3});
    memory.word(kStack, 0x1234);
    memory.word(kStack + 8, back);
  }
  Memory memory;
  const std::uint64_t back = memory.caller(kCode + 0x805);
};

TEST_F(Trampoline, IsLeftAfterItsCall) {
  FrameRegisters frame{kCode + 6, kStack, 77, false};
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kCertain);
  expect_at(frame, back, kStack + 16, 77);
}

TEST_F(Trampoline, IsLeftWhereverItIsInterrupted) {
  const std::pair<int, int> kSpots[] = {{0, 8}, {4, 0}, {6, 0}, {10, 8}};
  for (const auto& [at, sp] : kSpots) {
    FrameRegisters frame{kCode + at, kStack + sp, 77, true};
    EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kCertain) << at;
    expect_at(frame, back, kStack + 16, 77);
  }
}

TEST_F(Trampoline, IsNotLeftForAPlaceThatNoCallReturnsTo) {
  memory.word(kStack + 8, kCode + 0x900);
  memory.code(kCode + 0x8f8, {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90});
  FrameRegisters frame{kCode + 6, kStack, 77, false};
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kLost);
  EXPECT_EQ(frame.pc, kCode + 6);
}

TEST_F(Trampoline, IsNotLeftForAPlaceOutsideOfCode) {
  Memory& m = memory;
  m.word(kStack + 8, m.caller(kCodeEnd + 0x805));
  FrameRegisters frame{kCode + 6, kStack, 77, false};
  EXPECT_EQ(step_without_tables(m.access(), &frame), StepResult::kLost);
}

TEST_F(Trampoline, IsNotLeftByAStackThatCannotBeRead) {
  FrameRegisters frame{kCode + 6, kStack + 4096, 77, false};
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kLost);
}

TEST(BareFrames, EndsOfFunctionsGiveRegistersBack) {
  Memory memory;
  const std::uint64_t back = memory.caller(kCode + 0x805);
  // add $0x18,%rsp; pop %rbx; pop %rbp; pop %r12; ret
  memory.code(kCode, {0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0x41, 0x5c, 0xc3});
  for (int i = 0; i < 7; ++i) memory.word(kStack + 8 * i, 0x100 + i);
  memory.word(kStack + 48, back);
  FrameRegisters frame{kCode, kStack, 77, false};
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kCertain);
  expect_at(frame, back, kStack + 56, 0x104);
}

TEST(BareFrames, LeaveGoesByTheFramePointer) {
  Memory memory;
  const std::uint64_t back = memory.caller(kCode + 0x805);
  memory.code(kCode, {0xc9, 0xc3});
  memory.word(kStack + 64, 0xabc);
  memory.word(kStack + 72, back);
  FrameRegisters frame{kCode, kStack, kStack + 64, false};
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kCertain);
  expect_at(frame, back, kStack + 80, 0xabc);
}

/// Code in the middle of a function that keeps a frame pointer.
struct FramePointer : testing::Test {
  void SetUp() override {
    memory.code(kCode, {0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x07, 0x48, 0x8b, 0x07, 0x0f, 0x0b,
                        0x90, 0x90, 0x90, 0x90});
    for (int i = 0; i < 20; ++i) memory.word(kStack + 8 * i, 5);
    memory.word(kStack + 80, 0xabc);
    memory.word(kStack + 88, back);
  }
  Memory memory;
  const std::uint64_t back = memory.caller(kCode + 0x805);
};

TEST_F(FramePointer, LeadsToTheCaller) {
  FrameRegisters frame{kCode + 7, kStack, kStack + 80, false};
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kLikely);
  expect_at(frame, back, kStack + 96, 0xabc);
}

TEST_F(FramePointer, IsNotYetSetAtTheBeginOfAFunction) {
  memory.word(kStack, memory.caller(kCode + 0x905));
  FrameRegisters frame{kCode, kStack, kStack + 80, true};
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kCertain);
  expect_at(frame, kCode + 0x905, kStack + 8, kStack + 80);
  memory.word(kStack, kStack + 80);
  memory.word(kStack + 8, kCode + 0x905);
  frame = {kCode + 1, kStack, kStack + 80, true};
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kCertain);
  expect_at(frame, kCode + 0x905, kStack + 16, kStack + 80);
}

TEST_F(FramePointer, SaysThatACallerMayBePassedOver) {
  memory.word(kStack + 24, memory.caller(kCode + 0x905));
  for (int at = 0x20; at < 0x60; ++at) memory.code(kCode + at, {at == 0x20 ? 0xc3 : 0x90});
  FrameRegisters frame{kCode + 0x50, kStack, kStack + 80,
                       false};  // another function, its begin unknown
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kMayHaveSkipped);
  expect_at(frame, back, kStack + 96, 0xabc);
}

TEST_F(FramePointer, PassesOverWhatIsLeftBehindInAFunctionThatKeepsOne) {
  memory.word(kStack + 24, memory.caller(kCode + 0x905));
  FrameRegisters frame{kCode + 7, kStack, kStack + 80, false};
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kLikely);
  expect_at(frame, back, kStack + 96, 0xabc);
}

TEST_F(FramePointer, IsNotBelievedBelowTheStackOrFarAbove) {
  for (const std::uint64_t fp : {kStack - 16, kStack + (64u << 20), kStack + 81}) {
    FrameRegisters frame{kCode + 7, kStack, fp, false};
    EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kLost);
  }
}

TEST_F(FramePointer, IsNotAskedOfCodeThatIsNotKnown) {
  FrameRegisters frame{kCodeEnd + 7, kStack, kStack + 80, false};
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kLost);
}

/// push %rbp; push %r15; sub $0x28,%rsp; ...: what LLVM makes without a frame pointer. It is called
/// by its address, or by a register that was loaded with that.
struct BareFunction : testing::Test {
  static constexpr std::uint64_t kFunction = kCode + 0x400, kBack = kCode + 0x905;
  void SetUp() override {
    memory.code(kFunction,
                {0x55, 0x41, 0x57, 0x48, 0x83, 0xec, 0x28, 0x90, 0x31, 0xc0, 0x31, 0xc0});
    for (int i = 1; i <= 40; ++i) memory.code(kBack - i, {0x90});
    for (int i = 0; i < 64; ++i) memory.word(kStack + 8 * i, 0);
    memory.word(kStack + 0x30, 0x7777);  // the caller's %rbp, pushed first
    memory.word(kStack + 0x38, kBack);
  }
  void call(std::uint64_t function) {
    const auto away = static_cast<std::uint32_t>(function - kBack);
    memory.code(kBack - 5, {0xe8, static_cast<int>(away & 0xff), static_cast<int>(away >> 8 & 0xff),
                            static_cast<int>(away >> 16 & 0xff), static_cast<int>(away >> 24)});
  }
  Memory memory;
};

TEST_F(BareFunction, IsLeftByTheCallThatMadeIt) {
  call(kFunction);
  for (const bool interrupted : {true, false}) {
    FrameRegisters frame{kFunction + 9, kStack, 5, interrupted};
    EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kCertain);
    expect_at(frame, kBack, kStack + 0x40, 0x7777);
  }
}

TEST_F(BareFunction, IsLeftByACallOfARegister) {
  memory.code(kBack - 16, {0x49, 0xbb});  // movabs $function, %r11; nop; call *%r11
  memory.code(kBack - 14, {0x00, 0x04, 0, 0, 0x00, 0x7f, 0, 0});
  memory.code(kBack - 3, {0x41, 0xff, 0xd3});
  ASSERT_EQ(kFunction, 0x7f00'0000'0400u);
  FrameRegisters frame{kFunction + 9, kStack, 5, true};
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kCertain);
  expect_at(frame, kBack, kStack + 0x40, 0x7777);
}

TEST_F(BareFunction, IsNotLeftForTheCallOfAnotherOrAFrameOfAnotherSize) {
  call(kFunction + 0x800);
  FrameRegisters frame{kFunction + 9, kStack, 5, true};
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kLost);
  call(kFunction);
  memory.word(kStack + 0x38, 0);
  memory.word(kStack + 0x40, kBack);
  EXPECT_EQ(step_without_tables(memory.access(), &frame), StepResult::kLost);
}

/// sub $0x20,%rsp; mov %rbp,0x18(%rsp); lea 0x18(%rsp),%rbp; nop: what Go 1.19 makes.
struct GoFrame : testing::Test {
  void SetUp() override {
    memory.code(kCode + 0x90, {0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0x6c, 0x24, 0x18});
    memory.code(kCode + 0x99, {0x48, 0x8d, 0x6c, 0x24, 0x18, 0x48, 0x01});
    memory.word(kStack, stale);  // what an earlier call has left there
    memory.word(kStack + 0x18, kStack + 0x100);
    memory.word(kStack + 0x20, back);
  }
  Memory memory;
  const std::uint64_t back = memory.caller(kCode + 0x805), stale = memory.caller(kCode + 0x905);
};

TEST_F(GoFrame, IsNotLeftForWhatLiesOnTopOfIt) {
  for (const bool interrupted : {true, false}) {
    FrameRegisters frame{kCode + 0x9e, kStack, kStack + 0x18, interrupted};
    EXPECT_EQ(step_without_tables(memory.go(), &frame), StepResult::kLikely);
    expect_at(frame, back, kStack + 0x28, kStack + 0x100);
  }
}

TEST_F(GoFrame, OfAGoroutinesBeginHasNoCaller) {
  const std::uint64_t end = kCode + 0x601;
  memory.code(end - 9, {0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0x90, 0xe8, 1, 2, 3, 4});
  memory.word(kStack + 0x18, 0);
  memory.word(kStack + 0x20, end);
  FrameRegisters frame{kCode + 0x9e, kStack, kStack + 0x18, true};
  EXPECT_EQ(step_without_tables(memory.go(), &frame), StepResult::kLikely);
  expect_at(frame, 0, kStack + 0x28, 0);
  FrameRegisters other{kCode + 0x9e, kStack + 8, kStack + 0x18, true};
  EXPECT_EQ(step_without_tables(memory.access(), &other), StepResult::kLost) << "not of Go";
}

TEST_F(GoFrame, IsReachedFromThePreemptionThatWasPutBeforeIt) {
  memory.code(kCode + 0x700, {0x55, 0x48, 0x89, 0xe5, 0x9c, 0x48, 0x81, 0xec});
  memory.word(kStack - 8, kCode + 0x9e);
  FrameRegisters frame{kCode + 0x700, kStack - 8, kStack + 0x18, true};
  EXPECT_EQ(step_without_tables(memory.go(), &frame), StepResult::kCertain);
  expect_at(frame, kCode + 0x9e, kStack, kStack + 0x18);
}

TEST(BareFrames, KnowsCalls) {
  Memory memory;
  const auto ends = [&](std::initializer_list<int> bytes) {
    for (int i = 0; i < 16; ++i) memory.code(kCode + 0x100 - i, {0x90});
    memory.code(kCode + 0x100 - bytes.size(), bytes);
    return is_return_address(memory.access(), kCode + 0x100);
  };
  EXPECT_TRUE(ends({0xe8, 1, 2, 3, 4}));              // call rel32
  EXPECT_TRUE(ends({0xff, 0xd0}));                    // call *%rax
  EXPECT_TRUE(ends({0x41, 0xff, 0xd3}));              // call *%r11
  EXPECT_TRUE(ends({0xff, 0x50, 0x18}));              // call *0x18(%rax)
  EXPECT_TRUE(ends({0xff, 0x54, 0x24, 8}));           // call *8(%rsp)
  EXPECT_TRUE(ends({0xff, 0x15, 1, 2, 3, 4}));        // call *x(%rip)
  EXPECT_TRUE(ends({0xff, 0x94, 0x24, 1, 2, 3, 4}));  // call *x(%rsp)
  EXPECT_FALSE(ends({0xff, 0xe0}));                   // jmp *%rax
  EXPECT_FALSE(ends({0x90, 0x90}));
  EXPECT_FALSE(ends({0xc3}));
}

TEST(JitCodeTable, HoldsWhatWasWrittenLast) {
  static JitCodeTable table;
  EXPECT_FALSE(table.holds(5));
  const CodeRange two[] = {{0x1000, 0x2000}, {0x5000, 0x6000}};
  table.write(two, 2);
  EXPECT_TRUE(table.holds(0x1000) && table.holds(0x1fff) && table.holds(0x5800));
  EXPECT_FALSE(table.holds(0xfff) || table.holds(0x2000) || table.holds(0x6000));
  table.write(two + 1, 1);
  EXPECT_FALSE(table.holds(0x1800));
  EXPECT_TRUE(table.holds(0x5000));
}

}  // namespace
}  // namespace gpuprof::sample
