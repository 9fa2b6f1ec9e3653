// SPDX-License-Identifier: Apache-2.0
//
// The rules of docs/trace-format.md, one test each: breaking one loses the file or a view.
#include <map>
#include <random>
#include <set>

#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using TraceRules = test::ExportTest;
using Value = rapidjson::Value;

std::uint64_t external_id(const Value& event) { return event["args"]["External id"].GetUint64(); }

TEST_F(TraceRules, EveryEventHasWhatViewersReach) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "op"});
    auto op = range(5, 10, 400);
    op.name = 1;
    sink.on(op);
    sink.on(call(7, 20, 30, 5));
    sink.on(kernel(7, 40, 90, 5));
    sink.on(step(1, 0, 500));
    sink.on(model::Sample{kStart + 1000, 10'000, kPid, 0, 1});
  });
  for (const auto& event : trace()["traceEvents"].GetArray()) {
    for (const char* key : {"name", "ph", "pid", "tid", "ts"})
      EXPECT_TRUE(event.HasMember(key)) << key;
    if (std::string(event["ph"].GetString()) == "X") {
      EXPECT_TRUE(event.HasMember("cat") && event.HasMember("dur"));
    }
  }
  EXPECT_STREQ(document_["traceEvents"][0]["ph"].GetString(), "M");
}

TEST_F(TraceRules, EventsAreTheLastArrayOfTheFile) {
  record([](model::EventSink& sink) { sink.on(model::Fact{"odd", "\"traceEvents\": [ ]"}); });
  trace();
  EXPECT_EQ(text_.substr(text_.rfind(']')), "]}\n");
  EXPECT_EQ(text_.find("\"traceEvents\":["), text_.rfind("\"traceEvents\":["));
  EXPECT_STREQ(document_["gpuprof"]["facts"]["odd"].GetString(), "\"traceEvents\": [ ]");
}

TEST_F(TraceRules, CaptureStandsInForAFileWithoutStepsAndOperators) {
  record([](model::EventSink& sink) {
    sink.on(call(1, 20, 30));
    sink.on(kernel(1, 40, 90));
  });
  trace();
  ASSERT_EQ(events("python").size(), 1u);
  const Value& capture = *events("python")[0];
  EXPECT_STREQ(capture["name"].GetString(), "capture");
  EXPECT_EQ(capture["tid"].GetUint(), kPid);
  EXPECT_DOUBLE_EQ(capture["dur"].GetDouble(), 1000.0);
  EXPECT_EQ(text_.find("ProfilerStep"), std::string::npos);
}

TEST_F(TraceRules, NoCaptureBesideOperatorsOrSteps) {
  record([](model::EventSink& sink) { sink.on(range(5, 10, 40)); });
  trace();
  EXPECT_TRUE(events("python").empty());
}

TEST_F(TraceRules, LaunchesWithoutRangeCarryAnExplicitZero) {
  record([](model::EventSink& sink) {
    sink.on(call(1, 20, 30));
    sink.on(call(2, 40, 50, 77));  // its range never ended
    sink.on(range(5, 60, 90));
    sink.on(call(3, 70, 80, 5));
    sink.on(kernel(3, 85, 95, 5));
  });
  trace();
  const auto calls = events("runtime");
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(external_id(*calls[0]), 0u);
  EXPECT_EQ(external_id(*calls[1]), 0u);
  EXPECT_EQ(external_id(*calls[2]), 5u);
  EXPECT_EQ(external_id(*events("kernel")[0]), 5u);
  EXPECT_EQ(external_id(*events("cpu_op")[0]), 5u);
}

TEST_F(TraceRules, DriverCallsAreRuntimeCallsAndInnerOnesAreNot) {
  record([](model::EventSink& sink) {
    auto driver = call(1, 20, 30);
    driver.api = 1;
    sink.on(driver);
    sink.on(call(1, 22, 28));  // the same correlation id again
  });
  trace();
  ASSERT_EQ(events("runtime").size(), 1u);
  EXPECT_STREQ((*events("runtime")[0])["args"]["api"].GetString(), "driver");
  ASSERT_EQ(events("inner_call").size(), 1u);
  EXPECT_FALSE((*events("inner_call")[0])["args"].HasMember("correlation"));
}

