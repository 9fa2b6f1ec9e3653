// SPDX-License-Identifier: Apache-2.0
//
// Conditions of --fail-if: how they are read, and when they hold.
#include "analysis/report/diff/condition.hpp"

#include <gmock/gmock.h>

#include "tests/unit/report_diff/made_sides.hpp"

namespace gpuprof::report::diff {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string refusal(const std::string& text) {
  const auto condition = parse_condition(text);
  if (condition.ok()) return "";
  EXPECT_EQ(2, condition.error().exit_status) << text;
  return condition.error().message;
}

TEST(Condition, IsReadWithEveryKindOfBound) {
  const Condition percent = parse_condition(" step_time > +5% ").value();
  EXPECT_EQ("step_time", percent.metric);
  EXPECT_TRUE(percent.above);
  EXPECT_EQ(BoundKind::kRelative, percent.bound);
  EXPECT_DOUBLE_EQ(0.05, percent.value);
  const Condition more = parse_condition("operator:aten::mm>=+2ms").value();
  EXPECT_EQ("aten::mm", more.name);
  EXPECT_TRUE(more.or_equal);
  EXPECT_EQ(BoundKind::kDifference, more.bound);
  EXPECT_DOUBLE_EQ(2e6, more.value);
  const Condition value = parse_condition("memory_peak > 8 GiB").value();
  EXPECT_EQ(BoundKind::kValue, value.bound);
  EXPECT_DOUBLE_EQ(8.0 * 1024 * 1024 * 1024, value.value);
  EXPECT_DOUBLE_EQ(-0.1, parse_condition("kernel_time < -10%").value().value);
  EXPECT_DOUBLE_EQ(0, parse_condition("changes > 0").value().value);
}

TEST(Condition, NamesOfKernelsMayHaveTheirOwnSigns) {
  const Condition condition =
      parse_condition("kernel:void add<float, 4>(float*)::operator() > +5%").value();
  EXPECT_EQ("void add<float, 4>(float*)::operator()", condition.name);
}

TEST(Condition, WhatIsNotUnderstoodIsSaidInOneSentence) {
  EXPECT_THAT(refusal(""), HasSubstr("for example 'step_time > +5%'"));
  EXPECT_THAT(refusal("step_time"), HasSubstr("expected a comparison with >, >=, < or <="));
  EXPECT_THAT(refusal("steptime > 5%"), HasSubstr("did you mean step_time?"));
  EXPECT_THAT(refusal("step_time > fast"), HasSubstr("'fast' is not a number"));
  EXPECT_THAT(refusal("step_time >"), HasSubstr("is not a number"));
  EXPECT_THAT(refusal("step_time > nan"), HasSubstr("is not a number"));
  EXPECT_THAT(refusal("step_time > 5"),
              HasSubstr("'5' has no unit; expected for example +5%, +2ms or 20ms"));
  EXPECT_THAT(refusal("step_time > 5MiB"), HasSubstr("the unit of '5MiB' does not fit step_time"));
  EXPECT_THAT(refusal("step_time => 5%"), HasSubstr("step_time ="));
  EXPECT_THAT(refusal("operator > 5%"), HasSubstr("needs a name; write operator:NAME"));
  EXPECT_THAT(refusal("step_time:x > 5%"), HasSubstr("takes no name"));
  EXPECT_THAT(refusal("changes > 5%"), HasSubstr("changes is a count"));
}

class Holds : public testing::Test {
 protected:
  void SetUp() override {
    test::SyntheticProgram program(21);
    const test::Noise calm{.step = 0.02, .drift = 0, .own = 0.001, .spikes = 0};
    StepProfile before = program.run(test::usual_times(), 40, calm);
    StepProfile after = program.run(test::usual_times(), 40, calm, 0, 1.5);
    before.memory[-1].peak_allocated_bytes = 100 << 20;
    after.memory[-1].peak_allocated_bytes = 120 << 20;
    diff_.processes.push_back(compare(before, after, {}));
  }
  std::vector<std::string> holds(const std::string& text) {
    const auto result = diff::evaluate_condition(parse_condition(text).value(), diff_);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.value();
  }
  Diff diff_;
};

TEST_F(Holds, WhatChangedBeyondTheBound) {
  EXPECT_THAT(holds("step_time > +5%"), SizeIs(1));
  EXPECT_THAT(holds("step_time > +5%")[0], HasSubstr("--fail-if 'step_time > +5%' holds: 14."));
  EXPECT_THAT(holds("step_time > +30%"), IsEmpty());
  EXPECT_THAT(holds("step_time > 15ms"), SizeIs(1));
  EXPECT_THAT(holds("step_time > 20ms"), IsEmpty());
  EXPECT_THAT(holds("operator:op0 > +1ms"), SizeIs(1));
  EXPECT_THAT(holds("operator_self:op0 > +3ms"), IsEmpty());
  EXPECT_THAT(holds("memory_peak > +10%"), SizeIs(1));
  EXPECT_THAT(holds("host_memory_peak > 130MiB"), IsEmpty());
  EXPECT_THAT(holds("changes > 0"), SizeIs(1));
  EXPECT_THAT(holds("calls:op0 > +0"), IsEmpty());
}

TEST_F(Holds, NoiseIsNoAnswerToAQuestionForAChange) {
  EXPECT_THAT(holds("operator:op5 > +0%"), IsEmpty());
  EXPECT_THAT(holds("operator:op5 < -0%"), IsEmpty());
}

TEST_F(Holds, TooFewStepsToTellIsSaid) {
  test::SyntheticProgram program(21);
  const test::Noise calm{.step = 0.02, .drift = 0, .own = 0.001, .spikes = 0};
  diff_.processes = {compare(program.run(test::usual_times(), 2, calm),
                             program.run(test::usual_times(), 2, calm, 0, 1.5), {})};

  const auto told = diff::evaluate_condition(parse_condition("step_time > +5%").value(), diff_);

  ASSERT_FALSE(told.ok());
  EXPECT_THAT(told.error().message, HasSubstr("cannot be evaluated: "));
  EXPECT_THAT(told.error().message, HasSubstr("too few to tell a change from noise"));
  EXPECT_EQ(told.error().exit_status, 2);
  EXPECT_THAT(holds("step_time > +500%"), IsEmpty());
}

TEST_F(Holds, WhatIsNotThereIsSaid) {
  const auto message = [&](const std::string& text) {
    const auto result = diff::evaluate_condition(parse_condition(text).value(), diff_);
    EXPECT_FALSE(result.ok());
    return result.ok() ? "" : result.error().message;
  };
  EXPECT_THAT(message("operator:op99 > +5%"), HasSubstr("neither recording has that name"));
  EXPECT_THAT(message("operator:op > +5%"), HasSubstr("16 names contain 'op'"));
  EXPECT_THAT(message("kernel_time > +5%"), HasSubstr("no GPU work"));
}

}  // namespace
}  // namespace gpuprof::report::diff
