// SPDX-License-Identifier: Apache-2.0
#include "analysis/import/classify/event_categories.hpp"

#include "analysis/import/store/pid_tracks.hpp"
#include "recording/model/imported_values.hpp"
#include "tests/unit/import/import_fixture.hpp"

namespace gpuprof::test {
namespace {

using importer::EventCategory;
using importer::TrackRole;
using Kinds = ImportTest;

std::string device(const std::string& more) { return "\"device\":2,\"stream\":7," + more; }

TEST_F(Kinds, CategoriesAreKnownInAnyCase) {
  EXPECT_EQ(importer::find_category("XPU_Driver"), EventCategory::kDriver);
  EXPECT_EQ(importer::find_category("collective_comm"), EventCategory::kCollective);
  EXPECT_EQ(importer::find_category("something"), EventCategory::kUnknown);
  EXPECT_EQ(importer::guess_category("something_runtime"), EventCategory::kRuntime);
  EXPECT_EQ(importer::guess_category("something"), EventCategory::kUnknown);
}

TEST_F(Kinds, NamesOfCallsAreALibraryAndWhatItDoes) {
  for (const char* call :
       {"cudaMalloc", "cuLaunchKernel", "hipLaunchKernel", "zeFenceHostSynchronize",
        "AscendCL@aclrtMalloc", "Node@launch", "hsa_queue_create"})
    EXPECT_TRUE(importer::is_api_call_name(call)) << call;
  for (const char* other : {"cudnn_convolution", "aten::mm", "hippo", "zeros", "urgent", ""})
    EXPECT_FALSE(importer::is_api_call_name(other)) << other;
}

TEST_F(Kinds, RowsAreTakenApart) {
  const auto parts = [](std::string_view text) {
    const importer::PidLabel name = importer::parse_pid_label(text);
    return std::string(name.label) + "|" + std::to_string(name.pid);
  };
  EXPECT_EQ(parts("[TP0] 10"), "[TP0]|10");
  EXPECT_EQ(parts("[TP0-DP1] -1"), "[TP0-DP1]|-1");
  EXPECT_EQ(parts("[TP00 10]"), "TP00|10");
  EXPECT_EQ(parts("[rank 3] Spans"), "[rank 3]|0");
  EXPECT_EQ(parts("rank3_17"), "rank3|17");
  EXPECT_EQ(parts("Rank 3: GPU 1"), "Rank 3|1");
  EXPECT_EQ(parts("2_1071532"), "|1071532");
  EXPECT_EQ(parts("CPU functions"), "|0");
  EXPECT_EQ(parts("[TP0"), "|0");
  EXPECT_EQ(importer::rank_of_label("[TP12]"), 12);
  EXPECT_EQ(importer::rank_of_label("[TP0-DP1]"), std::nullopt);
  EXPECT_EQ(importer::rank_of_label(""), std::nullopt);
  EXPECT_EQ(importer::role_of_name("Ascend Hardware"), TrackRole::kDevice);
  EXPECT_EQ(importer::role_of_name("GPU 3"), TrackRole::kDevice);
  EXPECT_EQ(importer::role_of_name("GPUs and I"), TrackRole::kUnknown);
  EXPECT_EQ(importer::role_of_name("CANN"), TrackRole::kApiCalls);
}

TEST_F(Kinds, AWaitOfItsOwnRowIsACallOfItsThread) {
  const auto told =
      import_events(complete("cpu_op", "aten::item", 1, 9) + "," +
                    complete("xpu_sync", "zeEventHostSynchronize", 3, 5, "", 100, -1));
  ASSERT_EQ(told->calls.size(), 1u);
  EXPECT_EQ(told->calls[0].api, model::kApiWait);
  EXPECT_EQ(told->calls[0].range, told->op("aten::item").id);
  ASSERT_EQ(told->syncs.size(), 1u);
  EXPECT_EQ(told->syncs[0].end_ns - told->syncs[0].start_ns, 5000u);
}

TEST_F(Kinds, ACollectiveIsOneWhereverItRuns) {
  const auto told = import_events(
      complete("cpu_op", "a", 1, 2) + "," + complete("collective_comm", "sum", 5, 2) + "," +
      complete("collective_comm", "sum", 5, 2, device("\"correlation\":0"), 7, 2));
  EXPECT_NE(told->op("sum").flags & model::kOpCollective, 0u);
  ASSERT_EQ(told->kernels.size(), 1u);
  EXPECT_EQ(told->kernels[0].channel, model::kChannelOfCollective);
  EXPECT_EQ(told->kernels[0].device, 2u);
}

TEST_F(Kinds, QueuesAreStreams) {
  const auto stream = [&](const std::string& args) {
    const auto told = import_events(complete("cpu_op", "a", 1, 2) + "," +
                                    complete("kernel", "k", 5, 2, "\"device\":0," + args, 9, 0));
    return told->kernels.at(0).stream;
  };
  EXPECT_EQ(stream("\"sycl queue\":64,\"l0 queue\":\"0x55\""), 64u);
  EXPECT_EQ(stream("\"streamId\":3"), 3u);
  EXPECT_EQ(stream("\"stream\":4,\"hsa_queue\":1"), 4u);
  EXPECT_EQ(stream("\"registers per thread\":4"), 9u);
}

TEST_F(Kinds, WhatTellsNoWorkIsLeftOutAndTold) {
  import_events(
      complete("cpu_op", "a", 1, 2) + "," +
      complete("cuda_event", "e", 5, 0, device("\"event_id\":1"), 7, 0) +
      R"(,{"ph":"C","cat":"hardware_counters","name":"sm","pid":"GPU 0 Counters","tid":1,"ts":3,"args":{"":1}})");
  EXPECT_TRUE(has_note("2 events of"));
  EXPECT_TRUE(has_note("1 of 'cuda_event'"));
  EXPECT_TRUE(has_note("1 of 'hardware_counters'"));
}

TEST_F(Kinds, NamesThatComeLateAreKnownFromTheBeginning) {
  const std::string names =
      R"({"ph":"M","name":"process_name","pid":70,"tid":0,"args":{"name":"Ascend Hardware"}})";
  const std::string kernel =
      R"({"ph":"X","name":"MatMul","pid":70,"tid":3,"ts":5,"dur":2,"args":{"Task Type":"AI_CORE"}})";
  for (const std::string& events : {names + "," + kernel, kernel + "," + names}) {
    const auto told = import_events(complete("cpu_op", "a", 1, 2) + "," + events);
    ASSERT_EQ(told->kernels.size(), 1u) << events;
    EXPECT_EQ(told->operators.size(), 1u) << events;
  }
}

TEST_F(Kinds, ArrowsLinkWhereNothingElseDoes) {
  const std::string flows =
      R"({"ph":"s","cat":"ac2g","name":"ac2g","id":4,"pid":4000,"tid":100,"ts":3},)"
      R"({"ph":"f","cat":"ac2g","name":"ac2g","id":4,"pid":0,"tid":7,"ts":20})";
  const auto told = import_events(
      complete("cpu_op", "aten::mm", 1, 9) + "," + complete("privateuse1_runtime", "launch", 2, 3) +
      "," + complete("kernel", "k", 20, 5, "\"streamId\":7", 7, 0) + "," + flows);
  ASSERT_EQ(told->kernels.size(), 1u);
  EXPECT_EQ(told->kernels[0].range, told->op("aten::mm").id);
  EXPECT_EQ(told->kernels[0].launch_tid, 100u);
  EXPECT_NE(told->kernels[0].correlation, 0u);
  EXPECT_EQ(told->calls.at(0).correlation, told->kernels[0].correlation);
}

TEST_F(Kinds, MemoryOfOtherDevicesIsMemoryOfADevice) {
  for (const char* type : {"1", "6", "12", "18", "19", "20"}) {
    const auto told = import_events(
        complete("cpu_op", "a", 1, 2) +
        R"(,{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":4000,"tid":100,"ts":1,"args":{"Bytes":64,"Device Id":0,"Device Type":)" +
        std::string(type) + "}}");
    ASSERT_EQ(told->allocations.size(), 1u) << type;
    EXPECT_EQ(told->allocations[0].device_type, 1) << type;
  }
}

}  // namespace
}  // namespace gpuprof::test
