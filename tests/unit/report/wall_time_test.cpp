// SPDX-License-Identifier: Apache-2.0
//
// All of the recorded time is in one row, and no time is in two.
#include "analysis/report/wall_time/wall_time.hpp"

#include "analysis/report/output/render.hpp"
#include "support/text/json.hpp"
#include "tests/unit/report/report_fixture.hpp"

namespace gpuprof::report {
namespace {

using test::ReportTest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr std::uint64_t kWallUs = 1000;

class WallTest : public ReportTest {
 protected:
  static std::vector<std::pair<WallPhase, std::uint64_t>> rows(const ProcessReport& a) {
    std::vector<std::pair<WallPhase, std::uint64_t>> rows;
    std::uint64_t sum = 0;
    for (const WallTimeRow& row : a.wall.rows) {
      rows.emplace_back(row.part, row.ns);
      sum += row.ns;
    }
    EXPECT_EQ(sum, a.wall.recorded_ns);
    return rows;
  }
  /// A first step of 300 us, then `more` of 20 us each, a pause of 100 us after the third of all.
  void record_training(std::uint64_t more, std::uint64_t first_number = 0) {
    record([&](model::EventSink& to) {
      to.on(model::StringDef{1, "aten::mm"});
      std::uint64_t at = 100;
      for (std::uint64_t i = 0; i <= more; ++i) {
        const std::uint64_t us = i == 0 ? 300 : 20;
        model::Step made = step(first_number + i, at, at + us);
        made.label = first_number + i + 1;
        to.on(made);
        to.on(op(10 + i, 1, static_cast<std::int64_t>(at), static_cast<std::int64_t>(at + us)));
        at += us + (i == 2 ? 100 : 0);
      }
    });
  }
};

TEST_F(WallTest, RowsAddUpToTheWindow) {
  record_training(9);
  const ProcessReport a = analysis();
  EXPECT_THAT(
      rows(a),
      ElementsAre(Pair(WallPhase::kStart, 100 * kWallUs), Pair(WallPhase::kWarmUp, 300 * kWallUs),
                  Pair(WallPhase::kSteps, 180 * kWallUs), Pair(WallPhase::kBetween, 100 * kWallUs),
                  Pair(WallPhase::kEnd, 320 * kWallUs)));
  EXPECT_EQ(1'000 * kWallUs, a.meta.recorded_ns)
      << "the window, not from the first event to the last";
  EXPECT_EQ(9u, a.wall.rows[2].count);
  EXPECT_EQ(1u, a.wall.rows[3].count);
}

TEST_F(WallTest, TheFirstStepIsInNoMean) {
  record_training(9);
  const ProcessReport a = analysis();
  EXPECT_EQ(9u, a.steps.counted);
  EXPECT_EQ(1u, a.steps.warm_up);
  EXPECT_TRUE(a.steps.steps[0].warm_up);
  EXPECT_DOUBLE_EQ(20'000, a.steps.length.mean_ns);
  EXPECT_EQ(9u, a.step_thread.steps.size());
  EXPECT_EQ(1u, a.step_thread.warm_up.size());
}

TEST_F(WallTest, TheFirstStepOfALaterWindowIsOneOfThem) {
  record_training(9, 50);
  const ProcessReport a = analysis();
  EXPECT_EQ(10u, a.steps.counted);
  EXPECT_EQ(0u, a.steps.warm_up);
  EXPECT_DOUBLE_EQ(48'000, a.steps.length.mean_ns);
}

TEST_F(WallTest, OfWindowsWithOneStepTheNextOnesSayWhatIsUsual) {
  record_training(5);
  model::Window first = window_, second = window_;
  first.end_ns = second.start_ns = kStart + 400 * kWallUs;
  second.index = 1;
  const auto made = analyze_process(session_, session_.processes.at(0), {first, second}, {});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(1u, made.value().steps.warm_up);
  EXPECT_DOUBLE_EQ(20'000, made.value().steps.length.mean_ns);
  rows(made.value());
}

TEST_F(WallTest, OfSomeStepsOnlyTheirTimeIsRecorded) {
  record_training(9);
  report::ProcessReportOptions options;
  options.steps = StepRange{3, 5};
  const ProcessReport a = analysis(options);
  EXPECT_THAT(rows(a), ElementsAre(Pair(WallPhase::kSteps, 60 * kWallUs),
                                   Pair(WallPhase::kBetween, 100 * kWallUs)));
}

TEST_F(WallTest, WithoutStepsAllIsOneRow) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::mm"});
    to.on(op(1, 1, 10, 60));
  });
  EXPECT_THAT(rows(analysis()), ElementsAre(Pair(WallPhase::kNoStepsAtAll, 1'000 * kWallUs)));
}

TEST_F(WallTest, GpuWorkOfTheLastStepLengthensTheRecording) {
  record([](model::EventSink& to) {
    to.on(step(0, 500, 1000));
    to.on(call(1, 990, 995));
    to.on(kernel(1, 996, 1200));
  });
  EXPECT_THAT(rows(analysis()), ElementsAre(Pair(WallPhase::kStart, 500 * kWallUs),
                                            Pair(WallPhase::kSteps, 700 * kWallUs)));
}

TEST_F(WallTest, GpuFiguresAreThoseOfStepsThatCount) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "gemm"});
    std::uint64_t at = 0;
    for (std::uint32_t i = 0; i < 8; ++i) {
      const std::uint64_t us = i == 0 ? 400 : 20;
      to.on(step(i, at, at + us));
      to.on(call(i + 1, at + 1, at + 2));
      to.on(kernel(i + 1, at + 5, at + 15));
      at += us;
    }
  });
  const ProcessReport a = analysis();
  ASSERT_EQ(1u, a.steps.warm_up);
  ASSERT_EQ(1u, a.steps.gpus.size());
  EXPECT_DOUBLE_EQ(0.5, a.steps.gpus[0].utilisation) << "with the first step it was 0.15";
  EXPECT_EQ(7u, a.steps.gpus[0].kernels);
  EXPECT_EQ(7u, a.gpu.launches);
  ASSERT_EQ(1u, a.gpu.kernels.size());
  EXPECT_EQ(8u, a.gpu.kernels[0].time.count);
  EXPECT_EQ(10 * kWallUs, a.gpu.kernels[0].warm_up_ns);
}

TEST_F(WallTest, TextAndJsonHoldTheSameSums) {
  record_training(9);
  auto made = make_report(session_, {window_}, {});
  ASSERT_TRUE(made.ok());
  const std::string text = render(made.value(), {}).value();
  EXPECT_THAT(text, HasSubstr("Recorded  1 ms"));
  EXPECT_THAT(text, HasSubstr("Before the first step   100.000us   10.0%"));
  EXPECT_THAT(text, HasSubstr("First step              300.000us   30.0%  1 step\n"));
  EXPECT_THAT(text, HasSubstr("Between steps           100.000us   10.0%  1 pause\n"));
  EXPECT_THAT(text, HasSubstr("Steps     9 of 10: mean 20.000us"));
  EXPECT_THAT(text, HasSubstr("Step 1 is a warm-up step: 300.000us"));
  RenderOptions options;
  options.json = true;
  const auto json = support::parse_json(render(made.value(), options).value());
  ASSERT_TRUE(json.ok());
  const auto& process = json.value()["processes"][0];
  EXPECT_EQ(1'000'000, process["duration_ns"].GetInt());
  EXPECT_EQ(1, process["step_summary"]["warm_up"].GetInt());
  std::int64_t sum = 0;
  for (const auto& row : process["tables"]["wall"].GetArray()) sum += row["time_ns"].GetInt64();
  EXPECT_EQ(1'000'000, sum);
  EXPECT_STREQ("first_step", process["tables"]["wall"][1]["part"].GetString());
}

}  // namespace
}  // namespace gpuprof::report
