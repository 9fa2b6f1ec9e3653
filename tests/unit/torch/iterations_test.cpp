// SPDX-License-Identifier: Apache-2.0
//
// The rule of iterations, one comparison at a time, with frames made by hand.
#include "inject/torch/loops/iterations.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "gpuprof/wire/records.hpp"

namespace gpuprof::torch {
namespace {

/// Code objects by "address", and what their frames hold.
std::map<std::uint64_t, python::CodeLoops> g_codes;
std::map<std::uint64_t, python::LoopState> g_states;

const FrameProbes kLook{
    [](std::uint64_t code) -> const python::CodeLoops* {
      const auto found = g_codes.find(code);
      return found == g_codes.end() ? nullptr : &found->second;
    },
    [](const python::FastFrame& frame, std::uint32_t loops, python::LoopState* out) {
      *out = g_states[frame.frame];
      for (std::uint32_t i = loops; i < python::kMaxIterators; ++i) out->iterators[i] = {};
    }};

/// One frame: its function's letter and its instruction.
struct At {
  char function;
  std::int32_t instruction;
  std::uint32_t flags = 0;
  std::uint64_t frame = 0;  // 0: the function's usual one
};

class Rule : public ::testing::Test {
 protected:
  void TearDown() override {
    g_codes.clear();
    g_states.clear();
  }

  void function(char name, std::vector<python::LoopSpan> spans,
                std::int32_t handlers = python::kNoHandlers, bool yields = false) {
    spans_.push_back(std::move(spans));
    python::CodeLoops loops{};
    loops.id = code(name);
    loops.handlers = handlers;
    loops.known = true;
    loops.yields = yields;
    loops.count = static_cast<std::uint16_t>(spans_.back().size());
    loops.spans = spans_.back().data();
    g_codes[code(name)] = loops;
  }
  python::LoopState& holds(char function) { return g_states[usual_frame(function)]; }

  /// Marks of an operator whose frames are given outermost first: "m10" for a strong one of the
  /// loop at 10 in `m`, "~m10" for a weak one, "+m10" for an entry.
  std::string op(const std::vector<At>& stack, std::uint64_t name = 1, bool engine = false) {
    std::vector<python::FastFrame> frames;
    for (auto at = stack.rbegin(); at != stack.rend(); ++at)
      frames.push_back({at->frame != 0 ? at->frame : usual_frame(at->function), code(at->function),
                        at->instruction, at->flags, 0});
    ActiveLoop begun[kMaxLoops];
    const TopLevelOp top{1,   name,  0, frames.data(), static_cast<std::uint32_t>(frames.size()),
                         ~0u, engine};
    const std::uint32_t count = iterations_.next(top, kLook, begun);
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i) text += (text.empty() ? "" : " ") + word(begun[i]);
    return text;
  }
  std::string around() {
    ActiveLoop loops[kMaxLoops];
    const std::uint32_t count = iterations_.around(loops);
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i) text += (i == 0 ? "" : " ") + word(loops[i]);
    return text;
  }

  ActiveLoop innermost() {
    ActiveLoop loops[kMaxLoops] = {};
    EXPECT_GT(iterations_.around(loops), 0u);
    return loops[0];
  }

 private:
  static std::uint64_t code(char function) { return static_cast<std::uint64_t>(function) * 0x1000; }
  static std::uint64_t usual_frame(char function) { return code(function) + 0x800; }
  static std::string word(const ActiveLoop& loop) {
    const char* mark = (loop.flags & wire::kMarkLoopEntry) != 0  ? "+"
                       : (loop.flags & wire::kMarkInferred) != 0 ? "~"
                                                                 : "";
    return mark + std::string(1, static_cast<char>(loop.code->id / 0x1000)) +
           std::to_string(loop.span.target);
  }

  std::deque<std::vector<python::LoopSpan>> spans_;
  Iterations iterations_;
};

TEST_F(Rule, AnInstructionThatWentBackBeginsAnIteration) {
  function('m', {{10, 90, 14}});
  EXPECT_EQ(op({{'m', 4}}), "");
  EXPECT_EQ(op({{'m', 20}}), "+m10") << "the first operator inside";
  EXPECT_EQ(op({{'m', 30}}), "");
  EXPECT_EQ(op({{'m', 20}}), "m10");
  EXPECT_EQ(op({{'m', 95}}), "") << "the loop was left";
  EXPECT_EQ(op({{'m', 50}}), "+m10") << "no jump leads back from there";
}

