// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/unit/import/import_fixture.hpp"

namespace gpuprof::test {
namespace {

using HostEvents = ImportTest;

TEST_F(HostEvents, OperatorsNestByTimeWhateverTheirOrder) {
  const auto told = import_events(
      complete("cpu_op", "inner", 12, 3) + "," + complete("cpu_op", "next", 20, 5) + "," +
      complete("cpu_op", "outer", 10, 8) + "," + complete("cpu_op", "elsewhere", 11, 2, "", 101));
  ASSERT_EQ(told->operators.size(), 4u);
  EXPECT_EQ(told->op("inner").parent, told->op("outer").id);
  EXPECT_EQ(told->op("outer").parent, 0u);
  EXPECT_EQ(told->op("next").parent, 0u);
  EXPECT_EQ(told->op("elsewhere").parent, 0u);
  EXPECT_TRUE(std::is_sorted(told->order.begin(), told->order.end()));
}

TEST_F(HostEvents, OfTwoWithOneTimeTheLowerIdIsOutside) {
  const auto told = import_events(complete("cpu_op", "inner", 10, 5, "\"External id\":8") + "," +
                                  complete("cpu_op", "outer", 10, 5, "\"External id\":7"));
  EXPECT_EQ(told->op("inner").parent, told->op("outer").id);
  EXPECT_EQ(told->names[told->operators[0].name], "inner");
}

TEST_F(HostEvents, WhatCrossesIsMarkedAndHoldsNothing) {
  const auto told =
      import_events(complete("cpu_op", "a", 10, 10.001) + "," +
                    complete("cpu_op", "crossing", 15, 10) + "," + complete("cpu_op", "b", 21, 2));
  EXPECT_TRUE((told->op("crossing").flags & model::kRangeCrossing) != 0);
  EXPECT_EQ(told->op("b").parent, 0u);
  EXPECT_EQ(told->op("a").flags & model::kRangeCrossing, 0u);
}

TEST_F(HostEvents, RoundedMicrosecondsStillNest) {
  const auto told =
      import_events(complete("cpu_op", "outer", 10, 5) + "," + complete("cpu_op", "inner", 12, 4));
  EXPECT_EQ(told->op("inner").parent, told->op("outer").id);
  EXPECT_EQ(told->op("inner").flags & model::kRangeCrossing, 0u);
}

TEST_F(HostEvents, ManyEventsInAnyOrderAreSorted) {
  // More than are sorted at once: from the last one to the first, each pair an outer and an inner.
  std::string text = "{\"traceEvents\":[";
  constexpr int kPairs = 100'000;
  for (int i = kPairs; i-- > 0;) {
    text +=
        complete("cpu_op", "inner", 10 * i + 2, 3) + "," + complete("cpu_op", "outer", 10 * i, 8);
    if (i != 0) text += ",";
  }
  const auto all = import_all({file("a.json", text + "]}")});
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0]->operators.size(), 2u * kPairs);
  EXPECT_TRUE(std::is_sorted(all[0]->order.begin(), all[0]->order.end()));
  for (std::size_t i = 0; i < all[0]->operators.size(); i += 2)
    ASSERT_EQ(all[0]->operators[i].parent, all[0]->operators[i + 1].id) << i;
}

TEST_F(HostEvents, InputsAreSpelledAsTheyWere) {
  const std::string members =
      R"("Input Dims":[[4,3,16,16],[[2,3],[4]],[],[],[],[],[],[]],)"
      R"("Input type":["float","TensorList","Scalar","ScalarList","Scalar","Scalar","","ScalarList"],)"
      R"("Concrete Inputs":["","","1","[1, 2]","0.5","True","","[1., ?]"])";
  const auto told = import_events(complete("cpu_op", "op", 1, 2, "\"External id\":1," + members));
  EXPECT_EQ(told->inputs.json_members(told->op("op").inputs), "," + members);
}

TEST_F(HostEvents, EqualInputsAreOneSet) {
  const std::string members = R"("Input Dims":[[4]],"Input type":["float"])";
  const auto told = import_events(
      complete("cpu_op", "a", 1, 2, members) + "," + complete("cpu_op", "b", 5, 2, members) + "," +
      complete("cpu_op", "c", 9, 2, R"("Input Dims":[[5]],"Input type":["float"])"));
  EXPECT_EQ(told->op("a").inputs, told->op("b").inputs);
  EXPECT_NE(told->op("a").inputs, told->op("c").inputs);
}

TEST_F(HostEvents, CallStacksOfTextsAndOfFramesAreStacks) {
  const auto told = import_events(
      complete("cpu_op", "listed", 1, 1,
               R"("Call stack":"a.py(3): f;b.py(70): main;libc.so!start")") +
      "," + complete("python_function", "b.py(1): main", 10, 20) + "," +
      complete("python_function", "a.py(2): f", 12, 10, R"("CallFrom":"b.py:7")") + "," +
      complete("python_function", "<built-in method mm>", 13, 5, R"("CallFrom":"a.py:5")") + "," +
      complete("cpu_op", "framed", 14, 2) + "," + complete("cpu_op", "outside", 40, 2));
  EXPECT_EQ(told->stack(told->op("listed").stack), "a.py(3): f;b.py(70): main;libc.so!start");
  // Each caller stands at the line that the call names.
  EXPECT_EQ(told->stack(told->op("framed").stack), "<built-in method mm>;a.py(5): f;b.py(7): main");
  EXPECT_EQ(told->op("outside").stack, 0u);
}

