// SPDX-License-Identifier: Apache-2.0
//
// Several ranks in one file, and frames of Python by their ids.
#include "tests/unit/import/import_fixture.hpp"

namespace gpuprof::test {
namespace {

class Ranks : public ImportTest {
 protected:
  static std::string with_pid(std::string event, const std::string& pid) {
    const std::size_t at = event.find("\"pid\":");
    return event.replace(at, event.find(',', at) - at, "\"pid\":" + pid);
  }

  /// An operator, its launch and its kernel; all ranks have the same numbers.
  static std::string one_rank(const std::string& host, const std::string& gpu,
                              const std::string& name, double at) {
    return with_pid(complete("cpu_op", name, at, 9, R"("External id":5)"), host) + "," +
           with_pid(
               complete("cuda_runtime", "launch", at + 2, 1, R"("External id":5,"correlation":9)"),
               host) +
           "," +
           with_pid(complete("kernel", "k_" + name, at + 20, 5,
                             R"("External id":5,"correlation":9,"device":0,"stream":7)", 7),
                    gpu);
  }

  static std::string frame(const std::string& name, double at, double length,
                           const std::string& ids) {
    return complete("python_function", name, at, length, ids);
  }
};

void expect_own_kernels(const std::vector<std::unique_ptr<CollectedSession>>& all,
                        const std::string& what) {
  ASSERT_EQ(all.size(), 2u) << what;
  for (const auto& told : all) {
    ASSERT_EQ(told->kernels.size(), 1u) << what;
    ASSERT_EQ(told->operators.size(), 1u) << what;
    EXPECT_EQ(told->names[told->kernels[0].name], "k_" + told->named[told->operators[0].id])
        << what;
    EXPECT_EQ(told->kernels[0].range, told->operators[0].id) << what;
  }
}

TEST_F(Ranks, KernelsGoToTheirOwnLaunches) {
  const std::vector<std::pair<std::string, std::string>> forms[] = {
      {{"\"[TP0] 10\"", "\"[TP0] 0\""}, {"\"[TP1] 10\"", "\"[TP1] 0\""}},
      {{"1000010", "1000000"}, {"2000010", "2000000"}},
      {{"1000", "0"}, {"1001", "0"}},
      {{"1000", "0"}, {"1001", "1"}}};
  for (const auto& form : forms) {
    const std::string one = one_rank(form[0].first, form[0].second, "a", 1);
    const std::string two = one_rank(form[1].first, form[1].second, "b", 1.5);
    expect_own_kernels(import_all({file("a.json", trace(one + "," + two))}), form[0].first);
  }
}

TEST_F(Ranks, ALabelTellsTheRank) {
  const auto all =
      import_all({file("a.json", trace(one_rank("\"[TP0] 10\"", "\"[TP0] 0\"", "a", 1) + "," +
                                           one_rank("\"[TP1] 10\"", "\"[TP1] 0\"", "b", 1),
                                       R"("distributedInfo":{"rank":0,"world_size":2})"))});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]->facts["rank"], "0");
  EXPECT_EQ(all[1]->facts["rank"], "1");
  EXPECT_TRUE(has_note("another process has the same id"));
}

TEST_F(Ranks, ALabelBehindTheNumberIsOneToo) {
  const std::pair<const char*, const char*> forms[] = {
      {"_rank", ""}, {"-rank", ""}, {" (rank ", ")"}, {" [Rank", "]"}, {"_worker_", ""}};
  for (const auto& [word, end] : forms) {
    const std::string form = std::string("83") + word + "3" + end;
    const auto label = [word = word, end = end](int pid, int rank) {
      return "\"" + std::to_string(pid) + word + std::to_string(rank) + end + "\"";
    };
    const auto all =
        import_all({file("a.json", trace(one_rank(label(83, 3), label(0, 3), "a", 1) + "," +
                                         one_rank(label(84, 4), label(0, 4), "b", 1.5)))});
    expect_own_kernels(all, form);
    EXPECT_EQ(session_.processes[0].pid, 83u) << form;
    EXPECT_EQ(session_.processes[1].pid, 84u) << form;
    EXPECT_EQ(all[0]->facts["rank"], "3") << form;
    EXPECT_EQ(all[1]->facts["rank"], "4") << form;
  }
}

TEST_F(Ranks, OneRankForAllIsNobodys) {
  const auto all = import_all(
      {file("a.json", trace(one_rank("1000", "0", "a", 1) + "," + one_rank("1001", "1", "b", 1),
                            R"("distributedInfo":{"rank":0,"world_size":2})"))});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_FALSE(all[0]->facts.contains("rank"));
  EXPECT_TRUE(has_note("states only one rank"));
}

TEST_F(Ranks, AFrameIsOverWithItsCaller) {
  const auto told = import_events(
      frame("a.py(1): main", 1, 90, "") + "," + frame("a.py(2): load", 2, 10, "") + "," +
      frame("<built-in acquire>", 3, 80, "") + "," + frame("a.py(9): step", 20, 10, "") + "," +
      complete("cpu_op", "aten::mm", 21, 2));
  EXPECT_EQ(told->stack(told->op("aten::mm").stack), "a.py(9): step;a.py(1): main");
}

TEST_F(Ranks, IdsOfFramesTellWhoCalled) {
  const auto told = import_events(
      frame("a.py(1): main", 1, 90, R"("Python id":1,"Python parent id":null)") + "," +
      frame("<built-in acquire>", 3, 80, R"("Python id":2,"Python parent id":1)") + "," +
      frame("a.py(9): step", 20, 10, R"("Python id":3,"Python parent id":1)") + "," +
      complete("cpu_op", "aten::mm", 21, 2) + "," +
      frame("a.py(50): other", 40, 10, R"("Python id":4,"Python parent id":null)") + "," +
      complete("cpu_op", "aten::add", 41, 2));
  EXPECT_EQ(told->stack(told->op("aten::mm").stack), "a.py(9): step;a.py(1): main");
  EXPECT_EQ(told->stack(told->op("aten::add").stack), "a.py(50): other");
}

TEST_F(Ranks, RoundedChildrenKeepTheirLength) {
  const auto told =
      import_events(complete("cpu_op", "top", 10, 11) + "," + complete("cpu_op", "outer", 10, 10) +
                    "," + complete("cpu_op", "inner", 11, 10));
  EXPECT_EQ(told->op("inner").parent, told->op("outer").id);
  EXPECT_EQ(told->op("inner").end_ns - told->op("inner").start_ns, 10'000u);
}

}  // namespace
}  // namespace gpuprof::test
