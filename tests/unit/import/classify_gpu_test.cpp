// SPDX-License-Identifier: Apache-2.0
#include "analysis/import/emit/two_generation_map.hpp"
#include "tests/unit/import/import_fixture.hpp"

namespace gpuprof::test {
namespace {

using GpuEvents = ImportTest;

std::string gpu(const std::string& more) {
  return "\"device\":1,\"context\":3,\"stream\":7," + more;
}

TEST_F(GpuEvents, KernelsBelongToTheOperatorOfTheirLaunch) {
  for (const char* launch : {"runtime", "cuda_runtime", "Runtime", "cuda_driver"}) {
    const auto told = import_events(
        complete(
            "kernel", "k", 20, 10,
            gpu(R"("correlation":9,"grid":[1,2,3],"block":[32,1,1],"registers per thread":40,"shared memory":1024)"),
            7, 1) +
        "," +
        complete(launch, "cudaLaunchKernel", 3, 1,
                 R"("External id":5,"correlation":9,"cbid":211)") +
        "," + complete("cpu_op", "aten::mm", 1, 9, R"("External id":5)"));
    ASSERT_EQ(told->kernels.size(), 1u) << launch;
    const model::Kernel& k = told->kernels[0];
    EXPECT_EQ(k.range, told->op("aten::mm").id);
    EXPECT_EQ(k.launch_tid, 100u);
    EXPECT_EQ(k.device, 1u);
    EXPECT_EQ(k.context, 3u);
    EXPECT_EQ(k.stream, 7u);
    EXPECT_EQ(k.grid[1], 2u);
    EXPECT_EQ(k.block[0], 32u);
    EXPECT_EQ(k.registers, 40u);
    EXPECT_EQ(k.static_shared_bytes + k.dynamic_shared_bytes, 1024u);
    EXPECT_EQ(told->calls.at(0).range, told->op("aten::mm").id);
    EXPECT_EQ(told->calls.at(0).api, std::string(launch) == "cuda_driver" ? 1u : 2u);
  }
}

// As of calls between them that are not in the file, of several processes, or of ROCm.
TEST_F(GpuEvents, KernelsFindTheirLaunchHoweverFarApartTheNumbersAre) {
  constexpr int kLaunches = 200;
  for (const int apart : {1, 7, 16, 100, 600, 4096, 65537}) {
    std::string events;
    for (int i = 0; i < kLaunches; ++i) {
      const int at = 10 * i + 1;
      const std::string id = std::to_string(1 + i * apart);
      const std::string number = "\"correlation\":" + id;
      events += complete("cpu_op", "op", at, 9, "\"External id\":" + id) + "," +
                complete("cuda_runtime", "cudaLaunchKernel", at + 1, 1, number) + "," +
                complete("kernel", "k", at + 50'000, 1, gpu(number), 7, 1) + ",";
    }
    events.pop_back();
    const auto told = import_events(events);
    ASSERT_EQ(told->kernels.size(), kLaunches + 0u);
    for (const model::Kernel& k : told->kernels) {
      EXPECT_NE(k.range, 0u) << apart << ": " << k.correlation;
      EXPECT_EQ(k.launch_tid, 100u) << apart << ": " << k.correlation;
    }
  }
}

TEST_F(GpuEvents, NumbersOfMoreThan32BitsAreToldApart) {
  std::string events;
  int at = 0;
  for (const char* number : {"5", "4294967301", "-5", "9223372036854775807"}) {
    at += 10;
    const std::string told = "\"correlation\":" + std::string(number);
    events += complete("cpu_op", number, at, 9, "") + "," +
              complete("cuda_runtime", "cudaLaunchKernel", at + 1, 1, told) + "," +
              complete("kernel", number, at + 100, 1, gpu(told), 7, 1) + ",";
  }
  events.pop_back();
  const auto told = import_events(events);
  ASSERT_EQ(told->kernels.size(), 4u);
  for (const model::Kernel& k : told->kernels) EXPECT_EQ(told->names[k.name], told->named[k.range]);
  EXPECT_EQ(told->notices.size(), 0u);
}

TEST_F(GpuEvents, ANumberThatComesAgainMuchLaterIsAnotherCalls) {
  const std::string number = "\"correlation\":5";
  std::string events;
  for (const int at : {1, 500'001})
    events += complete("cuda_runtime", "cudaLaunchKernel", at, 9, number) + "," +
              complete("cuda_driver", "cuLaunchKernel", at + 1, 5, number) + "," +
              complete("kernel", "k", at + 20, 1, gpu(number), 7, 1) + ",";
  events.pop_back();
  const auto told = import_events(events);
  ASSERT_EQ(told->kernels.size(), 2u);
  ASSERT_EQ(told->calls.size(), 4u);
  EXPECT_NE(told->kernels[0].correlation, told->kernels[1].correlation);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(told->calls[i].correlation, told->kernels[i / 2].correlation) << i;
}

TEST_F(GpuEvents, AFileThatTellsNoLaunchesSaysSo) {
  const std::string op = complete("cpu_op", "op", 1, 9, R"("External id":1)");
  const std::string call = complete("cuda_runtime", "cudaLaunchKernel", 2, 1, "");
  const std::string first = complete("kernel", "k", 20, 1, gpu("\"correlation\":5"), 7, 1);
  const std::string other = complete("kernel", "k", 30, 1, gpu("\"x\":0"), 7, 1);
  for (const std::string& events :
       {op + "," + first + "," + other, call + "," + first + "," + other, first + "," + other}) {
    const auto told = import_events(events);
    ASSERT_EQ(told->notices.size(), 1u) << events;
    EXPECT_EQ(told->notices[0],
              "2 GPU events are drawn without the host calls that launched them: the file does not "
              "link them to a launch");
  }
  // Where it tells others, whoever draws them counts.
  const auto told = import_events(
      complete("cuda_runtime", "cudaLaunchKernel", 2, 1, "\"correlation\":4") + "," + first);
  EXPECT_EQ(told->notices.size(), 0u);
}

TEST(TwoGenerationMap, RemembersTheLastOnesByNumberAndProcess) {
  constexpr std::uint64_t kMax = 100, kFar = 1'000'003;
  importer::TwoGenerationMap<std::uint64_t> recent(kMax);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    recent.put(1, i * kFar, i);
    recent.put(2, i * kFar, i + 1);
    for (std::uint64_t back = 0; back < kMax / 2 && back <= i; ++back) {
      ASSERT_NE(recent.find(1, (i - back) * kFar), nullptr) << i << " " << back;
      EXPECT_EQ(*recent.find(1, (i - back) * kFar), i - back);
      EXPECT_EQ(*recent.find(2, (i - back) * kFar), i - back + 1);
    }
  }
  EXPECT_EQ(recent.find(1, 0), nullptr) << "of long ago";
  EXPECT_EQ(recent.find(3, 999 * kFar), nullptr);
  recent.put(1, 999 * kFar, 7);
  EXPECT_EQ(*recent.find(1, 999 * kFar), 7u);
}

TEST_F(GpuEvents, AnIdOfZeroIsNobodysAndAMissingOneTheInnermosts) {
  const auto told =
      import_events(complete("cpu_op", "aten::mm", 1, 9, R"("External id":5)") + "," +
                    complete("runtime", "a", 3, 1, R"("External id":0,"correlation":1)") + "," +
                    complete("runtime", "b", 5, 1, R"("correlation":2)"));
  ASSERT_EQ(told->calls.size(), 2u);
  EXPECT_EQ(told->calls[0].range, 0u);
  EXPECT_EQ(told->calls[1].range, told->op("aten::mm").id);
}

TEST_F(GpuEvents, AKernelOfUnknownLaunchKeepsWhatItSays) {
  const auto told = import_events(
      complete("cpu_op", "aten::mm", 1, 9, R"("External id":5)") + "," +
      complete("Kernel", "k", 20, 10, gpu(R"("external id":5,"correlation":77)"), 7, 1) + "," +
      complete("Kernel", "lone", 40, 10, "", 7, 1));
  ASSERT_EQ(told->kernels.size(), 2u);
  EXPECT_EQ(told->kernels[0].range, told->op("aten::mm").id);
  EXPECT_EQ(told->kernels[0].launch_tid, 0u);
  EXPECT_EQ(told->kernels[1].range, 0u);
  EXPECT_EQ(told->kernels[1].device, 1u);
}

TEST_F(GpuEvents, ClocksThatDisagreeALittleStillLink) {
  const auto told = import_events(
      complete("runtime", "cudaLaunchKernel", 30, 1, R"("External id":0,"correlation":9)") + "," +
      complete("kernel", "k", 20, 5, gpu(R"("correlation":9)"), 7, 1));
  ASSERT_EQ(told->kernels.size(), 1u);
  EXPECT_EQ(told->kernels[0].launch_tid, 100u);
}

TEST_F(GpuEvents, CopiesAndSetsKeepTheirKinds) {
  for (const bool older : {false, true}) {
    const auto told = import_events(
        complete(older ? "Memcpy" : "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1, 2,
                 gpu("\"bytes\":100")) +
        "," +
        complete(older ? "Memset" : "gpu_memset", "Memset (Device)", 4, 2, gpu("\"bytes\":8")));
    ASSERT_EQ(told->copies.size(), 1u);
    EXPECT_EQ(told->copies[0].copy_kind, 1u);
    EXPECT_EQ(told->copies[0].src_kind, 1u);
    EXPECT_EQ(told->copies[0].dst_kind, 3u);
    EXPECT_EQ(told->copies[0].bytes, 100u);
    ASSERT_EQ(told->sets.size(), 1u);
    EXPECT_EQ(told->sets[0].memory_kind, 3u);
  }
}

TEST_F(GpuEvents, SizesThatCannotBeAreNotKnownAndTold) {
  const std::string sizes[] = {"-1000", "9223372036854775808", "99999999999999999999", "12.7",
                               "200100000"};
  for (const char* kind : {"gpu_memcpy", "gpu_memset"}) {
    std::string events = complete(kind, "Memcpy HtoD", 1, 2, gpu("\"bytes\":200000000"));
    for (const std::string& bytes : sizes)
      events += "," + complete(kind, "Memcpy HtoD", 10, 2, gpu("\"bytes\":" + bytes));
    const auto told = import_events(events);
    std::uint64_t known = 0;
    for (const model::MemCopy& copy : told->copies) known += copy.bytes;
    for (const model::MemSet& set : told->sets) known += set.bytes;
    EXPECT_EQ(known, 200'000'000u) << kind;
    const importer::ImportStats& account = imported_->files.at(0).account;
    EXPECT_EQ(account.count_repairs(importer::RepairKind::kImplausibleBytes), 5u);
    EXPECT_TRUE(has_note("5 implausible sizes of copies or memsets"));
  }
}

TEST_F(GpuEvents, WaitsAndOverheadKeepTheirKinds) {
  const auto told = import_events(
      complete("cuda_sync", "Stream Sync", 1, 2, gpu("\"correlation\":4"), 1'000'007, 0) + "," +
      complete("cuda_sync", "Context Sync", 4, 2, "\"stream\":-1,\"context\":3", 0, 0) + "," +
      complete("overhead", "Buffer Flush", 4, 2, "", 100, -1) + "," +
      complete("cpu_op", "a", 1, 2));
  ASSERT_EQ(told->syncs.size(), 2u);
  EXPECT_EQ(told->syncs[0].type, 3u);
  EXPECT_EQ(told->syncs[0].stream, 7u);
  EXPECT_EQ(told->syncs[1].type, 4u);
  EXPECT_EQ(told->syncs[1].stream, model::kNoObject);
  ASSERT_EQ(told->overheads.size(), 1u);
  EXPECT_EQ(told->overheads[0].kind, 1u << 16);
}

TEST_F(GpuEvents, DevicesAndRanksAreTold) {
  const auto told = import_events(
      complete("cpu_op", "a", 1, 2),
      R"("deviceProperties":[{"id":0,"name":"A","totalGlobalMem":64,"numSms":3},{"name":"B","computeMajor":9}],
         "distributedInfo":{"backend":"nccl","rank":3,"world_size":8},"host_name":"box")");
  ASSERT_EQ(told->devices.size(), 2u);
  EXPECT_EQ(told->names[told->devices[0].name], "A");
  EXPECT_EQ(told->devices[0].total_memory_bytes, 64u);
  EXPECT_EQ(told->devices[1].device, 1u);
  EXPECT_EQ(told->facts["rank"], "3");
  EXPECT_EQ(told->facts["world_size"], "8");
  EXPECT_EQ(told->facts["distributed.backend"], "nccl");
  EXPECT_EQ(session_.host, "box");
}

TEST_F(GpuEvents, GpuRowsAloneAreAProcess) {
  const auto all =
      import_all({file("host_4711.123.pt.trace.json",
                       trace(complete("kernel", "k", 1, 2, gpu("\"correlation\":1"), 7, 0)))});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]->process.pid, 4711u);
  EXPECT_EQ(all[0]->kernels.size(), 1u);
}

}  // namespace
}  // namespace gpuprof::test
