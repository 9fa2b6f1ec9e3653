// SPDX-License-Identifier: Apache-2.0
//
// Work that repeats: operators in a row, memory taken and dropped, backward passes.
#include "tests/unit/advice/story_builder.hpp"

namespace gpuprof::report::advice {
namespace {

using test::kUs;
using test::Names;
using test::Share;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RepeatRules : public test::StepThreadTest {
 protected:
  /// `count` of one operator in a row, 100 us each.
  void row(std::size_t step, std::uint64_t from_us, std::uint64_t count, const std::string& text,
           std::uint32_t on) {
    for (std::uint64_t i = 0; i < count; ++i)
      op(text, at(step, from_us + 100 * i), 100, on).inputs = 4;
  }
  void blocks(std::size_t step, std::uint64_t from_us, std::uint64_t count,
              std::uint64_t freed_us) {
    for (std::uint64_t i = 0; i < count; ++i)
      step_thread.blocks.push_back({at(step, from_us + 100 * i + 10), 4096 * (i + 1), 4'000'000});
    for (std::uint64_t i = 0; i < count; ++i)
      step_thread.blocks.push_back({at(step, freed_us), 4096 * (i + 1), -4'000'000});
  }
  /// One pass: the start of backward(), then a node for each number.
  void backward(std::size_t step, std::uint64_t from_us, int at_line, std::int64_t lowest,
                std::int64_t highest) {
    const FrameId called = frame("/job/train.py", at_line, "train");
    const FrameId inner = frame("/x/torch/autograd/__init__.py", 9, "backward");
    const FrameId grads = frame("/x/torch/autograd/__init__.py", 5, "_make_grads");
    op("aten::ones_like", at(step, from_us), 10, stack({grads, inner, called}));
    for (std::int64_t number = highest; number >= lowest; --number) {
      from_us += 100;
      StepThreadOp& node = op("autograd::engine::evaluate_function: X", at(step, from_us), 100,
                              stack({inner, called}));
      node.kind = StepThreadOpKind::kEvaluate;
      node.sequence = numbered(step, number);
    }
  }
  /// Numbers of autograd never come again.
  static std::int64_t numbered(std::size_t step, std::int64_t number) {
    return static_cast<std::int64_t>(100 * step) + number;
  }
  void forward(std::size_t step, std::uint64_t from_us, int at_line, std::int64_t lowest,
               std::int64_t highest) {
    for (std::int64_t number = lowest; number <= highest; ++number, from_us += 100)
      op("aten::linear", at(step, from_us), 100, line(at_line)).sequence = numbered(step, number);
  }
  void optimize(std::size_t step, std::uint64_t from_us) {
    op("Optimizer.step#SGD.step", at(step, from_us), 100, line(30)).kind =
        StepThreadOpKind::kOptimizer;
  }
};

TEST_F(RepeatRules, FiveEqualAdditionsInARowAreRepeatedWork) {
  steps(4);
  for (std::size_t i = 0; i < 4; ++i) row(i, 1000, 5, "aten::add", line(12));
  EXPECT_THAT(run_rule(repeated_work), ElementsAre(AllOf(Names(kRepeatedWork, 12), Share(0.05))));
}

TEST_F(RepeatRules, LinesOfOneFunctionMakeOneRow) {
  steps(4);
  for (std::size_t i = 0; i < 4; ++i)
    for (int k = 0; k < 5; ++k)
      op("aten::add", at(i, 1000 + 100 * static_cast<std::uint64_t>(k)), 100, line(12 + k)).inputs =
          4;
  const auto found = run_rule(repeated_work);
  ASSERT_THAT(found, ElementsAre(Names(kRepeatedWork, 12)));
  EXPECT_EQ(found[0].where.text(), "/job/train.py:12-16");
}

TEST_F(RepeatRules, OtherInputsTwoInARowOrAPackageAreNone) {
  steps(4);
  for (std::size_t i = 0; i < 4; ++i) {
    row(i, 1000, 2, "aten::add", line(12));
    op("aten::mul", at(i, 1200), 100, line(13));
    row(i, 1300, 2, "aten::add", line(12));
    row(i, 3000, 5, "aten::add_", inside("/x/torch/optim/sgd.py", "sgd", 14));
    for (std::uint32_t k = 0; k < 5; ++k)
      op("aten::add", at(i, 5000 + 100 * k), 100, line(15)).inputs = k + 1;
    for (std::uint32_t k = 0; k < 5; ++k) op("aten::mul", at(i, 6000 + 100 * k), 100, line(16));
  }
  EXPECT_THAT(run_rule(repeated_work), IsEmpty());
}

TEST_F(RepeatRules, ClonesThatAreDroppedAreChurnWithTheTimeOfDropping) {
  steps(4);
  for (std::size_t i = 0; i < 4; ++i) {
    row(i, 1000, 10, "aten::clone", line(12));
    blocks(i, 1000, 10, 2050);
    op("aten::add", at(i, 2500), 100, line(14));
  }
  const auto found = run_rule(allocation_churn);
  EXPECT_THAT(found, ElementsAre(AllOf(Names(kAllocationChurn, 12), Share(0.15))));
  EXPECT_THAT(run_rule(repeated_work), IsEmpty());
}

TEST_F(RepeatRules, ARowOfShortKernelsIsNamedByWhatLaunchingCosts) {
  steps(4);
  analysis.stack_table.frames.push_back(
      {"/job/train.py(12): train", "train", "/job/train.py", 12, true, true});
  KernelRow kernel;
  kernel.line = 1;
  kernel.time.count = 80;
  kernel.time.total_ns = 80 * 2 * kUs;
  analysis.gpu.kernels.push_back(kernel);
  for (std::size_t i = 0; i < 4; ++i) row(i, 1000, 20, "aten::mul", line(12));
  EXPECT_THAT(run_rule(tiny_kernels), ElementsAre(AllOf(Names(kTinyKernels, 12), Share(0.2))));
  EXPECT_THAT(run_rule(repeated_work), IsEmpty());
}

TEST_F(RepeatRules, BackwardPassesThatNoOptimizerNeedsAreNamedWithTheirForward) {
  steps(6);
  for (std::size_t i = 0; i < 6; ++i) {
    forward(i, 0, 20, 0, 4);
    if (i % 3 == 0) {
      forward(i, 1000, 22, 5, 9);
      backward(i, 1500, 23, 5, 9);
    }
    backward(i, 4000, 25, 0, 4);
    optimize(i, 8000);
  }
  const auto found = run_rule(extra_backward);
  // 0.5 ms forward, 0.6 ms backward, in every third step of 10 ms.
  ASSERT_THAT(found, ElementsAre(AllOf(Names(kExtraBackward, 23), Share(0.11 / 3))));
  EXPECT_THAT(found[0].finding, HasSubstr("start at line 22"));
}

TEST_F(RepeatRules, AGraphWalkedTwiceIsSaidToBeRetained) {
  steps(4);
  for (std::size_t i = 0; i < 4; ++i) {
    forward(i, 0, 20, 0, 4);
    backward(i, 1500, 23, 0, 4);
    backward(i, 4000, 25, 0, 4);
    optimize(i, 8000);
  }
  const auto found = run_rule(extra_backward);
  ASSERT_THAT(found, ElementsAre(AllOf(Names(kExtraBackward, 23), Share(0.06))));
  EXPECT_THAT(found[0].finding, HasSubstr("retain_graph=True"));
}

TEST_F(RepeatRules, GradientsSummedOverBatchesAndTwoOptimizersAreNone) {
  steps(8);
  for (std::size_t i = 0; i < 8; ++i) {
    forward(i, 0, 20, 0, 4);
    backward(i, 1000, 23, 0, 4);
    if (i % 4 == 3) optimize(i, 8000);
  }
  EXPECT_THAT(run_rule(extra_backward), IsEmpty());
  step_thread.ops.clear();
  for (std::size_t i = 0; i < 8; ++i) {
    backward(i, 1000, 23, 0, 4);
    optimize(i, 3000);
    backward(i, 4000, 25, 5, 9);
    optimize(i, 8000);
  }
  EXPECT_THAT(run_rule(extra_backward), IsEmpty());
}

}  // namespace
}  // namespace gpuprof::report::advice
