// SPDX-License-Identifier: Apache-2.0
//
// Trainings whose first update comes late, or after the choice.
#include <gmock/gmock.h>

#include "tests/unit/ingest/step_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using wire::kMarkLoopEntry;

constexpr std::uint64_t kBatches = 1, kUpdates = 2, kLayers = 3;

class LateUpdateTest : public StepFinderTest {
 protected:
  LateUpdateTest() {
    loop(kBatches, 40, 50);
    loop(kUpdates, 30, 60);
    loop(kLayers, 5, 9);
    stack(11, {kBatches, kUpdates});
    stack(12, {kUpdates});
    stack(13, {kLayers, kBatches, kUpdates});
  }

  /// Forward through a loop over layers, backward, then the program waits for data.
  void batch(bool first, std::uint64_t forward_ns, std::uint64_t rest_ns) {
    iterate(kBatches, first ? kMarkLoopEntry : 0);
    for (int layer = 0; layer < 4; ++layer) {
      iterate(kLayers, layer == 0 ? kMarkLoopEntry : 0);
      op("aten::linear", 13, forward_ns);
    }
    op("autograd::engine::evaluate_function: AddmmBackward0", 11, 2 * kMs);
    pass(rest_ns);
  }
  void update(int batches, std::uint64_t rest_ns) {
    iterate(kUpdates, truth_.empty() ? kMarkLoopEntry : 0);
    truth_.push_back(t_);
    // The first operator of a process takes long: it alone says that layers are what takes time.
    for (int i = 0; i < batches; ++i)
      batch(i == 0, truth_.size() == 1 && i == 0 ? 500 * kMs : kMs, rest_ns);
    op("Optimizer.step#SGD.step", 12, 2 * kMs);
  }
};

TEST_F(LateUpdateTest, GradientsSummedUpForLongAreNoSteps) {
  for (int i = 0; i < 5; ++i) update(8, 900 * kMs);
  finish();
  EXPECT_THAT(heard_.told, ElementsAre("iterations of the loop at train.py:30 "
                                       "(with Optimizer.step), confidence 95 %"));
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

TEST_F(LateUpdateTest, AnUpdateAfterTheChoiceMovesTheStepsToItsLoop) {
  for (int i = 0; i < 6; ++i) update(30, 900 * kMs);
  finish();
  ASSERT_THAT(heard_.told, SizeIs(2));
  EXPECT_THAT(heard_.told[0], HasSubstr("train.py:40, confidence 80 %"));
  EXPECT_THAT(heard_.told[1], HasSubstr("on iterations of the loop at train.py:30 "
                                        "(with Optimizer.step), confidence 95 %"));
  // The second one began before the target heard of it.
  const std::vector<std::uint64_t> begins = begins_of(sink_.steps);
  ASSERT_GT(begins.size(), 4u);
  EXPECT_EQ(std::vector(truth_.begin() + 2, truth_.end()),
            std::vector(begins.end() - 4, begins.end()));
}

TEST_F(LateUpdateTest, AnUpdateInsideOfTheChosenLoopIsTold) {
  for (int i = 0; i < 90; ++i) {
    iterate(kUpdates, i == 0 ? kMarkLoopEntry : 0);
    truth_.push_back(t_);
    op("aten::linear", 12, 2 * kMs);
    op("autograd::engine::evaluate_function: AddmmBackward0", 12, 2 * kMs);
    pass(400 * kMs);
    if (i % 60 == 59) op("Optimizer.step#SGD.step", 12, 2 * kMs);
  }
  finish();
  ASSERT_THAT(heard_.told, SizeIs(2));
  EXPECT_THAT(heard_.told[0], HasSubstr("train.py:30, confidence 80 %"));
  EXPECT_THAT(heard_.told[1], HasSubstr("train.py:30 (with Optimizer.step), confidence 95 %"));
  EXPECT_EQ(truth_, begins_of(sink_.steps));
  EXPECT_EQ(95u, sink_.steps.back().confidence);
}

TEST_F(LateUpdateTest, UpdatesByHandAreNotWaitedForLonger) {
  for (int i = 0; i < 200; ++i) {
    iterate(kUpdates, i == 0 ? kMarkLoopEntry : 0);
    truth_.push_back(t_);
    op("aten::linear", 12, 20 * kMs);
    op("autograd::engine::evaluate_function: AddmmBackward0", 12, 20 * kMs);
  }
  EXPECT_THAT(heard_.told, ElementsAre(HasSubstr("train.py:30, confidence 80 %")));
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

}  // namespace
}  // namespace gpuprof::ingest
