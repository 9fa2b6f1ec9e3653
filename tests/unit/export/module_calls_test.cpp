// SPDX-License-Identifier: Apache-2.0
//
// Calls of modules, collectives; the file for HTA.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>

#include "analysis/export/labels/operator_names.hpp"
#include "analysis/export/prescan/collectives.hpp"
#include "tests/unit/export/modules_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using Value = rapidjson::Value;

using Names = std::vector<std::string>;

TEST_F(ModulesTest, AreLeftByAnOperatorWithoutAStackWhereNoneIsRecorded) {
  session_.options.with_stack = false;
  record([](model::EventSink& sink) {
    define(sink);
    sink.on(op(1, 10, 20, 3));
    sink.on(op(2, 30, 40, 0));
    sink.on(op(3, 50, 60, 3));
  });
  trace();
  EXPECT_EQ(modules(), (Names{"Net_0 10-20", "Linear_0 10-20", "Net_0 50-60", "Linear_0 50-60"}));
}

TEST_F(ModulesTest, LastFromTheFirstToTheLastOperatorThatRanInThem) {
  record([](model::EventSink& sink) {
    define(sink);
    sink.on(op(1, 10, 20, 1));
    sink.on(op(3, 32, 38, 3, 2, 3));  // inside the next, by the same line
    sink.on(op(2, 30, 40, 3));
    sink.on(op(4, 50, 60, 2));
    sink.on(op(5, 70, 80, 5));
    sink.on(op(6, 90, 99, 1));
  });
  trace();
  EXPECT_EQ(modules(), (Names{"Net_0 30-80", "Linear_0 30-40", "Linear_1 70-80"}));
  const auto all = events("python_function");
  std::map<std::string, const Value*> by_name;
  for (const Value* one : all) by_name[(*one)["name"].GetString()] = &(*one)["args"];
  EXPECT_TRUE((*by_name["nn.Module: Net_0"])["Python parent id"].IsNull());
  EXPECT_EQ((*by_name["nn.Module: Linear_1"])["Python parent id"].GetInt(),
            (*by_name["nn.Module: Net_0"])["Python id"].GetInt());
  EXPECT_EQ((*by_name["nn.Module: Linear_1"])["Python module id"].GetInt(), 3);
  EXPECT_EQ((*by_name["nn.Module: Linear_1"])["approx"].GetInt(), 1);
  paths();
}

TEST_F(ModulesTest, BelowVeryManyOthersAreNotDrawn) {
  record([](model::EventSink& sink) {
    define(sink);
    std::vector<model::PythonFrame> frames(60, {1, -1, model::kPyModule});
    sink.on(model::StackDef{9, 0, {}, frames});
    sink.on(op(1, 10, 20, 9));
  });
  trace();
  EXPECT_EQ(events("python_function").size(), 40u);
  const auto says = [](const std::string& message) {
    return message.rfind("1 stack has nn.Module calls nested deeper than 40", 0) == 0;
  };
  EXPECT_TRUE(std::any_of(written_.missing.begin(), written_.missing.end(), says));
}

TEST_F(ModulesTest, EndWithTheStepTheCallAndTheOperatorAround) {
  record([](model::EventSink& sink) {
    define(sink);
    sink.on(op(1, 10, 20, 2));  // step 1
    sink.on(op(2, 30, 40, 2));  // step 2, called from the same line
    sink.on(op(3, 50, 60, 4));  // called from another line
    // A range of the program's own with a call inside, from the first line again.
    sink.on(op(5, 72, 78, 2, 4));
    sink.on(op(4, 70, 80, 1));
    sink.on(op(6, 82, 88, 2));
    sink.on(step(1, 5, 25));
    sink.on(step(2, 25, 95));
  });
  trace();
  EXPECT_EQ(modules(),
            (Names{"Net_0 10-20", "Net_0 30-40", "Net_0 50-60", "Net_0 72-78", "Net_0 82-88"}));
  paths();
}

// Each graph that torch.compile makes is of a class of its own, and all have one name.
TEST_F(ModulesTest, AreCountedForEachClassOfTheirName) {
  record([](model::EventSink& sink) {
    define(sink);
    sink.on(model::TorchModule{4, 2, 0x4000, 0x40});
    sink.on(model::StackDef{6, 0, {}, std::vector<model::PythonFrame>{{4, -1, model::kPyModule}}});
    sink.on(op(1, 10, 20, 3));
    sink.on(op(2, 30, 40, 5));
    sink.on(op(3, 50, 60, 6));
  });
  trace();
  EXPECT_EQ(modules(),
            (Names{"Net_0 10-40", "Linear_0 10-20", "Linear_1 30-40", "Linear_0 50-60"}));
}

// A call that began before a range and went on in it would lose the whole file.
TEST_F(ModulesTest, NestWithRangesThatBeginInTheMiddleOfThem) {
  record([](model::EventSink& sink) {
    define(sink);
    sink.on(op(1, 10, 20, 2));
    sink.on(op(3, 32, 38, 2, 2));  // in the range that the next event is
    auto outer = range(2, 30, 60);
    sink.on(outer);
    sink.on(op(4, 70, 80, 2));
  });
  trace();
  paths();
  EXPECT_EQ(modules().size(), 1u) << "one call of Net around the range";
}

