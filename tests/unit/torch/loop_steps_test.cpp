// SPDX-License-Identifier: Apache-2.0
//
// What is reported of loops before the daemon has chosen one, and what is counted afterwards.
#include "inject/torch/loops/loop_steps.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "inject/torch/loops/iterations.hpp"
#include "tests/fakes/in_process_segment.hpp"
#include "tests/unit/python/fake_interpreter.hpp"

namespace gpuprof::torch {
namespace {

constexpr std::uint64_t kAdam = 77;

/// A function of 3.12 with a loop from byte 2 to byte 18, and an operator in it.
class Loops : public ::testing::Test {
 protected:
  Loops() : python_(12), code_(python_.code("train")) {
    std::string bytes(18, '\x09');
    bytes += "\x8c\x09";  // JUMP_BACKWARD by nine units
    std::memcpy(reinterpret_cast<void*>(code_ + python_.runtime.offsets.code_bytes), bytes.data(),
                bytes.size());
    python::g_runtime.store(&python_.runtime);
    hot::g_state.on.store(hot::kOnOpSteps | hot::kOnOperators);
    reset_loops_after_fork();
    set_step_source(wire::StepSource::kAuto);
  }
  ~Loops() override { python::g_runtime.store(nullptr); }

  void op(std::int32_t at, std::uint64_t stack_id = 0, std::uint64_t name = 1,
          std::uint32_t module_level = ~0u, bool loader = false, bool optimizer = false) {
    const hot::Guard guard(hot::RingRole::kCallback);
    ASSERT_TRUE(guard);
    const python::FastFrame frame{0x10000, code_, at, 0, 0};
    on_top_level_begin(guard, TopLevelOp{++now_, name, stack_id, &frame, 1, module_level, false,
                                         loader, optimizer});
    on_top_level_end(guard, name, ++now_);
  }
  void choose(wire::StepRule rule, std::uint64_t key) {
    segment_.plan().step_key.store(key);
    segment_.plan().step_rule.store(static_cast<std::uint32_t>(rule));
  }
  /// "source:label" of each step that began.
  std::vector<std::string> steps() {
    std::vector<std::string> found;
    for (const auto& [mark, tail, tid] : segment_.all<wire::StepMark>())
      if ((mark.flags & wire::kStepBegin) != 0)
        found.push_back(std::to_string(mark.source) + ":" + std::to_string(mark.user_number));
    return found;
  }
  /// What callbacks told of this thread and CUDA graphs.
  void graphs(std::uint32_t launches, std::uint32_t captures, bool capturing) {
    const hot::Guard guard(hot::RingRole::kCallback);
    ASSERT_TRUE(guard);
    guard.block().graphs = {launches, captures,
                            capturing ? hot::g_state.graph_callback_gaps.load() + 1 : 0};
  }
  std::vector<std::uint32_t> marks() {
    std::vector<std::uint32_t> found;
    for (const auto& [mark, tail, tid] : segment_.all<wire::LoopMark>())
      found.push_back(mark.flags);
    return found;
  }
  /// Makes the loop known and returns its id.
  std::uint64_t loop() {
    op(6);
    const auto defs = segment_.all<wire::LoopDef>();
    return defs.empty() ? 0 : defs.front().body.id;
  }
  static std::string of(wire::StepSource source, int label = 0) {
    return std::to_string(static_cast<int>(source)) + ":" + std::to_string(label);
  }

