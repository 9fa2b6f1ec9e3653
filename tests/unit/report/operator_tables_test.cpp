// SPDX-License-Identifier: Apache-2.0
//
// Rows of operators: self times, memory, GPU time, as PyTorch's tables count them.
#include "analysis/report/aggregation/operator_tables.hpp"

#include "tests/unit/report/report_fixture.hpp"

namespace gpuprof::report {
namespace {

using test::ReportTest;
using testing::ElementsAre;

class OperatorsTest : public ReportTest {};

TEST_F(OperatorsTest, SelfTimeLeavesOutOperatorsAndCallsInside) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::linear"});
    to.on(model::StringDef{2, "aten::addmm"});
    to.on(model::StringDef{3, "cudaLaunchKernel"});
    model::ApiCall launch = call(7, 30, 35, 2);
    launch.name = 3;
    to.on(launch);
    to.on(child(op(2, 2, 20, 60), 1));
    to.on(op(1, 1, 10, 100));
    model::Kernel k = kernel(7, 50, 90, 2);
    k.name = 2;
    to.on(k);
  });
  ProcessReport a = analysis();
  const OperatorRow outer = row(a, "aten::linear"), inner = row(a, "aten::addmm");
  EXPECT_EQ(90'000, outer.cpu_ns);
  EXPECT_EQ(50'000, outer.self_cpu_ns);
  EXPECT_EQ(40'000, outer.device_ns);
  EXPECT_EQ(0, outer.self_device_ns);
  EXPECT_EQ(35'000, inner.self_cpu_ns);
  EXPECT_EQ(40'000, inner.self_device_ns);
  EXPECT_EQ(5'000, row(a, "cudaLaunchKernel").self_cpu_ns);
  EXPECT_EQ(40'000, row(a, "aten::addmm", true).device_ns) << "the kernel has a row of its own";
  EXPECT_EQ(90'000, a.operators.self_cpu_ns);
  EXPECT_EQ(40'000, a.operators.self_device_ns);
}

TEST_F(OperatorsTest, AnOperatorThatOnlyCallsItsEqualIsOneWithIt) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::add"});
    to.on(child(op(2, 1, 20, 60), 1));
    to.on(op(1, 1, 10, 100));
    model::Kernel k = kernel(0, 50, 90, 2);
    to.on(k);
  });
  ProcessReport a = analysis();
  const OperatorRow add = row(a, "aten::add");
  EXPECT_EQ(1u, add.count);
  EXPECT_EQ(90'000, add.self_cpu_ns);
  EXPECT_EQ(40'000, add.self_device_ns);
}

TEST_F(OperatorsTest, MemoryIsWhatWasTakenMeanwhileOnAnyThread) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "outer"});
    to.on(model::StringDef{2, "inner"});
    to.on(allocation(5, 64, 1, 64));
    to.on(allocation(15, 100, 2, 164));
    model::Allocation elsewhere = allocation(25, 1000, 3, 1164);
    elsewhere.tid = kPid + 1;
    to.on(elsewhere);
    to.on(allocation(30, 4096, 4, 4096, 0));
    to.on(child(op(2, 2, 20, 40), 1));
    to.on(allocation(50, -100, 2, 1064));
    to.on(op(1, 1, 10, 60));
  });
  ProcessReport a = analysis();
  const OperatorRow outer = row(a, "outer"), inner = row(a, "inner");
  EXPECT_EQ(1000, outer.cpu_bytes);
  EXPECT_EQ(0, outer.self_cpu_bytes);
  EXPECT_EQ(1000, inner.self_cpu_bytes);
  EXPECT_EQ(4096, inner.device_bytes);
  const OperatorRow alone = row(a, "[memory]");
  EXPECT_EQ(1u, alone.count) << "only the one outside of everything";
  EXPECT_EQ(64, alone.cpu_bytes);
  EXPECT_TRUE(a.operators.has_memory);
}

TEST_F(OperatorsTest, ShapesMakeRowsOnlyWhereAsked) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::relu"});
    to.on(op(1, 1, 10, 20));
    to.on(op(2, 1, 30, 50));
  });
  ProcessReport a = analysis();
  a.operators.rows[0].shapes = "[[2, 3]]";
  a.operators.rows.push_back(a.operators.rows[0]);
  a.operators.rows[1].shapes = "[[4]]";
  EXPECT_EQ(1u, group(a.operators.rows, {}, a.stack_table).size());
  EXPECT_EQ(2u, group(a.operators.rows, {true, 0}, a.stack_table).size());
}

TEST_F(OperatorsTest, StepsAndRangesOfTheProgramHaveRowsOnTheGpuToo) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "forward"});
    to.on(step(4, 10, 200));
    model::Operator forward = op(1, 1, 20, 100);
    forward.scope = model::kScopeUser;
    to.on(call(7, 30, 35, 1));
    to.on(call(8, 40, 45, 1));
    to.on(forward);
    to.on(kernel(7, 50, 60, 1));
    to.on(kernel(8, 70, 90, 1));
  });
  ProcessReport a = analysis();
  EXPECT_EQ(190'000, row(a, "ProfilerStep*").cpu_ns);
  EXPECT_EQ(40'002, row(a, "forward", true).device_ns) << "around both, a nanosecond more each end";
  EXPECT_EQ(30'000, a.operators.self_device_ns) << "such rows do not count as GPU work";
}

TEST_F(OperatorsTest, TimesOfEachStepAddUp) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::mm"});
    to.on(step(0, 0, 100));
    to.on(op(1, 1, 10, 30));
    to.on(step(1, 100, 200));
    to.on(op(2, 1, 110, 120));
    to.on(op(3, 1, 130, 135));
  });
  const ProcessReport a = analysis();
  const auto& all = a.operators.by_step;
  const auto mm =
      std::find_if(all.begin(), all.end(), [](const auto& one) { return one.name == "aten::mm"; });
  ASSERT_NE(all.end(), mm);
  EXPECT_THAT(mm->self_cpu_ns, ElementsAre(20'000, 15'000));
}

TEST_F(OperatorsTest, CallsOfPythonTakeTheirTimeFromWhatTheyAreIn) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "Optimizer.step#SGD.step"});
    to.on(model::StringDef{2, "aten::add_"});
    to.on(child(op(2, 2, 40, 50), 1));
    to.on(op(1, 1, 10, 100));
  });
  ProcessReportOptions options;
  options.python_calls.push_back({kPid, kPid, kStart + 20'000, kStart + 90'000});
  ProcessReport a = analysis(options);
  EXPECT_EQ(20'000, row(a, "Optimizer.step#SGD.step").self_cpu_ns);
  EXPECT_EQ(2u, a.operators.rows.size()) << "they have no row";
}

TEST_F(OperatorsTest, OnlyTheStepsAskedForCount) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::mm"});
    to.on(step(5, 0, 100));
    to.on(op(1, 1, 10, 30));
    to.on(step(6, 100, 200));
    to.on(op(2, 1, 110, 120));
  });
  ProcessReportOptions options;
  options.steps = StepRange{6, 6};
  ProcessReport a = analysis(options);
  EXPECT_EQ(10'000, row(a, "aten::mm").cpu_ns);
  options.steps = StepRange{8, 9};
  const auto none = analyze_process(session_, session_.processes.at(0), {window_}, options);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(std::string::npos, none.error().message.find("no step from 8 to 9"));
}

}  // namespace
}  // namespace gpuprof::report
