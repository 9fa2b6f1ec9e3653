// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's operators and memory in the file.
#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <random>
#include <set>

#include "analysis/export/labels/inputs_formatter.hpp"
#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using Value = rapidjson::Value;

/// A head word of wire/operator_inputs.hpp.
constexpr std::uint64_t head(std::uint64_t form, std::uint64_t dtype = 0, std::uint64_t count = 0,
                             std::uint64_t total = 0) {
  return form | dtype << 8 | count << 16 | total << 32;
}

class Operators : public test::ExportTest {
 protected:
  const Value& args_of(std::uint64_t id) {
    static const Value kNone(rapidjson::kObjectType);
    for (const auto& event : document_["traceEvents"].GetArray())
      if (event.HasMember("args") && event["args"].HasMember("External id") &&
          event["args"]["External id"].GetUint64() == id)
        return event["args"];
    ADD_FAILURE() << "no event with the id " << id;
    return kNone;
  }
  bool missing(const std::string& message) const {
    for (const std::string& output : written_.missing)
      if (output == message) return true;
    return false;
  }
};

std::string text(const Value& list) {
  std::string out;
  for (const auto& one : list.GetArray()) {
    if (&one != list.Begin()) out += '|';
    if (one.IsString()) {
      out += one.GetString();
    } else if (one.IsArray()) {
      out += "[" + text(one) + "]";
    } else {
      out += std::to_string(one.GetInt64());
    }
  }
  return out;
}

TEST_F(Operators, AreWrittenWithTheirInputsSequenceAndStack) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "aten::cat"});
    sink.on(model::StringDef{2, "train.py"});
    sink.on(model::StringDef{3, "forward"});
    sink.on(model::PythonCode{1, 2, 3, 10, 11, 1, ""});
    const std::array<model::PythonFrame, 2> frames = {{{1, -1, 0}, {9, -1, model::kPyModule}}};
    sink.on(model::StackDef{1, 0, {}, frames});
    const std::array<std::uint64_t, 21> words = {head(1, 6, 2),
                                                 64,
                                                 256,
                                                 head(2, 0, 2, 2),
                                                 head(1, 5, 1),
                                                 8,
                                                 head(1, 5, 0),
                                                 head(3),
                                                 static_cast<std::uint64_t>(-3),
                                                 head(4),
                                                 std::bit_cast<std::uint64_t>(1.0),
                                                 head(5),
                                                 1,
                                                 head(6, 0, 2, 2),
                                                 1,
                                                 2,
                                                 head(0),
                                                 head(9),
                                                 head(4),
                                                 std::bit_cast<std::uint64_t>(0.5),
                                                 head(0)};
    sink.on(model::Inputs{7, 0, words});
    auto cat = op(5, 1, 10, 40);
    cat.inputs = 7;
    cat.stack = 1;
    cat.sequence = 12;
    cat.forward_tid = 77;
    sink.on(cat);
  });
  trace();
  const Value& args = args_of(5);
  EXPECT_EQ(text(args["Input Dims"]), "[64|256]|[[8]|[]]|[]|[]|[]|[]|[]|[]|[]|[]");
  EXPECT_EQ(text(args["Input type"]), "float|TensorList|Scalar|Scalar|Scalar|ScalarList|||Scalar|");
  EXPECT_EQ(text(args["Concrete Inputs"]), "||-3|1.|True|[1, 2]|||0.5|");
  EXPECT_EQ(args["Sequence number"].GetInt(), 12);
  EXPECT_EQ(args["Fwd thread id"].GetInt(), 77);
  EXPECT_STREQ(args["Call stack"].GetString(), "train.py(10): forward") << "a module is no frame";
  EXPECT_EQ(events("cpu_op").size(), 1u);
  EXPECT_EQ(document_["gpuprof"]["events"]["operators"].GetInt(), 1);
}

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

/// Of one input: its type and its value as text.
std::string shown(std::vector<std::uint64_t> words) {
  InputsFormatter inputs;
  inputs.define({1, 0, words});
  rapidjson::Document parsed;
  parsed.Parse(("{\"x\":0" + std::string(inputs.json_members(1)) + "}").c_str());
  if (parsed.HasParseError() || !parsed.HasMember("Input type")) return "?";
  return text(parsed["Input type"]) + " " + text(parsed["Concrete Inputs"]);
}