TEST_F(TraceRules, GpuEventsGoWithTheirLaunch) {
  record([](model::EventSink& sink) {
    sink.on(kernel(9, 100, 200));     // launched before the window
    sink.on(kernel(11, 1500, 1600));  // launched inside, runs after it; told before its call
    sink.on(call(11, 900, 910));
    sink.on(call(12, 1100, 1110));  // after the window
    sink.on(kernel(12, 1700, 1800));
  });
  trace();
  ASSERT_EQ(events("kernel").size(), 1u);
  EXPECT_EQ((*events("kernel")[0])["args"]["correlation"].GetUint(), 11u);
  EXPECT_EQ(document_["gpuprof"]["events"]["kernels"].GetUint(), 1u);
  bool output = false;
  for (const std::string& message : written_.missing)
    output |= message == "1 GPU event launched before the window is not in the file";
  EXPECT_TRUE(output);
}

TEST_F(TraceRules, KernelsWhoseCallWasLostAreDrawnWithoutIt) {
  record([](model::EventSink& sink) {
    sink.on(kernel(12, 150, 200));    // between two calls of the window; its own is not there
    sink.on(kernel(14, 1500, 1600));  // the same, but it ran after the window
    sink.on(call(11, 100, 110));
    sink.on(call(13, 300, 310));
  });
  trace();
  ASSERT_EQ(events("kernel").size(), 1u);
  EXPECT_EQ((*events("kernel")[0])["args"]["correlation"].GetUint(), 12u);
  EXPECT_TRUE(std::find(written_.missing.begin(), written_.missing.end(),
                        "1 GPU event is drawn without the host call that launched it: the call "
                        "was not recorded") != written_.missing.end());
}

TEST_F(TraceRules, KernelsWithoutAnyCallGoByTheirTime) {
  record([](model::EventSink& sink) {
    sink.on(kernel(1, 100, 200));
    sink.on(kernel(2, 1100, 1200));
  });
  trace();
  EXPECT_EQ(events("kernel").size(), 1u);
}

TEST_F(TraceRules, ArrowsComeInPairs) {
  record([](model::EventSink& sink) {
    sink.on(call(1, 20, 30));
    sink.on(kernel(1, 40, 50));
    sink.on(kernel(1, 60, 70));  // a graph: many kernels, one launch
    sink.on(call(2, 80, 90));    // launches nothing
  });
  trace();
  ASSERT_EQ(events("ac2g", "s").size(), 1u);
  ASSERT_EQ(events("ac2g", "f").size(), 1u);
  EXPECT_DOUBLE_EQ((*events("ac2g", "s")[0])["ts"].GetDouble(), 1020.0);
  EXPECT_DOUBLE_EQ((*events("ac2g", "f")[0])["ts"].GetDouble(), 1040.0);
}

TEST_F(TraceRules, SmallProcessIdsDoNotMeetDevices) {
  session_.processes.clear();
  record([](model::EventSink& sink) { sink.on(range(5, 10, 40)); }, 1);
  const auto files = write_window(session_, window_, {1}, {}).take();
  text_ = test::unpack_one_member(test::read_file(files[0].path));
  document_.Parse(text_.c_str());
  EXPECT_EQ((*events("cpu_op")[0])["pid"].GetUint(), 100'001u);
}

TEST_F(TraceRules, RangesOverTheBorderAreCutAndStillNest) {
  record([](model::EventSink& sink) {
    sink.on(range(3, -200, 100));
    sink.on(range(2, -300, 1500));
    sink.on(call(1, 990, 1200, 2));  // begins inside, ends after the window
    sink.on(range(1, -400, 1600));
    sink.on(range(4, -900, -100));  // outside
  });
  trace();
  std::map<std::uint64_t, std::pair<double, double>> drawn;
  for (const Value* op : events("cpu_op"))
    drawn[external_id(*op)] = {(*op)["ts"].GetDouble(),
                               (*op)["ts"].GetDouble() + (*op)["dur"].GetDouble()};
  ASSERT_EQ(drawn.size(), 3u);
  EXPECT_LT(drawn[1].first, drawn[2].first);
  EXPECT_LT(drawn[2].first, drawn[3].first);
  EXPECT_GT(drawn[1].second, drawn[2].second);
  EXPECT_GE(drawn[2].second, 1000.0 + 1200.0);
  EXPECT_LE(drawn[3].first, 1000.0);
}

TEST_F(TraceRules, CrossingRangesAreSpansAndNeverOperators) {
  record([](model::EventSink& sink) {
    sink.on(step(1, 0, 300));
    sink.on(range(7, 200, 400));  // over a step's border
    sink.on(call(1, 210, 220, 7));
    auto flagged = range(8, 500, 600);
    flagged.flags = model::kRangeCrossing;
    sink.on(flagged);
    sink.on(step(2, 300, 900));
  });
  trace();
  EXPECT_TRUE(events("cpu_op").empty());
  EXPECT_EQ(events("nvtx_crossing", "b").size(), 2u);
  EXPECT_EQ(events("nvtx_crossing", "e").size(), 2u);
  EXPECT_EQ(external_id(*events("runtime")[0]), 0u);
}

TEST_F(TraceRules, TheRangeBehindAStepIsNoOperatorWhicheverComesFirst) {
  for (const bool step_first : {true, false}) {
    session_.processes.clear();
    session_.options.force = true;
    std::filesystem::remove(folder_ + "/4000.spool");
    record([&](model::EventSink& sink) {
      if (step_first) sink.on(step(1, 100, 300));
      sink.on(range(7, 100, 300));
      if (!step_first) sink.on(step(1, 100, 300));
      sink.on(call(1, 210, 220));
    });
    trace();
    EXPECT_TRUE(events("cpu_op").empty()) << step_first;
    EXPECT_EQ(events("nvtx_enclosing").size(), 1u) << step_first;
  }
}

TEST_F(TraceRules, TheRangeBehindAStepIsAnOperatorInAllStepsIfItLaunchesItself) {
  record([](model::EventSink& sink) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      auto made = range(7 + i, static_cast<std::int64_t>(i) * 300,
                        static_cast<std::int64_t>(i) * 300 + 300);
      made.name = 1;
      if (i == 1) sink.on(call(1, 400, 410, 8));
      sink.on(made);
      sink.on(step(i + 1, i * 300, i * 300 + 300));
    }
    sink.on(kernel(1, 420, 430, 8));
  });
  trace();
  EXPECT_EQ(events("cpu_op").size(), 3u);
  EXPECT_EQ(external_id(*events("runtime")[0]), 8u);
  EXPECT_EQ(external_id(*events("kernel")[0]), 8u);
}

