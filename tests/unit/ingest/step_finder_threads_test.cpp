// SPDX-License-Identifier: Apache-2.0
//
// Steps of programs that run the chosen loop in several threads.
#include <gmock/gmock.h>

#include "tests/unit/ingest/step_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using wire::kMarkLoopEntry;

constexpr std::uint64_t kLoop = 1;
constexpr RingInfo kFirst{0, 100, 1}, kSecond{2, 102, 1};

class StepThreads : public StepFinderTest {
 protected:
  StepThreads() {
    loop(kLoop, 37, 60);
    stack(11, {kLoop});
  }
  void turn(const RingInfo& ring, std::uint32_t flags = 0) {
    iterate(kLoop, flags, ring);
    op("aten::linear", 11, 300 * kUs, wire::kOpTopLevel, ring);
    op("Optimizer.step#SGD.step", 11, 300 * kUs, wire::kOpTopLevel, ring);
  }
};

TEST_F(StepThreads, SideBySideThoseOfOneCount) {
  for (int i = 0; i < 300; ++i) {
    truth_.push_back(t_);
    turn(kFirst, i == 0 ? kMarkLoopEntry : 0);
    if (i % 3 == 1) turn(kSecond, i == 1 ? kMarkLoopEntry : 0);
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_GT(counted_, 100u) << "the target counts once it was told";
  EXPECT_EQ(heard_.rule_tid, kFirst.tid);
  EXPECT_THAT(sink_.steps, Each(Field(&model::Step::tid, kFirst.tid)));
  EXPECT_THAT(heard_.told, ElementsAre(HasSubstr("train.py:37")));
}

TEST_F(StepThreads, SideBySideToTheEndOfAShortProgram) {
  for (int i = 0; i < 5; ++i) {
    turn(kSecond, i == 0 ? kMarkLoopEntry : 0);
    for (int k = 0; k < 2; ++k) {
      truth_.push_back(t_);
      turn(kFirst, i + k == 0 ? kMarkLoopEntry : 0);
    }
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(StepThreads, OneAfterTheOtherAllCount) {
  for (std::uint32_t epoch = 0; epoch < 30; ++epoch) {
    for (int i = 0; i < 10; ++i) {
      truth_.push_back(t_);
      turn(RingInfo{epoch, 100 + epoch, 1}, i == 0 ? kMarkLoopEntry : 0);
    }
    ended_.insert(100 + epoch);
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_GT(counted_, 100u);
}

}  // namespace
}  // namespace gpuprof::ingest