TEST_F(Rule, WithoutALoopNothingWentRound) {
  function('m', {});
  EXPECT_EQ(op({{'m', 20}}), "");
  EXPECT_EQ(op({{'m', 10}}), "");
  EXPECT_EQ(op({{'x', 20}}), "") << "code that cannot be read";
  EXPECT_EQ(op({{'x', 10}}), "");
}

TEST_F(Rule, TheSmallestLoopAroundBothIsMeantAndThoseInsideBeginAnew) {
  function('m', {{10, 90, 14}, {20, 60, 24}});
  EXPECT_EQ(op({{'m', 30}}), "+m10 +m20");
  EXPECT_EQ(around(), "m20 m10");
  EXPECT_EQ(op({{'m', 28}}), "m20");
  EXPECT_EQ(op({{'m', 70}}), "");
  EXPECT_EQ(around(), "m10");
  EXPECT_EQ(op({{'m', 30}}), "m10 +m20") << "outer first";
}

TEST_F(Rule, ASecondCallOfAFunctionIsNoLoopOfThatFunction) {
  function('m', {{10, 90, 14}});
  function('f', {});
  EXPECT_EQ(op({{'m', 20}, {'f', 2}}), "+m10");
  EXPECT_EQ(op({{'m', 20}, {'f', 8}}), "");
  EXPECT_EQ(op({{'m', 20}, {'f', 2}}), "m10") << "byte code called again";
  EXPECT_EQ(op({{'m', 40}, {'f', 2}}), "") << "another call";
}

TEST_F(Rule, WhatCCodeCallsAgainIsWeak) {
  function('m', {{10, 90, 14}});
  for (const std::uint32_t flags : {wire::kPyEntry, wire::kPyShim}) {
    EXPECT_NE(op({{'m', 20}, {'f', 2, flags}}), "");
    EXPECT_EQ(op({{'m', 20}, {'f', 2, flags, 0x77000}}), "~m10") << "another frame";
    EXPECT_EQ(op({{'m', 20}}, 2), "~m10") << "C code itself";
    EXPECT_EQ(op({{'m', 95}}), "");
  }
}

TEST_F(Rule, AnEqualStackIsAWeakIterationAtItsFirstOperatorOnly) {
  function('m', {{10, 90, 14}});
  EXPECT_EQ(op({{'m', 20}}, 1), "+m10");
  EXPECT_EQ(op({{'m', 20}}, 2), "");
  EXPECT_EQ(op({{'m', 20}}, 1), "~m10");
  EXPECT_EQ(op({{'m', 20}}, 1, true), "") << "the autograd engine's own";
}

TEST_F(Rule, AFrameThatHoldsSomethingElseRan) {
  function('m', {{10, 90, 0}});
  EXPECT_EQ(op({{'m', 20}}, 1), "+m10");
  holds('m').locals = 5;
  EXPECT_EQ(op({{'m', 20}}, 2), "m10") << "whatever the operator";
  EXPECT_EQ(op({{'m', 20}, {'f', 2, wire::kPyEntry}}), "~m10");
  holds('m').locals = 6;
  EXPECT_EQ(op({{'m', 20}, {'f', 2, wire::kPyEntry}}), "m10");
}

TEST_F(Rule, AGlobalVariableStoredBeforeANewCallTellsThatTheCodeRan) {
  function('m', {{10, 90, 14}});
  EXPECT_EQ(op({{'m', 20}, {'f', 2, wire::kPyEntry}}), "+m10");
  EXPECT_EQ(op({{'m', 20}, {'f', 2, wire::kPyEntry, 0x77000}}), "~m10") << "as `map` calls";
  holds('m').globals = 7;
  EXPECT_EQ(op({{'m', 20}, {'f', 4, wire::kPyEntry, 0x77000}}), "") << "what was called stored it";
  holds('m').globals = 8;
  EXPECT_EQ(op({{'m', 20}, {'f', 2, wire::kPyEntry, 0x78000}}), "m10");
  EXPECT_EQ(op({{'m', 20}, {'f', 2, wire::kPyEntry, 0x79000}}), "~m10");
}