TEST_F(TraceRules, TheLastStepEndsBeforeWhatFollowsAtOnce) {
  record([](model::EventSink& sink) {
    sink.on(step(1, 100, 300));
    sink.on(range(7, 110, 290));
    sink.on(range(8, 300, 350));
  });
  trace();
  ASSERT_EQ(events("cpu_op").size(), 2u);
  const Value &drawn = *events("user_annotation").at(0), &next = *events("cpu_op")[1];
  EXPECT_LT(drawn["ts"].GetDouble() + drawn["dur"].GetDouble(), next["ts"].GetDouble());
}

TEST_F(TraceRules, SoItDoesIfItIsToldLate) {
  record([](model::EventSink& sink) {
    sink.on(range(7, 110, 290));
    sink.on(range(8, 299, 350));
    sink.on(step(0, 0, 100));
    sink.on(step(1, 100, 300));
  });
  trace();
  ASSERT_EQ(events("cpu_op").size(), 2u);
  const Value &drawn = *events("user_annotation").at(1), &next = *events("cpu_op")[1];
  EXPECT_LT(drawn["ts"].GetDouble() + drawn["dur"].GetDouble(), next["ts"].GetDouble());
}

TEST_F(TraceRules, OnlyWholeStepsAreWritten) {
  record([](model::EventSink& sink) {
    sink.on(step(1, 0, 300));
    sink.on(step(2, 300, 1000));
    sink.on(step(3, 1000, 1300));
    sink.on(step(4, 900, 1100));
  });
  trace();
  ASSERT_EQ(events("user_annotation").size(), 2u);
  EXPECT_STREQ((*events("user_annotation")[1])["name"].GetString(), "ProfilerStep#2");
  EXPECT_EQ(written_.steps, 2u);
}

TEST_F(TraceRules, DevicesAreListedByIndexWithoutGaps) {
  record([](model::EventSink& sink) {
    model::Device d{};
    d.device = 2;
    d.sm_count = 10;
    sink.on(d);
  });
  const auto& devices = trace()["deviceProperties"];
  ASSERT_EQ(devices.Size(), 3u);
  EXPECT_EQ(devices[2]["numSms"].GetUint(), 10u);
  for (const auto& d : devices.GetArray()) EXPECT_TRUE(d.HasMember("totalGlobalMem"));
}

TEST_F(TraceRules, RankStandsOnALineOfItsOwnWithABlank) {
  record([](model::EventSink& sink) {
    sink.on(model::Fact{"rank", "3"});
    sink.on(model::Fact{"world_size", "8"});
  });
  trace();
  EXPECT_NE(text_.find("\n\"distributedInfo\":{\"rank\": 3,\"world_size\": 8},\n"),
            std::string::npos);
  EXPECT_LT(text_.find("\"rank\": 3"), 200u);
}

