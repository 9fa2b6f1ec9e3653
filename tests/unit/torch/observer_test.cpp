// SPDX-License-Identifier: Apache-2.0
//
// Three fake copies of libtorch in one process, laid out as 2.1, 2.7 and 2.15 are.
#include <array>

#include "gpuprof/wire/operator_inputs.hpp"
#include "inject/hot/recorder.hpp"
#include "inject/torch/library.hpp"
#include "tests/unit/torch/observer_fixture.hpp"

namespace gpuprof::torch {
namespace {

using tests::Copy;
using tests::FakeValue;
using tests::Observed;
using wire::InputForm;

class EachCopy : public testing::TestWithParam<const char*> {
 protected:
  Copy copy{GetParam()};
  Observed observed;
  std::byte object[4][1024];
};
INSTANTIATE_TEST_SUITE_P(All, EachCopy, testing::Values("torch-2.1", "torch-2.7", "torch-2.15"));

// What a launch on this thread would be told.
std::uint32_t open_op() {
  const hot::Guard guard(hot::RingRole::kCallback);
  return guard ? guard.block().open_op : 0;
}

std::uint64_t head(InputForm form, std::uint64_t count = 0, std::uint64_t total = 0,
                   std::uint8_t dtype = 0) {
  return wire::InputHead{form, dtype, static_cast<std::uint16_t>(count),
                         static_cast<std::uint32_t>(total)}
      .word();
}

TEST_P(EachCopy, IsToldOfWithAllItsFields) {
  copy.torch().begin(object[0], {"aten::addmm", 41, nullptr, 0, 0});
  copy.torch().begin(object[1], {"AddmmBackward0", 17, nullptr, 9, 1});
  copy.torch().end(object[1]);
  copy.torch().end(object[0]);
  const auto begins = observed.begins();
  ASSERT_EQ(begins.size(), 2u);
  const wire::OpBegin &outer = begins[0].body, &inner = begins[1].body;
  EXPECT_EQ(observed.segment.text(outer.name_id), "aten::addmm");
  EXPECT_EQ(observed.segment.text(inner.name_id), "AddmmBackward0");
  EXPECT_EQ(outer.sequence, 41);
  EXPECT_EQ(inner.sequence, 17);
  EXPECT_EQ(outer.forward_thread, 0u);
  EXPECT_EQ(inner.forward_thread, 9u);
  EXPECT_NE(outer.thread, 0u);
  EXPECT_EQ(inner.thread, outer.thread);
  EXPECT_EQ(outer.scope, 0);
  EXPECT_EQ(inner.scope, 1);
  EXPECT_EQ(outer.flags, wire::kOpTopLevel);
  EXPECT_EQ(inner.flags, 0);
  EXPECT_NE(inner.op_id, outer.op_id);
  const auto ends = observed.ends();
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].body.op_id, inner.op_id);
  EXPECT_EQ(ends[1].body.object, outer.object);
  EXPECT_GE(ends[1].body.ts_ns, outer.ts_ns);
}

TEST_P(EachCopy, NamesTheOpenOperatorToLaunches) {
  copy.torch().begin(object[0], {"outer"});
  const std::uint32_t outer = open_op();
  copy.torch().begin(object[1], {"inner"});
  EXPECT_NE(open_op(), outer);
  copy.torch().end(object[1]);
  EXPECT_EQ(open_op(), outer);
  copy.torch().end(object[0]);
  EXPECT_EQ(open_op(), 0u);
  EXPECT_EQ(observed.begins()[0].body.op_id, outer);
}

TEST_P(EachCopy, NestsDeeperThanIsRemembered) {
  constexpr std::size_t kMax = 192, kDeep = kMax + 8;
  std::vector<std::array<std::byte, 1024>> objects(kDeep);
  for (auto& nested : objects) copy.torch().begin(nested.data(), {"deep"});
  std::vector<std::uint32_t> open;  // as launches were told
  for (auto at = objects.rbegin(); at != objects.rend(); ++at) {
    copy.torch().end(at->data());
    open.push_back(open_op());
  }
  const auto begins = observed.begins();
  const auto ends = observed.ends();
  ASSERT_EQ(ends.size(), kDeep);
  for (std::size_t i = 0; i < kDeep; ++i) {
    const bool remembered = i + 1 < kMax, last = i + 1 == kDeep;
    const std::uint32_t outer = last         ? 0
                                : remembered ? begins[kDeep - 2 - i].body.op_id
                                             : wire::kOpUnknown;
    EXPECT_EQ(ends[i].body.outer, outer) << i;
    EXPECT_EQ(open[i], outer) << i;
  }
}