TEST_F(Operators, NumbersAreSpelledAsPyTorchSpellsThem) {
  EXPECT_EQ(shown({head(4), bits(0.1)}), "Scalar 0.10000000000000001");
  EXPECT_EQ(shown({head(4), bits(-0.0)}), "Scalar 0.");
  EXPECT_EQ(shown({head(4), bits(1e18)}), "Scalar 1000000000000000000.");
  EXPECT_EQ(shown({head(4), bits(-0x1p63)}), "Scalar -9223372036854775808.");
  EXPECT_EQ(shown({head(4), bits(9.3e18)}), "Scalar 9.3e+18");
  EXPECT_EQ(shown({head(4), bits(1e19)}), "Scalar 1e+19");
  EXPECT_EQ(shown({head(4), bits(-1e-12)}), "Scalar -9.9999999999999998e-13");
  EXPECT_EQ(shown({head(4), bits(std::numeric_limits<double>::infinity())}), "Scalar inf");
  EXPECT_EQ(shown({head(10), bits(1), bits(-2.5)}), "Scalar 1.-2.5j");
  EXPECT_EQ(shown({head(10), bits(-0.5), bits(3)}), "Scalar -0.5+3.j");
  EXPECT_EQ(shown({head(11)}), "Scalar ");
  EXPECT_EQ(shown({head(12, 0, 4, 4), head(3), 7, head(4), bits(2.5), head(10), bits(1), bits(2),
                   head(11)}),
            "ScalarList [7, 2.5, 1.+2.j, ?]");
  EXPECT_EQ(shown({head(12, 0, 0, 0)}), "ScalarList []");
  // torch.profiler says nothing of what is longer than 30.
  std::vector<std::uint64_t> many(31, 1);
  many[0] = head(6, 0, 30, 30);
  EXPECT_EQ(shown(many).substr(0, 17), "ScalarList [1, 1,");
  many[0] = head(6, 0, 30, 31);
  EXPECT_EQ(shown(many), " ");
}

// Words come from a process nobody trusts.
TEST_F(Operators, InputsOfAnyBitsKeepTheirLengthsEqual) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::uint64_t> words(random() % 24);
    for (std::uint64_t& word : words)
      word = random() % 4 == 0 ? random() : head(random() % 16, random() % 40, random() % 5);
    InputsFormatter inputs;
    inputs.define({1, 0, words});
    const std::string json = "{\"x\":0" + std::string(inputs.json_members(1)) + "}";
    rapidjson::Document parsed;
    parsed.Parse(json.c_str());
    ASSERT_FALSE(parsed.HasParseError()) << json;
    if (!parsed.HasMember("Input Dims")) continue;
    ASSERT_EQ(parsed["Input Dims"].Size(), parsed["Input type"].Size()) << json;
    ASSERT_EQ(parsed["Input Dims"].Size(), parsed["Concrete Inputs"].Size()) << json;
  }
}

TEST_F(Operators, OwnTheKernelsLaunchedInThem) {
  record([](model::EventSink& sink) {
    sink.on(call(7, 20, 30, 5));
    sink.on(kernel(7, 40, 90, 5));
    sink.on(op(5, 0, 10, 40));
    sink.on(call(8, 60, 70, 6));
    sink.on(kernel(8, 95, 99, 6));
    auto crossing = op(6, 0, 50, 80);
    crossing.flags = model::kRangeCrossing;
    sink.on(crossing);
  });
  trace();
  ASSERT_EQ(events("runtime").size(), 2u);
  EXPECT_EQ((*events("runtime")[0])["args"]["External id"].GetInt(), 5);
  EXPECT_EQ((*events("kernel")[0])["args"]["External id"].GetInt(), 5);
  EXPECT_EQ((*events("runtime")[1])["args"]["External id"].GetInt(), 0) << "no operator has it";
  EXPECT_EQ(events("cpu_op").size(), 1u);
  EXPECT_EQ(events("torch_crossing", "b").size(), 1u);
  EXPECT_TRUE(
      missing("1 range does not nest; it is drawn as a separate span and does not count as an "
              "operator"));
}

TEST_F(Operators, BelowVeryManyOthersAreSpansOfTheirOwn) {
  record([](model::EventSink& sink) {
    auto deep = op(6, 0, 50, 80);
    deep.flags = model::kRangeDeep;
    sink.on(deep);
    auto range = ExportTest::range(7, 55, 60);
    range.flags = model::kRangeDeep;
    sink.on(range);
    sink.on(op(5, 0, 10, 90));
  });
  trace();
  EXPECT_EQ(events("cpu_op").size(), 1u);
  EXPECT_EQ(events("torch_deep", "b").size(), 1u);
  EXPECT_EQ(events("torch_deep", "e").size(), 1u);
  EXPECT_EQ(events("nvtx_deep", "b").size(), 1u);
  EXPECT_TRUE(
      missing("2 ranges and operators are nested deeper than 100, TensorBoard's limit; they are "
              "drawn as separate spans"));
}

TEST_F(Operators, OtherRangesWithTheNameOfAStepAreNone) {
  const char* const names[] = {"ProfilerStep#", "ProfilerStep#abc", "ProfilerStep#-1",
                               "ProfilerStep#1234567890123456789"};
  record([&](model::EventSink& sink) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      sink.on(model::StringDef{i + 1, names[i]});
      const std::int64_t start = i * 100;
      sink.on(op(5 + i, i + 1, start, start + 90));
      model::Range pushed = range(15 + i, start + 10, start + 80);  // by NVTX
      pushed.name = i + 1;
      sink.on(pushed);
    }
  });
  trace();
  std::vector<std::string> drawn, wanted;
  for (const auto* event : events("cpu_op")) drawn.emplace_back((*event)["name"].GetString());
  for (const char* name : names) wanted.insert(wanted.end(), 2, std::string("range ") + name);
  EXPECT_THAT(drawn, testing::UnorderedElementsAreArray(wanted));
  EXPECT_FALSE(
      missing("4 ProfilerStep# ranges of the program are not drawn: this file has other steps"));
}