TEST_F(TraceRules, StacksWithoutABeginningSaySo) {
  const std::vector<std::uint64_t> frames{0x1000, 0x2000};
  record([&](model::EventSink& sink) {
    sink.on(model::StackDef{1, 0, frames, {}});
    sink.on(model::StackDef{2, model::kStackNativeTruncated, frames, {}});
    sink.on(model::Sample{kStart + 1000, 1000, kPid, 1, 0});
    sink.on(model::Sample{kStart + 9000, 1000, kPid, 2, 0});
  });
  trace();
  const auto begins = events("cpu_sample", "B");
  ASSERT_EQ(begins.size(), 5u);
  EXPECT_STRNE((*begins[0])["name"].GetString(), "(incomplete stack)");
  EXPECT_STREQ((*begins[2])["name"].GetString(), "(incomplete stack)");
}

TEST_F(TraceRules, SamplesBecomePairedSlicesOnTheirOwnRow) {
  // given random stacks, gaps, blocked looks
  std::mt19937 random(9);
  record([&](model::EventSink& sink) {
    for (std::uint32_t id = 1; id <= 20; ++id) {
      std::vector<std::uint64_t> frames;
      for (std::uint32_t i = 0; i < (id == 20 ? 250 : 1 + id % 9); ++i)
        frames.push_back(0x1000 * (1 + random() % 3));
      sink.on(model::StackDef{id, 0, frames, {}});
    }
    std::uint64_t at = kStart;
    for (int i = 0; i < 400; ++i)
      sink.on(model::Sample{
          at += random() % 4000, 1000, static_cast<std::uint32_t>(kPid + random() % 2),
          static_cast<std::uint32_t>(random() % 21), static_cast<std::uint32_t>(random() % 3)});
  });
  trace();
  // when walked in file order
  std::map<std::uint64_t, std::vector<std::string>> open;
  std::map<std::uint64_t, double> last;
  std::size_t deepest = 0;
  for (const auto& event : document_["traceEvents"].GetArray()) {
    const char phase = event["ph"].GetString()[0];
    if (phase != 'B' && phase != 'E') continue;
    const std::uint64_t tid = event["tid"].GetUint64();
    EXPECT_GE(tid, 100'000'000u);
    EXPECT_GE(event["ts"].GetDouble(), last[tid]);
    last[tid] = event["ts"].GetDouble();
    if (phase == 'B') {
      open[tid].emplace_back(event["name"].GetString());
      deepest = std::max(deepest, open[tid].size());
    } else {
      ASSERT_FALSE(open[tid].empty());
      EXPECT_EQ(open[tid].back(), event["name"].GetString());
      open[tid].pop_back();
    }
  }
  // then all pairs close, depth is bounded, waiting is distinguished
  for (const auto& [tid, left] : open) EXPECT_TRUE(left.empty());
  EXPECT_LE(deepest, 130u);
  EXPECT_GT(deepest, 100u);
  EXPECT_FALSE(events("cpu_sample_blocked", "B").empty());
}

TEST_F(TraceRules, LossesStandBeforeTheEvents) {
  record([](model::EventSink& sink) {
    sink.on(model::Loss{1, kPid, 5, kStart + 10, kStart + 20});
    sink.on(model::Loss{1, kPid, 7, kStart + 5'000'000, kStart + 6'000'000});
  });
  const auto& dropped = trace()["gpuprof"]["dropped"]["ring full"];
  EXPECT_EQ(dropped["in this window"].GetUint(), 5u);
  EXPECT_EQ(dropped["since the start"].GetUint(), 12u);
  EXPECT_LT(text_.find("ring full"), text_.find("\"traceEvents\":["));
  ASSERT_EQ(written_.drops_by_reason.size(), 1u);
  EXPECT_EQ(written_.drops_by_reason[0].second, 5u);
}

TEST_F(TraceRules, AnUnknownFormatAndAnUnknownProcessAreSentences) {
  EXPECT_FALSE(write_window(session_, window_, {99}, {}).ok());
  record([](model::EventSink&) {});
  session_.options.formats = {"nonsense"};
  const auto files = write_window(session_, window_, {kPid}, {});
  ASSERT_FALSE(files.ok());
  EXPECT_NE(files.error().message.find("nonsense"), std::string::npos);
}

}  // namespace
}  // namespace gpuprof::exporter