TEST_P(EachCopy, LooksThroughRangesOfTheProgramsOwn) {
  const char* const ranges[] = {"mine", "Optimizer.step#SGD.step",
                                "enumerate(DataLoader)#_Iter.__next__"};
  for (const char* range : ranges) {
    copy.torch().begin(object[0], {range, -1, nullptr, 0, 7});
    copy.torch().begin(object[1], {"aten::add"});
    copy.torch().end(object[1]);
    copy.torch().end(object[0]);
  }
  const auto begins = observed.begins();
  ASSERT_EQ(begins.size(), 6u);
  const std::uint16_t top = wire::kOpTopLevel;
  const std::uint16_t expected[] = {top, top, top, 0, top, 0};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(begins[i].body.flags, expected[i]) << i;
}

TEST_P(EachCopy, CountsTheProgramsOwnSteps) {
  copy.torch().begin(object[0], {"ProfilerStep#12", -1, nullptr, 0, 7});
  copy.torch().end(object[0]);
  for (const char* other : {"ProfilerStep#x", "ProfilerStep#", "ProfilerStep#-1", "ProfilerStep#1 ",
                            "ProfilerStep#1234567890123456789"}) {
    copy.torch().begin(object[0], {other, -1, nullptr, 0, 7});
    copy.torch().end(object[0]);
  }
  const auto marks = observed.segment.all<wire::StepMark>();
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].body.user_number, 12u);
  EXPECT_EQ(marks[0].body.flags, wire::kStepBegin);
  EXPECT_EQ(marks[1].body.flags, wire::kStepEnd);
}

TEST_P(EachCopy, PairsEndsThatDoNotNest) {
  copy.torch().begin(object[0], {"first"});
  copy.torch().begin(object[1], {"second"});
  copy.torch().end(object[0]);
  const std::uint32_t second = open_op();
  copy.torch().end(object[1]);
  EXPECT_EQ(open_op(), 0u);
  const auto begins = observed.begins();
  const auto ends = observed.ends();
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].body.op_id, begins[0].body.op_id);
  EXPECT_EQ(ends[1].body.op_id, second);
}

TEST_P(EachCopy, SaysWhatEndsOnAnotherThread) {
  copy.torch().begin(object[0], {"async", -1, nullptr, 0, 7});
  std::thread([this] { copy.torch().end(object[0]); }).join();
  const auto ends = observed.ends();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].body.op_id, 0u);
  EXPECT_EQ(ends[0].body.object, reinterpret_cast<std::uint64_t>(object[0]));
  EXPECT_NE(ends[0].tid, observed.begins()[0].tid);
  // Its memory serves again: what was left open is not.
  copy.torch().begin(object[0], {"again"});
  copy.torch().end(object[0]);
  EXPECT_EQ(open_op(), 0u);
}

// Nothing was learnt from others: libtorch's own tensor has told where things are.
TEST_P(EachCopy, ReadsTheInputsOfTheFirstOperator) {
  copy.run("aten::cat", {copy.list({copy.tensor({2, 3}), copy.tensor({4, 3})}, true),
                         copy.tensor({1, 2, 3, 4, 5, 6, 7}, 15), copy.tensor({}), copy.tensor({0}),
                         copy.list({Copy::integer(8)}, false), copy.list({}, false)});
  const auto begins = observed.begins();
  ASSERT_EQ(begins.size(), 1u);
  EXPECT_EQ(observed.inputs(begins[0].body.inputs_id),
            (std::vector<std::uint64_t>{head(InputForm::kTensorList, 2, 2),
                                        head(InputForm::kTensor, 2, 0, 6),
                                        2,
                                        3,
                                        head(InputForm::kTensor, 2, 0, 6),
                                        4,
                                        3,
                                        head(InputForm::kTensor, 7, 0, 15),
                                        1,
                                        2,
                                        3,
                                        4,
                                        5,
                                        6,
                                        7,
                                        head(InputForm::kTensor, 0, 0, 6),
                                        head(InputForm::kTensor, 1, 0, 6),
                                        0,
                                        head(InputForm::kIntList, 1, 1),
                                        8,
                                        head(InputForm::kIntList)}));
}

