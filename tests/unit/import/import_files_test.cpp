// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/import/import_fixture.hpp"

namespace gpuprof::test {
namespace {

class Files : public ImportTest {
 protected:
  /// A trace of one operator that begins so many seconds after a base.
  std::string one(const std::string& name, double second, const std::string& head = "",
                  int pid = 4000) {
    const std::string base = "\"baseTimeNanoseconds\":1700000000000000000";
    return file(name, trace(complete("cpu_op", "op", second * 1e6, 500'000, "", 100, pid),
                            base + (head.empty() ? "" : ",") + head));
  }
};

TEST_F(Files, SpansOfOneProcessAreItsWindows) {
  const auto all = import_all({one("h_4000.2.pt.trace.json", 5), one("h_4000.1.pt.trace.json", 1)});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]->operators.size(), 2u);
  ASSERT_EQ(session_.windows.size(), 2u);
  EXPECT_EQ(session_.windows[1].start_ns - session_.windows[0].start_ns, 4'000'000'000u);
  EXPECT_EQ(session_.windows[0].stamp_real_ns, 1'700'000'001'000'000'000u);
  EXPECT_EQ(session_.windows[0].settled_ns, session_.windows[1].start_ns);
  EXPECT_TRUE(session_.ended);
}

// Two windows would each draw what lies in both.
TEST_F(Files, SpansOfOneProcessThatOverlapALittleAreOneWindow) {
  const auto all = import_all({one("a.json", 1), one("b.json", 1.3)});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]->operators.size(), 2u);
  ASSERT_EQ(session_.windows.size(), 1u);
  EXPECT_EQ(session_.windows[0].end_ns - session_.windows[0].start_ns, 800'000'001u);
}

TEST_F(Files, ACopyOfAFileIsTold) {
  ASSERT_EQ(import_all({one("a.json", 1), one("b.json", 1)}).size(), 2u);
  EXPECT_TRUE(has_note("both contain process 4000 at the same time"));
  EXPECT_FALSE(has_note("files in all"));
  ASSERT_EQ(import_all({one("a.json", 1), one("b.json", 1), one("c.json", 1)}).size(), 3u);
  EXPECT_TRUE(has_note("(2 files in all contain a process of another file)"));
}

TEST_F(Files, OfSeveralRecordingsAreTold) {
  // Of a process in a recording's window of this number, which lasts a second.
  const auto recorded = [this](const std::string& name, int second, int pid, int index = 0,
                               const std::string& host = "a") {
    return file(
        name,
        trace(complete("cpu_op", "op", 2000, 500, "", 100, pid),
              fmt::format(
                  R"("baseTimeNanoseconds":{},"gpuprof":{{"version":"1","host":"{}","pid":{},)"
                  R"("window":{{"index":{},"start_ns":5000000,"duration_ns":1000000000,)"
                  R"("first_step":0,"steps":0,"why":"x"}}}})",
                  1'700'000'000'000'000'000 + second * 1'000'000'000LL, host, pid, index)));
  };
  import_all({recorded("c.json", 20, 4002), recorded("b.json", 1, 4001),
              recorded("a.json", 1, 4000), recorded("d.json", 24, 4002, 1)});
  EXPECT_TRUE(has_note("the files come from 2 recordings"));
  EXPECT_TRUE(has_note(folder_ + "/c.json begin the first two)"));
  // Windows of one recording, one process recorded again, and two machines.
  import_all(
      {recorded("a.json", 1, 4000), recorded("b.json", 1, 4001), recorded("c.json", 20, 4002, 1)});
  EXPECT_FALSE(has_note("recordings"));
  import_all({recorded("a.json", 1, 4000), recorded("b.json", 20, 4000)});
  EXPECT_FALSE(has_note("recordings"));
  import_all({recorded("a.json", 1, 4000), recorded("b.json", 20, 4001, 0, "b")});
  EXPECT_FALSE(has_note("recordings"));
}

TEST_F(Files, RanksAtOnceAreProcessesOfOneWindow) {
  const auto all = import_all({one("r0.json", 1, "\"distributedInfo\":{\"rank\": 0}"),
                               one("r1.json", 1.1, "\"distributedInfo\":{\"rank\": 1}", 4001)});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(session_.windows.size(), 1u);
  EXPECT_EQ(session_.selected.size(), 2u);
  EXPECT_FALSE(has_note("both contain"));
}

TEST_F(Files, EqualNumbersOfTwoMachinesAreTwoProcesses) {
  const auto all = import_all(
      {one("a.json", 1, "\"host_name\":\"a\""), one("b.json", 1, "\"host_name\":\"b\"")});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_NE(session_.processes[0].pid, session_.processes[1].pid);
  EXPECT_TRUE(has_note("process 4000"));
}

TEST_F(Files, OneFileNamedTwiceIsOne) {
  const std::string path = one("a.json", 1);
  EXPECT_EQ(import_all({path, folder_ + "/./a.json"}).at(0)->operators.size(), 1u);
}

TEST_F(Files, SeveralProcessesInAFileAreTold) {
  const auto all = import_all({file(
      "a.json",
      trace(complete("cpu_op", "a", 1, 2, R"("External id":1)", 1, 4000) + "," +
            complete("runtime", "l", 1.5, 0.2, R"("External id":1,"correlation":1)", 1, 4000) +
            "," + complete("cpu_op", "b", 1, 2, R"("External id":1)", 1, 5000) + "," +
            complete("runtime", "l", 1.5, 0.2, R"("External id":1,"correlation":2)", 1, 5000) +
            "," +
            complete("kernel", "k", 5, 1, R"("device":0,"stream":7,"correlation":2)", 7, 0)))});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]->kernels.size(), 0u);
  ASSERT_EQ(all[1]->kernels.size(), 1u);
  EXPECT_EQ(all[1]->kernels[0].range, all[1]->op("b").id);
}

TEST_F(Files, SimulatedAndRealAreNotMixed) {
  const std::string device = "\"deviceProperties\":[{\"name\":\"A\"}]";
  const std::string failure = failure_of(
      {one("a.json", 1, device + ",\"simulated\":true"), one("b.json", 1, device, 4001)});
  EXPECT_NE(failure.find("simulated"), failure.npos) << failure;
}

TEST_F(Files, ProgressEndsWithAllBytes) {
  std::uint64_t last = 0, total = 0;
  const auto imported = importer::import_traces({one("a.json", 1), one("b.json", 9)},
                                                [&](std::uint64_t done, std::uint64_t all) {
                                                  EXPECT_GE(done, last);
                                                  last = done;
                                                  total = all;
                                                });
  ASSERT_TRUE(imported.ok());
  EXPECT_EQ(last, total);
  EXPECT_GT(total, 0u);
}

}  // namespace
}  // namespace gpuprof::test