  fakes::InProcessSegment segment_{2, 2};
  tests::FakeInterpreter python_;
  const std::uint64_t code_;
  std::uint64_t now_ = 0;
};

TEST_F(Loops, AreDefinedOnceAndEachIterationIsTold) {
  op(6, 500);
  op(8, 501);
  op(6, 500);
  op(6, 500);
  const auto defs = segment_.all<wire::LoopDef>();
  ASSERT_EQ(defs.size(), 1u);
  EXPECT_EQ(defs[0].body.target_offset, 2);
  EXPECT_EQ(defs[0].body.jump_offset, 18);
  EXPECT_EQ(defs[0].body.flags, 0u);
  const auto codes = segment_.all<wire::PyCodeDef>();
  ASSERT_EQ(codes.size(), 1u);
  EXPECT_EQ(defs[0].body.code_id, codes[0].body.id);
  EXPECT_EQ(marks(), (std::vector<std::uint32_t>{wire::kMarkLoopEntry, 0, wire::kMarkInferred}));
  EXPECT_TRUE(steps().empty());
}

TEST_F(Loops, AreToldForEachStackOnce) {
  op(6, 500);
  op(8, 501);
  op(6, 500);
  op(40, 502);
  const auto stacks = segment_.all<wire::StackLoops>();
  ASSERT_EQ(stacks.size(), 3u);
  EXPECT_EQ(stacks[0].body.stack_id, 500u);
  ASSERT_EQ(stacks[0].body.count, 1u);
  EXPECT_EQ(base::load<std::uint64_t>(stacks[0].tail.data()), loop());
  EXPECT_EQ(stacks[2].body.stack_id, 502u);
  EXPECT_EQ(stacks[2].body.count, 0u) << "behind the loop";
}

TEST_F(Loops, WithoutStacksAreToldWhereTheyChange) {
  op(6);
  op(8);
  op(6);
  op(40);
  op(40);
  const auto around = segment_.all<wire::StackLoops>();
  ASSERT_EQ(around.size(), 2u);
  EXPECT_EQ(around[0].body.stack_id, 0u);
  EXPECT_EQ(around[0].body.count, 1u);
  EXPECT_EQ(around[1].body.count, 0u) << "behind the loop";
  EXPECT_EQ(segment_.all<wire::PyCodeDef>().size(), 1u) << "the loop's code, for its file and line";
}

TEST_F(Loops, InsideAModuleSaySo) {
  op(6, 500, 1, 0);
  EXPECT_EQ(segment_.all<wire::LoopDef>().at(0).body.flags, wire::kLoopInModule);
}

TEST_F(Loops, CountOnlyTheChosenOne) {
  const std::uint64_t id = loop();
  segment_.discard_records();
  choose(wire::StepRule::kLoop, id + 1);
  op(8);
  op(6);
  EXPECT_TRUE(steps().empty());
  choose(wire::StepRule::kLoop, id);
  op(8);
  op(6);
  op(6);  // weak
  op(40);
  op(6);  // entered again
  EXPECT_EQ(steps(), (std::vector<std::string>(2, of(wire::StepSource::kLoop))));
  EXPECT_TRUE(marks().empty()) << "nothing is told once a loop is chosen";
  choose(wire::StepRule::kLoopInferred, id);
  op(6);
  EXPECT_EQ(steps().size(), 3u);
}

TEST_F(Loops, CountOfOneThreadOnlyWhileItLives) {
  const std::uint64_t id = loop();
  segment_.plan().step_tid.store(hot::current_tid());
  choose(wire::StepRule::kLoop, id);
  std::uint32_t other = 0;
  std::thread beside([&] {
    op(8);
    op(6);
    other = hot::current_tid();
  });
  beside.join();
  EXPECT_TRUE(steps().empty());
  op(8);
  op(6);
  EXPECT_EQ(steps().size(), 1u);
  segment_.plan().step_tid.store(other);  // it has ended
  op(8);
  op(6);
  EXPECT_EQ(steps().size(), 2u);
  EXPECT_EQ(segment_.plan().step_tid.load(), hot::current_tid());
}

TEST_F(Loops, SayWhereOptimizersAreWhileNothingIsRecorded) {
  const auto flags = [this] {
    std::vector<std::uint32_t> all;
    for (const auto& [mark, tail, tid] : segment_.all<wire::LoopMark>()) all.push_back(mark.flags);
    return all;
  };
  hot::g_state.on.store(hot::kOnOpSteps);
  op(6);
  op(10, 0, kAdam, ~0u, false, true);
  const std::size_t told = flags().size();
  EXPECT_EQ(wire::kMarkOptimizer | wire::kMarkLoopEntry, flags().back());
  hot::g_state.on.store(hot::kOnOpSteps | hot::kOnOperators);
  op(12, 0, kAdam, ~0u, false, true);
  EXPECT_EQ(told, flags().size()) << "its record tells";
}

TEST_F(Loops, SayWhereGraphsWereLaunchedWhileNothingIsRecorded) {
  hot::g_state.on.store(hot::kOnOpSteps);
  graphs(0, 1, false);
  op(6);
  const auto around = segment_.all<wire::StackLoops>();
  ASSERT_EQ(around.size(), 1u);
  EXPECT_EQ(around[0].body.stack_id, 0u);
  EXPECT_EQ(around[0].body.count, 1u);
  graphs(3, 1, false);
  op(6);
  EXPECT_EQ(marks(), (std::vector<std::uint32_t>{wire::kMarkLoopEntry, wire::kMarkGraphReplays,
                                                 wire::kMarkInferred}))
      << "they belong to the iteration before";
  EXPECT_EQ(segment_.all<wire::LoopMark>()[1].body.count, 3u);
  EXPECT_EQ(segment_.all<wire::StackLoops>().size(), 1u) << "it is where it was";
}

TEST_F(Loops, OfAProgramWithoutGraphsAreNotToldByPlace) {
  hot::g_state.on.store(hot::kOnOpSteps);
  op(6);
  op(40);
  EXPECT_TRUE(segment_.all<wire::StackLoops>().empty());
}

TEST_F(Loops, SayNothingOfReplaysOnceOneIsChosen) {
  hot::g_state.on.store(hot::kOnOpSteps);
  graphs(0, 1, false);
  choose(wire::StepRule::kLoop, loop());
  segment_.discard_records();
  graphs(3, 1, false);
  op(8);
  op(6);
  EXPECT_TRUE(marks().empty());
}

TEST_F(Loops, TellACaptureWhateverIsChosen) {
  choose(wire::StepRule::kLoop, loop());
  hot::g_state.on.store(hot::kOnOpSteps);
  segment_.discard_records();
  graphs(0, 1, true);
  op(40);
  op(42, 0, kAdam, ~0u, false, true);
  EXPECT_EQ(marks(), (std::vector<std::uint32_t>{wire::kMarkGraphCapture,
                                                 wire::kMarkGraphCapture | wire::kMarkOptimizer}));
  const auto around = segment_.all<wire::StackLoops>();
  ASSERT_EQ(around.size(), 1u);
  EXPECT_EQ(around[0].body.count, 0u) << "outside of the loop";
}

TEST_F(Loops, TakeACaptureForOverWhenNobodyHearsOfItsEnd) {
  hot::g_state.on.store(hot::kOnOpSteps);
  graphs(0, 1, true);
  hot::g_state.graph_callback_gaps.fetch_add(1);
  op(6);
  op(10, 0, kAdam, ~0u, false, true);
  EXPECT_EQ(marks().back(), wire::kMarkOptimizer | wire::kMarkLoopEntry);
}

TEST_F(Loops, LeaveGraphsToTheRecords) {
  for (const std::uint32_t recorded : {hot::kOnOperators, hot::kOnCuda}) {
    hot::g_state.on.store(hot::kOnOpSteps | recorded);
    graphs(1, 1, true);
    op(6);
    graphs(2, 1, true);
    op(6);
  }
  for (const std::uint32_t flags : marks())
    EXPECT_EQ(flags & (wire::kMarkGraphReplays | wire::kMarkGraphCapture), 0u);
}

TEST_F(Loops, AreToldAgainWhenTheChoiceIsTakenBack) {
  choose(wire::StepRule::kLoop, loop());
  op(8);
  choose(wire::StepRule::kNone, 0);
  segment_.discard_records();
  op(6);
  EXPECT_EQ(marks(), std::vector<std::uint32_t>{0});
}

TEST_F(Loops, CountNoIterationThatOnlyAsksALoader) {
  const auto fetch = [this] { op(2, 0, 5, ~0u, true); };
  choose(wire::StepRule::kLoop, loop());
  segment_.discard_records();
  fetch();
  EXPECT_TRUE(steps().empty()) << "not yet";
  op(6);
  op(8);
  fetch();
  op(6);
  fetch();
  op(40);  // the loader had nothing more
  EXPECT_EQ(steps().size(), 2u);
  fetch();  // the loop is entered again
  fetch();  // there was nothing, and again
  op(6);
  const auto marks = segment_.all<wire::StepMark>();
  ASSERT_EQ(marks.size(), 3u);
  EXPECT_EQ(marks[0].body.ts_ns, 3u) << "the step begins with the loader";
}

TEST_F(Loops, LeaveTheStepToTheEndOfAnOperator) {
  choose(wire::StepRule::kOpEnd, kAdam);
  op(6);
  op(8, 0, kAdam);
  op(6);
  op(8, 0, kAdam);
  EXPECT_EQ(steps(), (std::vector<std::string>(2, of(wire::StepSource::kOptimizer))));
}

TEST_F(Loops, GiveWayToTheProgramsOwnSteps) {
  const std::uint64_t id = loop();
  choose(wire::StepRule::kLoop, id);
  {
    const hot::Guard guard(hot::RingRole::kCallback);
    on_user_step_begin(guard, 41, 1000);
    on_user_step_end(guard, 40, 1001);  // not the one that is open
    on_user_step_end(guard, 41, 1002);
    on_user_step_end(guard, 41, 1003);
    on_user_step_begin(guard, 42, 1004);
  }
  op(8);
  op(6);
  EXPECT_EQ(steps(), (std::vector<std::string>{of(wire::StepSource::kUser, 41),
                                               of(wire::StepSource::kUser, 42)}));
  const auto all = segment_.all<wire::StepMark>();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].body.flags, wire::kStepEnd);
  EXPECT_EQ(all[1].body.number, all[0].body.number);
  EXPECT_EQ(all[1].body.ts_ns, 1002u);
}

TEST_F(Loops, AreAllThatCountsWhereLoopsWereAskedFor) {
  set_step_source(wire::StepSource::kLoop);
  {
    const hot::Guard guard(hot::RingRole::kCallback);
    on_user_step_begin(guard, 1, 1);
  }
  op(6);
  EXPECT_TRUE(steps().empty());
  EXPECT_EQ(marks().size(), 1u);
}

TEST_F(Loops, AreNotLookedForWhereSomethingElseWasAskedFor) {
  for (const auto source : {wire::StepSource::kUser, wire::StepSource::kOptimizer}) {
    set_step_source(source);
    op(6, 500);
  }
  set_step_source(wire::StepSource::kAuto);
  hot::g_state.on.store(hot::kOnOperators);
  op(6, 500);
  EXPECT_TRUE(marks().empty());
  EXPECT_TRUE(segment_.all<wire::StackLoops>().empty());
}

TEST_F(Loops, AreForgottenInAForkedChild) {
  op(6);
  op(8);
  reset_loops_after_fork();
  op(6);
  EXPECT_EQ(marks(), (std::vector<std::uint32_t>(2, wire::kMarkLoopEntry)));
}

}  // namespace
}  // namespace gpuprof::torch
