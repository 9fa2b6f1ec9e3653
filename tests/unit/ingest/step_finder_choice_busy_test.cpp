// SPDX-License-Identifier: Apache-2.0
//
// Which loop is the step of a program without optimizers, and where there is none.
#include <gmock/gmock.h>

#include "tests/unit/ingest/step_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::kMarkLoopEntry;

constexpr std::uint64_t kInner = 1, kOuter = 2, kOther = 3;

TEST_F(StepFinderTest, WithoutAnOptimizerTheLoopThatHoldsTheTime) {
  // Given a model whose layers are a loop, and a main loop of 100 ms a turn
  loop(kInner, 12, 14, wire::kLoopInModule);
  loop(kOuter, 37, 60);
  stack(11, {kInner, kOuter});
  for (int i = 0; i < 80; ++i) {
    iterate(kOuter, i == 0 ? kMarkLoopEntry : 0);
    truth_.push_back(t_);
    for (int layer = 0; layer < 10; ++layer) {
      iterate(kInner, layer == 0 ? kMarkLoopEntry : 0);
      op("aten::linear", 11, 10 * kMs);
    }
  }
  EXPECT_THAT(heard_.told, ElementsAre(HasSubstr("train.py:37, confidence 80 %")));
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_EQ(80u, sink_.steps[0].confidence);
}

TEST_F(StepFinderTest, InitialisationInALoopIsNotTheStep) {
  loop(kOther, 5, 9);
  loop(kInner, 37, 60);
  stack(11, {kOther});
  stack(12, {kInner});
  for (int i = 0; i < 200; ++i) {
    iterate(kOther, i == 0 ? kMarkLoopEntry : 0);
    op("aten::normal_", 11, 2 * kMs);
  }
  for (int i = 0; i < 100; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    truth_.push_back(t_);
    op("aten::linear", 12, 10 * kMs);
  }
  finish();  // before the time for looking is over
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(StepFinderTest, BuildingAModelForLongIsNotTheStep) {
  // Given weights loaded in a loop for eight seconds, then a loop without optimizers
  loop(kOther, 5, 9);
  loop(kInner, 37, 60);
  stack(11, {kOther});
  stack(12, {kInner});
  for (int i = 0; i < 400; ++i) {
    iterate(kOther, i == 0 ? kMarkLoopEntry : 0);
    op("aten::empty", 11, 5 * kMs);
    op("aten::copy_", 11, 15 * kMs);
  }
  EXPECT_THAT(heard_.told, IsEmpty());
  for (int i = 0; i < 300; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    truth_.push_back(t_);
    op("aten::linear", 12, 10 * kMs);
  }
  EXPECT_THAT(heard_.told, ElementsAre(HasSubstr("train.py:37")));
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(StepFinderTest, WhatTheCompilerTriesWhenItIsImportedIsNotTheStep) {
  // Given a loop of torch._dynamo with more operator time than the program, of two ring buffers
  const RingInfo worker{1, 101, 1};
  put(wire::LoopDef{kOther, 8, 5, 9, 0, 0});
  code(8, "/venv/torch/_dynamo/variables/torch_function.py", "populate");
  put(wire::LoopDef{kOther, 8, 5, 9, 0, 0}, {}, worker);
  loop(kInner, 37, 60);
  stack(11, {kOther});
  stack(12, {kInner});
  for (int i = 0; i < 38; ++i) {
    iterate(kOther, i == 0 ? kMarkLoopEntry : 0);
    op("aten::matmul", 11, 10 * kMs);
  }
  for (int i = 0; i < 20; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    truth_.push_back(t_);
    op("aten::linear", 12, kMs);
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(StepFinderTest, NodesOfATracedGraphAreNoSteps) {
  // Given a graph of six nodes that is run twenty times by the program's loop
  put(wire::LoopDef{kInner, 8, 5, 9, 0, 0});
  code(8, "/venv/torch/fx/interpreter.py", "run");
  loop(kOuter, 37, 60);
  stack(11, {kInner, kOuter});
  for (int i = 0; i < 120; ++i) {
    if (i % 6 == 0) {
      iterate(kOuter, i == 0 ? kMarkLoopEntry : 0);
      truth_.push_back(t_);
    }
    iterate(kInner, i % 6 == 0 ? kMarkLoopEntry : 0);
    op("aten::linear", 11, 5 * kMs);
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(StepFinderTest, AProgramWithoutLoopsHasNoSteps) {
  stack(11, {});
  for (int i = 0; i < 100; ++i) op(i % 2 == 0 ? "aten::linear" : "aten::relu", 11, 100 * kMs);
  finish();
  EXPECT_THAT(sink_.steps, IsEmpty());
  EXPECT_THAT(heard_.told, IsEmpty());
}

TEST_F(StepFinderTest, ALoopThatOnlyBuildsAModelIsNoStep) {
  loop(kOther, 21, 25);
  stack(11, {kOther});
  stack(12, {});
  for (int i = 0; i < 4; ++i) {
    iterate(kOther, i == 0 ? kMarkLoopEntry : 0);
    op("aten::empty", 11, kMs);
    op("aten::uniform_", 11, 10 * kMs);
  }
  op("aten::linear", 12, kMs);
  finish();
  EXPECT_THAT(sink_.steps, IsEmpty());
}

TEST_F(StepFinderTest, ALoopThatWaitsForTheDeviceIsAStepThoughItComputesLittleItself) {
  loop(kInner, 37, 60);
  stack(11, {kInner});
  for (int i = 0; i < 100; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    truth_.push_back(t_);
    op("aten::view", 11, 40 * kUs);
    op("aten::linear", 11, 100 * kUs);
    op("aten::item", 11, 50 * kMs);
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(StepFinderTest, ALoopOfInitialisationAloneIsNoStep) {
  loop(kOther, 5, 9);
  stack(11, {kOther});
  stack(12, {});
  for (int i = 0; i < 200; ++i) {
    iterate(kOther, i == 0 ? kMarkLoopEntry : 0);
    op("aten::normal_", 11, 100 * kUs);
  }
  op("aten::linear", 12, 2 * kSecond);
  finish();
  EXPECT_THAT(sink_.steps, IsEmpty());
}

TEST_F(StepFinderTest, ALoadersWorkerHasNoSteps) {
  loop(kInner, 37, 60);
  code(8, "/venv/torch/utils/data/_utils/worker.py", "_worker_loop");
  stack(11, {kInner});
  for (int i = 0; i < 1000; ++i) {
    iterate(kInner, i == 0 ? kMarkLoopEntry : 0);
    op("aten::stack", 11, 10 * kMs);
  }
  finish();
  EXPECT_THAT(sink_.steps, IsEmpty());
}

}  // namespace
}  // namespace gpuprof::ingest