TEST_P(EachCopy, WritesEveryFormOfInput) {
  copy.learn();
  std::vector<FakeValue> many(wire::kMaxListTensors + 4, copy.tensor({2}));
  many[1] = copy.undefined();
  const std::vector<FakeValue> inputs = {copy.tensor({2, 3}),
                                         copy.tensor({1, 2, 3, 4, 5, 6, 7}, 15),
                                         copy.undefined(),
                                         Copy::none(),
                                         Copy::integer(-5),
                                         Copy::real(0.5),
                                         copy.boolean(true),
                                         copy.list(many, true),
                                         copy.list({Copy::integer(8), Copy::integer(9)}, false),
                                         copy.list({}, false),
                                         copy.list({copy.tensor({3})}, false),
                                         copy.list({}, true),
                                         FakeValue{1, 2}};
  observed.segment.discard_records();
  copy.run("aten::all", inputs);
  const auto begins = observed.begins();
  ASSERT_EQ(begins.size(), 1u);
  std::vector<std::uint64_t> expected = {
      head(InputForm::kTensor, 2, 0, 6),
      2,
      3,
      head(InputForm::kTensor, 7, 0, 15),
      1,
      2,
      3,
      4,
      5,
      6,
      7,
      head(InputForm::kOther),
      head(InputForm::kNothing),
      head(InputForm::kInt),
      static_cast<std::uint64_t>(-5),
      head(InputForm::kDouble),
      Copy::real(0.5).payload,
      head(InputForm::kBool),
      1,
      head(InputForm::kTensorList, wire::kMaxListTensors, wire::kMaxListTensors + 4)};
  for (std::uint32_t i = 0; i < wire::kMaxListTensors; ++i) {
    if (i == 1) {
      expected.push_back(head(InputForm::kOther));
      continue;
    }
    expected.push_back(head(InputForm::kTensor, 1, 0, 6));
    expected.push_back(2);
  }
  expected.insert(expected.end(),
                  {head(InputForm::kIntList, 2, 2), 8, 9, head(InputForm::kIntList),
                   head(InputForm::kOther), head(InputForm::kTensorList), head(InputForm::kOther)});
  EXPECT_EQ(observed.inputs(begins[0].body.inputs_id), expected);
}

TEST_P(EachCopy, WritesNumbersOfAllKinds) {
  const FakeValue symbol = copy.symbol();
  copy.run("aten::add",
           {copy.complex(1.5, -2), symbol,
            copy.list({Copy::integer(3), Copy::real(0.5), copy.boolean(true)}, false),
            copy.list({copy.complex(0, 1)}, false), copy.list({symbol, Copy::integer(4)}, false)});
  const auto begins = observed.begins();
  ASSERT_EQ(begins.size(), 1u);
  const auto bits = [](double value) { return Copy::real(value).payload; };
  EXPECT_EQ(
      observed.inputs(begins[0].body.inputs_id),
      (std::vector<std::uint64_t>{
          head(InputForm::kComplex), bits(1.5), bits(-2), head(InputForm::kSymbol),
          head(InputForm::kNumberList, 3, 3), head(InputForm::kInt), 3, head(InputForm::kDouble),
          bits(0.5), head(InputForm::kBool), 1, head(InputForm::kNumberList, 1, 1),
          head(InputForm::kComplex), bits(0), bits(1), head(InputForm::kNumberList, 2, 2),
          head(InputForm::kSymbol), head(InputForm::kInt), 4}));
}

std::uint64_t word(const char* text) {
  std::uint64_t made = 0;
  std::memcpy(&made, text, std::strlen(text));
  return made;
}

TEST_P(EachCopy, WritesTextsOfCollectivesAlone) {
  const std::string long_text(wire::kMaxInputText + 1, 'x');
  const std::vector<FakeValue> inputs = {
      copy.tuple({Copy::integer(7), copy.boolean(false)}),
      copy.tuple({copy.text("0"), copy.text("twelve bytes", true)}),
      copy.text(""),
      copy.text(long_text),
      copy.tuple({copy.text("a"), copy.tuple({Copy::integer(1)}), Copy::none()}),
      copy.tuple(std::vector<FakeValue>(4, Copy::integer(1)))};
  copy.run("record_param_comms", inputs);
  copy.run("record_param", inputs);
  const auto begins = observed.begins();
  ASSERT_EQ(begins.size(), 2u);
  const std::uint64_t other = head(InputForm::kOther);
  std::vector<std::uint64_t> expected = {head(InputForm::kTuple, 2, 2),
                                         head(InputForm::kInt),
                                         7,
                                         head(InputForm::kBool),
                                         0,
                                         head(InputForm::kTuple, 2, 2),
                                         head(InputForm::kText, 1, 1),
                                         word("0"),
                                         head(InputForm::kText, 2, 12),
                                         word("twelve b"),
                                         word("ytes"),
                                         head(InputForm::kText),
                                         head(InputForm::kText, 8, wire::kMaxInputText + 1)};
  expected.insert(expected.end(), wire::kMaxInputText / 8, word("xxxxxxxx"));
  expected.insert(expected.end(), {head(InputForm::kTuple, 3, 3), head(InputForm::kText, 1, 1),
                                   word("a"), other, other, other});
  EXPECT_EQ(observed.inputs(begins[0].body.inputs_id), expected);
  EXPECT_EQ(observed.inputs(begins[1].body.inputs_id), std::vector<std::uint64_t>(6, other));
}