TEST_F(HostEvents, ARangeMayOutliveTheFrameItBeganIn) {
  const auto told = import_events(complete("python_function", "p.py(1): __enter__", 1, 2) + "," +
                                  complete("user_annotation", "mine", 2, 20) + "," +
                                  complete("cpu_op", "in", 5, 2));
  EXPECT_EQ(told->op("in").parent, told->op("mine").id);
  EXPECT_EQ(told->op("in").stack, 0u);
  EXPECT_EQ(told->op("mine").scope, model::kScopeUser);
  EXPECT_NE(told->op("in").flags & model::kOpTopLevel, 0u);
}

TEST_F(HostEvents, AFrameThatLeavesARangeIsAsLongAsItWas) {
  import_events(complete("python_function", "a.py(1): main", 0, 100,
                         R"("Python id":1,"Python parent id":null)") +
                "," + complete("user_annotation", "mine", 2, 18) + "," +
                complete("python_function", "p.py(9): __exit__", 18, 5,
                         R"("Python id":2,"Python parent id":1)"));
  const auto& calls = imported_->python_calls;
  ASSERT_EQ(2u, calls.size());
  EXPECT_EQ(100'000u, calls[0].end_ns - calls[0].start_ns);
  EXPECT_EQ(5'000u, calls[1].end_ns - calls[1].start_ns) << "it ends after the range";
}

TEST_F(HostEvents, ModulesThatWereInferredAreNoCallsOfPython) {
  const auto module = [](const char* more) {
    return complete("python_function", "nn.Module: Net_0", 1, 50, more) + "," +
           complete("cpu_op", "op", 3, 2);
  };
  import_events(module(R"("Python module id":0,"approx":1)"));
  EXPECT_TRUE(imported_->python_calls.empty()) << "its time is that of the operators in it";
  import_events(module(R"("Python module id":0)"));
  EXPECT_EQ(1u, imported_->python_calls.size());
}

TEST_F(HostEvents, ModulesKeepTheirNumbers) {
  const auto told = import_events(complete("python_function", "nn.Module: Net_0", 1, 50,
                                           R"("Python id":1,"Python module id":0)") +
                                  "," +
                                  complete("python_function", "nn.Module: Linear_2", 2, 9,
                                           R"("Python id":2,"Python module id":5)") +
                                  "," + complete("cpu_op", "op", 3, 2) + "," +
                                  complete("python_function", "nn.Module: Linear_2", 12, 9,
                                           R"("Python id":3,"Python module id":9)") +
                                  "," + complete("cpu_op", "other", 13, 2));
  // Linear_0 and Linear_1 are reported so that readers count to 2; another class of the name counts
  // anew.
  ASSERT_EQ(told->modules.size(), 7u);
  EXPECT_NE(told->op("op").stack, told->op("other").stack);
  EXPECT_NE(told->op("op").stack, 0u);
}

TEST_F(HostEvents, StepsAreStepsAndTheProgramsOwnRanges) {
  const auto told = import_events(complete("user_annotation", "ProfilerStep#7", 0, 10) + "," +
                                  complete("user_annotation", "ProfilerStep#8", 10, 10) + "," +
                                  complete("cpu_op", "in", 12, 2));
  ASSERT_EQ(told->steps.size(), 2u);
  EXPECT_EQ(told->steps[0].label, 7u);
  EXPECT_EQ(told->steps[1].number, 1u);
  EXPECT_EQ(told->op("in").parent, told->op("ProfilerStep#8").id);
}

TEST_F(HostEvents, ArrowsTellBackwardNodesWhereNumbersDoNot) {
  const auto arrow = [](const char* phase, double ts, int tid) {
    char text[160];
    std::snprintf(text, sizeof text,
                  ",{\"ph\":\"%s\",\"id\":5,\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"pid\":4000,"
                  "\"tid\":%d,\"ts\":%.3f}",
                  phase, tid, ts);
    return std::string(text);
  };
  const auto told = import_events(complete("cpu_op", "aten::mul", 10, 5) + "," +
                                  complete("cpu_op", "MulBackward0", 30, 5, "", 101) +
                                  arrow("s", 10, 100) + arrow("f", 30, 101));
  EXPECT_EQ(told->op("MulBackward0").sequence, told->op("aten::mul").sequence);
  EXPECT_GE(told->op("aten::mul").sequence, 0);
  EXPECT_EQ(told->op("MulBackward0").forward_tid, 100u);
  EXPECT_EQ(told->op("MulBackward0").scope, model::kScopeBackward);
}

TEST_F(HostEvents, TheForwardThreadIsFoundByItsSequenceNumber) {
  const auto told = import_events(
      complete("cpu_op", "aten::mul", 10, 5, R"("Sequence number":3,"Fwd thread id":0)") + "," +
      complete("cpu_op", "MulBackward0", 30, 5, R"("Sequence number":3,"Fwd thread id":1)", 101));
  EXPECT_EQ(told->op("MulBackward0").forward_tid, 100u);
}

TEST_F(HostEvents, MemoryIsTakenAndMovedAddressesAreMovedBack) {
  const auto memory = [](const std::string& args) {
    return "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":4000,\"tid\":100,\"ts\":5,"
           "\"args\":{" +
           args + "}}";
  };
  const auto told = import_events(
      complete("cpu_op", "a", 1, 9) + "," +
      memory("\"Device Type\":0,\"Device Id\":-1,\"Addr\":4096,\"Bytes\":64,\"Total "
             "Allocated\":64,\"Total Reserved\":0") +
      "," + memory("\"Device Type\":1,\"Device Id\":2,\"Addr\":844424930136064,\"Bytes\":-512") +
      "," + memory("\"Device Type\":0,\"Device Id\":-1,\"Bytes\":4"));
  ASSERT_EQ(told->allocations.size(), 3u);
  EXPECT_EQ(told->allocations[0].address, 4096u);
  EXPECT_EQ(told->allocations[0].total_allocated_bytes, 64u);
  EXPECT_EQ(told->allocations[1].address, 4096u);
  EXPECT_EQ(told->allocations[1].bytes, -512);
  EXPECT_EQ(told->allocations[2].address, 0u);
}

TEST_F(HostEvents, SampleRowsBecomeSamples) {
  const auto slice = [](const char* phase, const char* name, double ts,
                        const char* cat = "cpu_sample") {
    char text[200];
    std::snprintf(text, sizeof text,
                  ",{\"ph\":\"%s\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":4000,\"tid\":100000100,"
                  "\"ts\":%.3f}",
                  phase, cat, name, ts);
    return std::string(text);
  };
  const auto told = import_events(complete("cpu_op", "a", 1, 9) + slice("B", "a.py(1): main", 10) +
                                  slice("B", "b.py(2): f", 10) + slice("E", "b.py(2): f", 20) +
                                  slice("B", "(blocked)", 20, "cpu_sample_blocked") +
                                  slice("E", "(blocked)", 50, "cpu_sample_blocked") +
                                  slice("E", "a.py(1): main", 50));
  ASSERT_EQ(told->samples.size(), 2u);
  EXPECT_EQ(told->samples[0].weight_ns, 10'000u);
  EXPECT_EQ(told->samples[0].tid, 100u);
  EXPECT_EQ(told->stack(told->samples[0].stack), "b.py(2): f;a.py(1): main");
  EXPECT_EQ(told->samples[1].weight_ns, 30'000u);
  EXPECT_EQ(told->samples[1].state, 1u);
  EXPECT_EQ(told->stack(told->samples[1].stack), "a.py(1): main");
}

TEST_F(HostEvents, AStepThatIsMarkedTwiceIsOne) {
  const auto step = [](const char* category, int number, double at, double length, int tid) {
    return "," + complete(category, "ProfilerStep#" + std::to_string(number), at, length, "", tid);
  };
  const std::pair<const char*, int> seconds[] = {
      {"user_annotation", 100}, {"user_annotation", 101}, {"cpu_op", 100}};
  for (const auto& [category, tid] : seconds) {
    std::string events = complete("cpu_op", "aten::mm", 1010, 100);
    for (int n = 0; n < 3; ++n)
      events += step(category, n, 1010 + n * 1000, 850, tid) +
                step("user_annotation", n, 1000 + n * 1000, 900, 100);
    const auto told = import_events(events);
    ASSERT_EQ(told->steps.size(), 3u) << category << tid;
    for (const model::Step& one : told->steps) EXPECT_EQ(one.end_ns - one.start_ns, 900'000u);
    const importer::ImportStats& account = imported_->files.at(0).account;
    EXPECT_EQ(account.count_imported(), 4u);
    EXPECT_EQ(account.count_duplicates().at(category), 3u);
    EXPECT_EQ(told->operators.size(), 4u);
  }
}

TEST_F(HostEvents, StepsOfOneNumberThatDoNotOverlapAreSeveral) {
  std::string events = complete("cpu_op", "aten::mm", 1010, 100);
  for (int n = 0; n < 3; ++n)
    events += "," + complete("user_annotation", "ProfilerStep#5", 1000 + n * 900, 900);
  events += "," + complete("user_annotation", "ProfilerStep#6", 1100, 300);
  const auto told = import_events(events);
  EXPECT_EQ(told->steps.size(), 4u);
  EXPECT_TRUE(imported_->files.at(0).account.count_duplicates().empty());
}

}  // namespace
}  // namespace gpuprof::test