// Steps that end with the optimizer's.
TEST_F(Operators, WhatEndsWithItsStepIsNoLongerThanIt) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "Optimizer.step#SGD.step"});
    sink.on(op(5, 1, 80, 100));
    sink.on(step(0, 0, 100));
    sink.on(op(6, 1, 100, 200));
    sink.on(step(1, 100, 200));
  });
  trace();
  std::map<std::string, double> ends;
  for (const auto& event : document_["traceEvents"].GetArray())
    if (event["ph"].GetString() == std::string("X"))
      ends[event["name"].GetString() + std::to_string(event["ts"].GetDouble())] =
          event["ts"].GetDouble() + event["dur"].GetDouble();
  EXPECT_LE(ends.at("Optimizer.step#SGD.step1080.000000"), ends.at("ProfilerStep#01000.000000"));
}

TEST_F(Operators, StepsOfTheProgramsProfilerAreWrittenOnce) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "ProfilerStep#7"});
    sink.on(model::StringDef{2, "train.py:3"});
    for (std::int64_t i = 0; i < 3; ++i)
      sink.on(op(5 + static_cast<std::uint64_t>(i), 1, i * 100, i * 100 + 90));
    auto own = step(6, 0, 90);
    own.label = 7;
    own.source = 2;
    own.confidence = 100;
    own.where = 2;
    sink.on(own);
  });
  trace();
  const auto steps = events("user_annotation");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_STREQ((*steps[0])["name"].GetString(), "ProfilerStep#7");
  EXPECT_STREQ((*steps[0])["args"]["source"].GetString(), "user");
  EXPECT_EQ((*steps[0])["args"]["confidence"].GetDouble(), 1.0);
  EXPECT_STREQ((*steps[0])["args"]["where"].GetString(), "train.py:3");
  EXPECT_TRUE(events("cpu_op").empty()) << "the plugin takes any such name for a step";
  EXPECT_TRUE(
      missing("2 ProfilerStep# ranges of the program are not drawn: this file has other steps"));
}

// when an operator lies over a step's border, and one reaches out of the window
TEST_F(Operators, LieAmongStepsAsRangesDo) {
  record([](model::EventSink& sink) {
    sink.on(op(5, 0, 350, 450));  // crosses
    sink.on(op(6, 0, 100, 200));  // inside
    sink.on(op(7, 0, 50, 1200));  // around, and out of the window
    sink.on(step(1, 100, 400));
    sink.on(step(2, 400, 700));
  });
  trace();
  EXPECT_EQ(events("cpu_op").size(), 1u);
  EXPECT_EQ(events("torch_crossing", "b").size(), 1u);
  ASSERT_EQ(events("torch_enclosing").size(), 1u);
  EXPECT_TRUE((*events("torch_enclosing")[0])["args"]["cut at window"].GetBool());
}

TEST_F(Operators, MemoryIsWrittenForHostAndCudaWithoutCommonAddresses) {
  record([](model::EventSink& sink) {
    const auto memory = [&](std::int32_t type, std::int32_t device, std::int64_t bytes) {
      sink.on(model::Allocation{kStart + 100, kStart + 100, 0x7f0000001000, bytes, 300, 400, kPid,
                                type, device});
    };
    memory(0, -1, 64);
    memory(0, 0, 64);
    memory(1, 0, 64);
    memory(1, 1, -64);
    memory(13, 0, 64);
  });
  trace();
  const auto records = events("cpu_instant_event", "i");
  ASSERT_EQ(records.size(), 4u);
  std::set<std::uint64_t> addresses;
  for (const Value* one : records) {
    EXPECT_STREQ((*one)["name"].GetString(), "[memory]");
    addresses.insert((*one)["args"]["Addr"].GetUint64());
    EXPECT_LT((*one)["args"]["Addr"].GetUint64(), 1ULL << 53) << "exact in a browser";
  }
  EXPECT_EQ(addresses.size(), 3u) << "the host, and each device";
  EXPECT_EQ((*records[1])["args"]["Device Id"].GetInt(), -1) << "the host is no device 0";
  EXPECT_EQ((*records[3])["args"]["Bytes"].GetInt(), -64);
  EXPECT_EQ((*records[3])["args"]["Total Allocated"].GetInt(), 300);
  EXPECT_EQ((*records[3])["args"]["Total Reserved"].GetInt(), 400);
  EXPECT_TRUE(
      missing("1 memory record of a device that is neither the host nor CUDA is not in the file"));
}

}  // namespace
}  // namespace gpuprof::exporter