// when trees of operators, ranges and steps are random, and stacks come and go
TEST_F(ModulesTest, NeverCrossAnything) {
  std::mt19937 random(7);
  record([&](model::EventSink& sink) {
    define(sink);
    model::RangeId next = 1;
    std::uint64_t now = 20;
    const std::function<void(model::RangeId, int)> branch = [&](model::RangeId parent, int depth) {
      const model::RangeId id = next++;
      const std::uint64_t start = now++;
      const model::StackId stack = random() % 6;
      for (unsigned i = 0; depth < 5 && i < random() % 4; ++i) branch(id, depth + 1);
      auto made = op(id, start, now++, stack, parent);
      if (random() % 12 == 0) made.flags = model::kRangeCrossing;
      if (random() % 6 != 0) return sink.on(made);
      auto pushed = range(id, static_cast<std::int64_t>(start), static_cast<std::int64_t>(now - 1));
      pushed.parent = parent;
      sink.on(pushed);
    };
    std::uint64_t boundary = 10;
    for (std::uint64_t number = 1; number < 60; ++number) {
      for (unsigned i = 0; i < random() % 5; ++i) branch(0, 0);
      if (random() % 3 == 0) continue;
      sink.on(step(number, boundary, now));
      boundary = now++;
    }
    window_.end_ns = kStart + (now + 10) * 1000;
  });
  trace();
  EXPECT_GT(events("python_function").size(), 50u);
  paths();
}

TEST_F(ModulesTest, ACollectivesKernelsNameItsRange) {
  record([](model::EventSink& sink) {
    define(sink);
    const std::array<std::uint64_t, 17> words = {2 | 1 << 16 | 1ULL << 32,
                                                 1 | 6 << 8 | 2 << 16,
                                                 4,
                                                 8,
                                                 3,
                                                 11,
                                                 9,
                                                 3,
                                                 1,
                                                 9,
                                                 6,
                                                 6,
                                                 3,
                                                 0,
                                                 3,
                                                 1,
                                                 3};
    std::vector<std::uint64_t> all(words.begin(), words.end());
    all.push_back(2);
    sink.on(model::Inputs{1, 0, all});
    sink.on(call(7, 30, 35, 2));
    sink.on(kernel(7, 100, 150, 2));
    sink.on(call(8, 36, 38, 1));
    sink.on(kernel(8, 160, 170, 1));
    auto record = op(1, 10, 60, 1, 0, 6);
    record.inputs = 1;
    sink.on(record);
    // Its end came on another thread, long after the call returned.
    auto ranged = op(2, 20, 400, 1, 1, 7);
    ranged.flags = model::kRangeCrossing;
    ranged.end_tid = kPid + 1;
    ranged.inputs = 1;
    sink.on(ranged);
  });
  trace();
  const auto ranges = events("user_annotation");
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ((*ranges[0])["dur"].GetDouble(), 40) << "until its record ends";
  EXPECT_EQ((*ranges[0])["args"]["Input Dims"].Size(), 1u);
  EXPECT_EQ((*ranges[0])["args"]["Input Dims"][0][1].GetInt(), 8) << "flat";
  for (const Value* one : events("kernel")) EXPECT_EQ((*one)["args"]["External id"].GetInt(), 2);
  for (const Value* one : events("runtime")) EXPECT_EQ((*one)["args"]["External id"].GetInt(), 2);
  const Value& args = (*events("cpu_op")[0])["args"];
  EXPECT_STREQ(args["Collective name"].GetString(), "all_reduce");
  EXPECT_EQ(args["In msg nelems"].GetInt(), 32);
  EXPECT_EQ(args["Out msg nelems"].GetInt(), 32);
  EXPECT_STREQ(args["Process Group Ranks"].GetString(), "[0, 1]");
  EXPECT_STREQ(args["dtype"].GetString(), "Float");
  EXPECT_EQ(args["Seq"].GetInt(), 11);
  EXPECT_EQ(args["Rank"].GetInt(), 1);
  EXPECT_EQ(args["Group size"].GetInt(), 2);
  // and for HTA
  session_.options.formats = {"kineto"};
  trace();
  EXPECT_EQ((*events("kernel")[0])["args"]["External id"].GetInt(), 1) << "the record";
}

TEST_F(ModulesTest, TheFileForHtaHasWholeMicrosecondsAndOneFolderASpan) {
  session_.options.formats = {"kineto"};
  record([](model::EventSink& sink) {
    define(sink);
    auto odd = op(1, 10, 20, 2, 0, 3);
    odd.start_ns += 999;
    odd.end_ns += 1;
    sink.on(odd);
    auto own = op(2, 30, 40, 1, 0, 1);
    own.scope = model::kScopeUser;
    sink.on(own);
    sink.on(call(7, 12, 14, 1));
    auto driver = call(7, 12, 13, 1);
    driver.api = 1;
    sink.on(driver);
    sink.on(kernel(7, 15, 18, 1));
    sink.on(model::Sample{kStart + 1500, 1000, kPid, 1, 0});
  });
  trace();
  EXPECT_NE(written_.path.find("/kineto/span_0001/"), std::string::npos) << written_.path;
  EXPECT_EQ(written_.format, "kineto");
  for (const auto& event : document_["traceEvents"].GetArray())
    EXPECT_TRUE(event["ts"].IsUint64()) << "one fraction makes HTA round them all";
  EXPECT_NE(text_.find("\"rank\": 0"), std::string::npos);
  EXPECT_EQ(events("cuda_runtime").size(), 1u);
  EXPECT_TRUE(events("cuda_driver").empty()) << "one host call a correlation id";
  EXPECT_TRUE(events("inner_call").empty());
  ASSERT_EQ(events("user_annotation").size(), 1u);
  EXPECT_EQ(events("python_function").size(), 1u);
  EXPECT_EQ(tree().size(), 3u);
}

}  // namespace
}  // namespace gpuprof::exporter
