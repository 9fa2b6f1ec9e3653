// SPDX-License-Identifier: Apache-2.0
//
// Reports as they are printed.
#include "analysis/report/output/render.hpp"

#include "support/text/json.hpp"
#include "tests/unit/report/report_fixture.hpp"

namespace gpuprof::report {
namespace {

using test::ReportTest;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RenderTest : public ReportTest {
 protected:
  void record_one(std::uint32_t pid = kPid, const char* rank = nullptr, bool simulated = false) {
    record(
        [&](model::EventSink& to) {
          to.on(model::StringDef{1, "aten::mm"});
          if (rank != nullptr) to.on(model::Fact{"env.RANK", rank});
          if (simulated) to.on(model::Fact{"gpu.simulated", "1"});
          to.on(op(1, 1, 10, 100));
          to.on(kernel(0, 30, 90, 1));
        },
        pid);
  }
  support::Result<Report> report(const ReportOptions& options = {}) {
    return make_report(session_, {window_}, options);
  }
  std::string text(const RenderOptions& options) {
    auto made = report();
    EXPECT_TRUE(made.ok());
    auto out = render(made.value(), options);
    return out.ok() ? out.value() : "error: " + out.error().message;
  }
};

TEST_F(RenderTest, OperatorsArePrintedAsPyTorchPrintsThem) {
  record_one();
  RenderOptions options;
  options.by = "operator";
  EXPECT_THAT(text(options), HasSubstr("Self CPU time total: 90.000us\n"
                                       "Self CUDA time total: 60.000us\n"));
  EXPECT_THAT(text(options), HasSubstr("   Self CPU %      Self CPU   CPU total %"));
}

TEST_F(RenderTest, CuptisOwnTimeStandsApartFromTheOperators) {
  record([&](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::mm"});
    to.on(op(1, 1, 10, 100));
    to.on(kernel(0, 30, 90, 1));
    for (const std::uint64_t at_us : {20u, 40u})
      to.on(model::Overhead{kStart + at_us * 1000, kStart + at_us * 1000 + 2000, 7u << 16, 0, kPid,
                            0});
    to.on(model::Overhead{kStart + 60'000, kStart + 61'000, 1, 0, kPid + 1, 0});
  });
  const std::string overview = text({});
  EXPECT_THAT(overview, HasSubstr("Overhead  5.000us in CUPTI and the driver, not in any operator's"
                                  " self time: Activity Buffer Request 4.000us (2), Driver"));
  const auto table = overview.substr(overview.find("Operators by self"));
  EXPECT_THAT(table.substr(0, table.find("Overhead")), Not(HasSubstr("Activity Buffer")));
  RenderOptions operators;
  operators.by = "operator";
  EXPECT_THAT(text(operators), HasSubstr("Activity Buffer Request")) << "key_averages() has them";
}

TEST_F(RenderTest, WhatIsNotKnownIsNull) {
  record([](model::EventSink& to) {
    model::MemCopy copy{};
    copy.start_ns = kStart;
    copy.end_ns = kStart + 1000;
    to.on(copy);
  });
  RenderOptions copies;
  copies.by = "memcpy";
  copies.json = true;
  EXPECT_THAT(text(copies), AllOf(HasSubstr(R"("bytes": null)"), HasSubstr(R"("gb_per_s": null)")));
  copies.json = false;
  copies.csv = true;
  EXPECT_THAT(text(copies), HasSubstr(",,,"));
}

TEST_F(RenderTest, ADeviceThatOnlyGivesBackHasNoTimeOfAPeak) {
  record([](model::EventSink& to) { to.on(allocation(10, -512, 1, 0, 0)); });
  RenderOptions all;
  all.json = true;
  EXPECT_THAT(text(all), HasSubstr(R"("peak_at_ns": null)"));
}

TEST_F(RenderTest, TheSimulatedGpuIsAlwaysNamed) {
  record_one(kPid, nullptr, true);
  EXPECT_THAT(text({}), HasSubstr("on the simulated GPU"));
  RenderOptions kernels;
  kernels.by = "kernel";
  EXPECT_THAT(text(kernels), HasSubstr("on the simulated GPU"));
}

TEST_F(RenderTest, SimulatedAndRealDoNotMix) {
  record_one(kPid, "0", true);
  record_one(kPid + 1, "1", false);
  const auto made = report();
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("simulated"));
}

TEST_F(RenderTest, RanksAreSortedAndOneCanBeChosen) {
  record_one(kPid, "1");
  record_one(kPid + 1, "0");
  auto made = report();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(0, made.value().processes[0].meta.rank);
  ReportOptions options;
  options.rank = 1;
  EXPECT_EQ(1u, report(options).value().processes.size());
  options.rank = 7;
  EXPECT_THAT(report(options).error().message, HasSubstr("recorded ranks: 1 and 0"));
}

TEST_F(RenderTest, CsvHasALineOfKeysAndQuotesWhereNeeded) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "a \"b\", c"});
    model::Kernel k = kernel(0, 30, 90);
    k.name = 1;
    to.on(k);
  });
  RenderOptions options;
  options.by = "kernel";
  options.csv = true;
  options.columns = {"total_ns", "name"};
  EXPECT_EQ("total_ns,name\r\n60000,\"a \"\"b\"\", c\"\r\n", text(options));
}

