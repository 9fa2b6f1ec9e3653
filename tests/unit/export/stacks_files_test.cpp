// SPDX-License-Identifier: Apache-2.0
//
// pprof, speedscope and folded stacks, parsed back: the same times under the same stacks.
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <sstream>

#include "analysis/export/stack_profiles/pprof_profile.pb.h"
#include "tests/unit/export/written_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

class StackFiles : public test::WriterTest {};

/// A profile as its readers hold it: by stack, innermost first.
struct Sums {
  std::map<std::string, std::map<std::string, std::int64_t>> values;  // stack: column: sum
  std::map<std::string, std::set<std::string>> labels;                // stack: texts
};

Sums sums_of(const pprof::Profile& profile) {
  EXPECT_EQ("", profile.string_table(0));
  std::map<std::uint64_t, std::string> functions, locations;
  for (const pprof::Function& one : profile.function())
    functions[one.id()] = profile.string_table(static_cast<int>(one.name_text()));
  for (const pprof::Location& one : profile.location()) {
    locations[one.id()] = functions.at(one.line(0).function_id());
    if (one.line(0).line() != 0) locations[one.id()] += ":" + std::to_string(one.line(0).line());
  }
  Sums sums;
  for (const pprof::Sample& sample : profile.sample()) {
    std::string stack;
    for (const std::uint64_t id : sample.location_id())
      stack += (stack.empty() ? "" : " < ") + locations.at(id);
    EXPECT_EQ(profile.sample_type_size(), sample.value_size());
    for (int i = 0; i < sample.value_size(); ++i)
      if (sample.value(i) != 0)
        sums.values[stack]
                   [profile.string_table(static_cast<int>(profile.sample_type(i).type_text()))] +=
            sample.value(i);
    for (const pprof::Label& label : sample.label())
      sums.labels[stack].insert(profile.string_table(static_cast<int>(label.key_text())) + "=" +
                                (label.has_str_text()
                                     ? profile.string_table(static_cast<int>(label.str_text()))
                                     : std::to_string(label.num())));
  }
  return sums;
}

TEST_F(StackFiles, PprofAddsUpByStackThreadAndStep) {
  record(program);
  pprof::Profile profile;
  ASSERT_TRUE(profile.ParseFromString(test::unpack_one_member(write("pprof"))));
  const Sums sums = sums_of(profile);
  EXPECT_THAT(sums.values.at("step:20 < main:10"),
              UnorderedElementsAre(Pair("samples", 2), Pair("cpu", 2000)));
  EXPECT_THAT(sums.values.at("main:10"),
              UnorderedElementsAre(Pair("samples", 2), Pair("cpu", 1000), Pair("blocked", 500)));
  EXPECT_THAT(sums.values.at("add(float*) < in;ner, \"quoted\" < aten::outer < step:20 < main:10"),
              UnorderedElementsAre(Pair("kernels", 1), Pair("gpu", 30'000)));
  EXPECT_THAT(sums.values.at("aten::outer < step:20 < main:10"),
              ElementsAre(Pair("operator_self", 50'000)));
  EXPECT_THAT(sums.values.at("in;ner, \"quoted\" < aten::outer < step:20 < main:10"),
              ElementsAre(Pair("operator_self", 30'000)));
  EXPECT_THAT(sums.labels.at("step:20 < main:10"), ElementsAre("step=7", "thread=thread 4000"));
  EXPECT_EQ(1'000'000, profile.duration_nanos());
  EXPECT_EQ("gpu", profile.string_table(static_cast<int>(profile.default_sample_type_text())));
}

TEST_F(StackFiles, FoldedLinesSayWhatTheyCount) {
  record(program);
  std::istringstream text(write("folded"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  const std::string frames = "train.py(10): main;train.py(20): step";
  EXPECT_THAT(lines,
              UnorderedElementsAre(
                  "CPU;thread 4000;" + frames + " 2000", "CPU;thread 4000;train.py(10): main 1000",
                  "blocked;thread 4001;train.py(10): main 500",
                  "operators;thread 4000;" + frames + ";aten::outer 50000",
                  "operators;thread 4000;" + frames + ";aten::outer;in:ner, \"quoted\" 30000",
                  "GPU;device 0;" + frames + ";aten::outer;in:ner, \"quoted\";add(float*) 30000"));
}

TEST_F(StackFiles, SpeedscopeHasAProfileAThreadAndADevice) {
  record(program);
  rapidjson::Document file;
  file.Parse(write("speedscope").c_str());
  ASSERT_FALSE(file.HasParseError());
  const auto& frames = file["shared"]["frames"];
  std::map<std::string, std::vector<std::string>> shown;
  for (const auto& profile : file["profiles"].GetArray()) {
    EXPECT_STREQ("sampled", profile["type"].GetString());
    ASSERT_EQ(profile["samples"].Size(), profile["weights"].Size());
    std::uint64_t total = 0;
    for (rapidjson::SizeType i = 0; i < profile["samples"].Size(); ++i) {
      std::string line;
      for (const auto& frame : profile["samples"][i].GetArray())
        line += std::string(frames[frame.GetUint()]["name"].GetString()) + ";";
      total += profile["weights"][i].GetUint64();
      shown[profile["name"].GetString()].push_back(
          line + std::to_string(profile["weights"][i].GetUint64()));
    }
    EXPECT_EQ(total, profile["endValue"].GetUint64());
  }
  EXPECT_THAT(shown,
              Contains(Pair("CPU, thread 4000", ElementsAre("main;step;2000", "main;1000"))));
  EXPECT_THAT(shown, Contains(Pair("blocked, thread 4001", ElementsAre("main;500"))));
  EXPECT_THAT(shown, Contains(Pair("GPU 0", ElementsAre("main;step;aten::outer;in;ner, \"quoted\";"
                                                        "add(float*);30000"))));
}

TEST_F(StackFiles, NothingRecordedIsAFileAllTheSame) {
  record([](model::EventSink&) {});
  EXPECT_EQ("", write("folded"));
  pprof::Profile profile;
  EXPECT_TRUE(profile.ParseFromString(test::unpack_one_member(write("pprof"))));
  EXPECT_EQ(0, profile.sample_size());
  rapidjson::Document file;
  file.Parse(write("speedscope").c_str());
  EXPECT_TRUE(!file.HasParseError() && file["profiles"].Empty());
}

}  // namespace
}  // namespace gpuprof::exporter