TEST_P(EachCopy, CutsWhatIsTooMuch) {
  copy.learn();
  observed.segment.discard_records();
  copy.run("many", std::vector<FakeValue>(100, copy.tensor({2, 2})));
  const auto defs = observed.segment.all<wire::InputsDef>();
  ASSERT_EQ(defs.size(), 1u);
  EXPECT_EQ(defs[0].body.flags, wire::kInputsCut);
  EXPECT_EQ(defs[0].body.words, wire::kMaxInputs * 3);
  observed.segment.discard_records();
  copy.run("long", std::vector<FakeValue>(
                       60, copy.list(std::vector<FakeValue>(16, copy.tensor({2, 2})), true)));
  const auto cut = observed.segment.all<wire::InputsDef>();
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut[0].body.flags, wire::kInputsCut);
  EXPECT_LE(cut[0].body.words, wire::kMaxInputWords);
}

TEST_P(EachCopy, SendsInputsOnceAndWhatFoundNoRoomAtItsNextUse) {
  copy.learn();
  observed.segment.discard_records();
  const std::vector<FakeValue> inputs = {copy.tensor({2, 3})};
  for (int i = 0; i < 3; ++i) copy.run("aten::relu", inputs);
  EXPECT_EQ(observed.segment.all<wire::InputsDef>().size(), 1u);
  while (observed.segment.counter(wire::Counter::kDroppedRingFull) == 0)
    copy.run("aten::relu", inputs);
  const std::vector<FakeValue> others = {copy.tensor({4, 5})};
  copy.run("aten::tanh", others);
  observed.segment.discard_records();
  copy.run("aten::relu", inputs);
  EXPECT_EQ(observed.segment.all<wire::InputsDef>().size(), 0u);
  observed.segment.discard_records();
  copy.run("aten::tanh", others);
  const auto begins = observed.begins();
  ASSERT_EQ(begins.size(), 1u);
  EXPECT_EQ(observed.inputs(begins[0].body.inputs_id).size(), 3u);
  EXPECT_EQ(observed.segment.text(begins[0].body.name_id), "aten::tanh");
}

TEST_P(EachCopy, BoxesInputsOnlyWhereTheyAreWanted) {
  copy.learn();
  const std::uint64_t before = copy.torch().boxed();
  observed.record(wire::kTorchStack);
  copy.run("aten::relu", {copy.tensor({2, 3})});
  EXPECT_EQ(copy.torch().boxed(), before);
  observed.record(wire::kTorchShapes);
  copy.run("aten::relu", {copy.tensor({2, 3})});
  EXPECT_EQ(copy.torch().boxed(), before + 1);
  EXPECT_EQ(copy.torch().callbacks(), 1u);
}

TEST_P(EachCopy, KeepsCountOnlyWhileCounting) {
  observed.on(ObserveMode::kSteps, hot::kOnOpSteps, wire::kTorchAll);
  observed.segment.discard_records();
  const std::uint64_t before = copy.torch().boxed();
  copy.torch().begin(object[0], {"aten::linear"});
  copy.run("aten::t", {copy.tensor({2, 3})});
  copy.torch().end(object[0]);
  EXPECT_TRUE(observed.begins().empty());
  EXPECT_TRUE(observed.ends().empty());
  EXPECT_EQ(copy.torch().boxed(), before);
  EXPECT_EQ(open_op(), 0u);
}

TEST_P(EachCopy, IsLeftAloneWhenNothingIsWanted) {
  copy.torch().begin(object[0], {"open"});
  hot::g_state.on.store(0);
  torch::set_mode(ObserveMode::kOff, 0);
  EXPECT_EQ(copy.torch().callbacks(), 0u);
  observed.record();
  EXPECT_EQ(copy.torch().callbacks(), 1u);
  copy.torch().end(object[0]);
  EXPECT_EQ(open_op(), 0u);
}

TEST(Copies, AreToldApartAndSaidToBeKnown) {
  Copy one("torch-2.1"), two("torch-2.15");
  Observed observed;
  EXPECT_EQ(fakes::g_notices.size(), 0u);
  one.learn();
  two.learn();
  observed.segment.discard_records();
  one.run("aten::relu", {one.tensor({2, 3})});
  two.run("aten::relu", {two.tensor({2, 3})});
  const auto begins = observed.begins();
  ASSERT_EQ(begins.size(), 2u);
  EXPECT_NE(begins[0].body.inputs_id, 0u);
  EXPECT_EQ(begins[0].body.inputs_id, begins[1].body.inputs_id);
}

}  // namespace
}  // namespace gpuprof::torch