TEST_F(RenderTest, CsvHoldsNoFormulaAndNumbersStayNumbers) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "=1+1"});
    model::Operator one = op(1, 1, 20, 100);
    to.on(one);
    model::Allocation back = allocation(50, -512, 4096, 0);
    to.on(back);
  });
  RenderOptions options;
  options.by = "operator";
  options.csv = true;
  options.columns = {"name", "cpu_memory_usage", "count"};
  EXPECT_THAT(text(options), HasSubstr("\r\n'=1+1,-512,1\r\n"));
}

TEST_F(RenderTest, JsonIsUtf8WhateverTheNames) {
  session_.host = "h\xff";
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "a\xff"});
    to.on(op(1, 1, 20, 100));
    to.on(model::Fact{"odd\xff", "\xed\xb2\x80"});
  });
  RenderOptions options;
  options.json = true;
  EXPECT_TRUE(support::is_utf8(text(options)));
  options.by = "operator";
  EXPECT_THAT(text(options), HasSubstr("a\xef\xbf\xbd"));
}

TEST_F(RenderTest, JsonHoldsEveryTable) {
  record_one(kPid, "3");
  RenderOptions options;
  options.json = true;
  const auto parsed = support::parse_json(text(options));
  ASSERT_TRUE(parsed.ok());
  const auto& process = parsed.value()["processes"][0];
  EXPECT_EQ(3, process["rank"].GetInt());
  EXPECT_EQ(60'000, process["tables"]["kernel"][0]["total_ns"].GetInt());
  EXPECT_EQ(2u, process["tables"]["operator"].Size());
}

TEST_F(RenderTest, ATableWithoutRowsSaysSo) {
  record_one();
  RenderOptions options;
  options.by = "nccl";
  EXPECT_EQ("no collective was recorded\n", text(options));
}

TEST_F(RenderTest, NothingRecordedIsAnError) {
  record([](model::EventSink&) {});
  EXPECT_THAT(report().error().message, HasSubstr("the recording contains no events"));
}

TEST(RenderCheck, BadWordsAreRefusedBeforeAnythingIsRead) {
  RenderOptions options;
  options.by = "kernels";
  EXPECT_THAT(check(options).error().message, HasSubstr("did you mean kernel?"));
  options.by = "operator";
  options.sort_by = "self_cpu_time";
  EXPECT_THAT(check(options).error().message, HasSubstr("keys are self_cpu_time_total"));
  options.sort_by = "Self CPU";
  EXPECT_TRUE(check(options).ok());
  options.sort_by = "device_time_total";
  EXPECT_TRUE(check(options).ok());
  options.by = "kernel";
  options.sort_by = "nonsense";
  EXPECT_THAT(check(options).error().message, HasSubstr("total_ns"));
  options.sort_by.clear();
  options.json = options.csv = true;
  EXPECT_FALSE(check(options).ok());
}

}  // namespace
}  // namespace gpuprof::report