TEST_F(Rule, IteratorsTellWhichLoopWentRound) {
  function('m', {{10, 90, 14}, {20, 60, 24}});
  holds('m').iterators[0] = {0x100, 1};
  holds('m').iterators[1] = {0x200, 1};
  EXPECT_EQ(op({{'m', 30}}), "+m10 +m20");
  holds('m').iterators[1].content = 2;
  EXPECT_EQ(op({{'m', 30}}), "m20");
  holds('m').iterators[1].content = 3;
  EXPECT_EQ(op({{'m', 40}}), "m20") << "forward, in another round";
  holds('m').iterators[0].content = 2;
  EXPECT_EQ(op({{'m', 30}}), "m10 +m20") << "backward, but not in the inner loop";
  EXPECT_EQ(op({{'m', 30}}, 2), "");
}

TEST_F(Rule, AnotherIteratorMeansThatItsLoopWasEnteredAgain) {
  function('m', {{10, 90, 0}, {20, 60, 24}});
  holds('m').iterators[0] = {0x200, 1};
  EXPECT_EQ(op({{'m', 30}}), "+m10 +m20");
  holds('m').iterators[0] = {0x300, 1};
  EXPECT_EQ(op({{'m', 28}}), "m10 +m20");
}

TEST_F(Rule, AnOperatorOfTheIteratorComesBeforeItMovesOn) {
  function('m', {{10, 90, 14}});
  holds('m').iterators[0] = {0x100, 1};
  EXPECT_EQ(op({{'m', 10}, {'g', 2}}), "+m10");
  holds('m').iterators[0].content = 2;
  EXPECT_EQ(op({{'m', 20}}), "") << "still the same round";
  EXPECT_EQ(op({{'m', 10}, {'g', 2}}), "m10");
}

TEST_F(Rule, AnOperatorInAHandlerBelongsToTheRoundOfItsTry) {
  function('m', {{10, 60, 14}}, 100);
  EXPECT_EQ(op({{'m', 20}}), "+m10");
  EXPECT_EQ(op({{'m', 110}}), "") << "the handler lies behind the loop";
  EXPECT_EQ(around(), "m10");
  EXPECT_EQ(op({{'m', 40}}), "") << "and the program goes on";
  EXPECT_EQ(op({{'m', 110}}), "");
  EXPECT_EQ(op({{'m', 20}}), "m10") << "or continues";
}

TEST_F(Rule, AGeneratorThatGoesOnWasNotEntered) {
  function('m', {{10, 90, 14}});
  function('g', {{4, 40, 8}}, python::kNoHandlers, true);
  EXPECT_EQ(op({{'m', 10}, {'g', 10}}), "+m10 +g4");
  EXPECT_EQ(op({{'m', 20}}), "");
  EXPECT_EQ(op({{'m', 10}, {'g', 20}}), "m10") << "the second half of the generator's round";
  EXPECT_EQ(op({{'m', 10}, {'g', 10}}), "g4");
  EXPECT_EQ(op({{'m', 20}}), "");
  EXPECT_EQ(op({{'m', 10}, {'g', 10}}), "m10 ~g4");
  EXPECT_EQ(op({{'m', 20}}), "");
  EXPECT_EQ(op({{'m', 10}, {'g', 10, 0, 0x99000}}), "m10 +g4") << "another generator";
}

TEST_F(Rule, ALoopIsTheSameWhetherOrNotItsGeneratorIsCalledThroughC) {
  function('m', {{10, 90, 14}});
  function('g', {{4, 40, 8}}, python::kNoHandlers, true);
  const At shim{'\0', 0, wire::kPyShim, 0x88000};
  op({{'m', 10}, shim, {'g', 10}});
  const std::uint64_t before = innermost().id();
  EXPECT_EQ(innermost().level, 2u);
  op({{'m', 20}});
  EXPECT_EQ(op({{'m', 10}, {'g', 10}}), "m10 ~g4") << "specialised byte code calls it directly";
  EXPECT_EQ(innermost().level, 1u);
  EXPECT_EQ(innermost().id(), before);
  op({{'m', 10}, {'m', 20, 0, 0x99000}, {'g', 10}});
  EXPECT_NE(innermost().id(), before) << "deeper";
}

TEST_F(Rule, KeepsToItsBounds) {
  std::vector<python::LoopSpan> many;
  for (std::int32_t i = 0; i < 100; ++i) many.push_back({i * 2, 1000 - i * 2, 0});
  function('m', many);
  op({{'m', 500}});
  std::vector<At> deep;
  for (std::uint32_t i = 0; i < kMaxLevels; ++i) deep.push_back({'m', 500});
  op(deep);
  EXPECT_FALSE(around().empty());
}

}  // namespace
}  // namespace gpuprof::torch
