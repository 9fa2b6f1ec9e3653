// SPDX-License-Identifier: Apache-2.0
//
// Lines of the program, where operators were called, threads.
#include "analysis/report/aggregation/host_tables.hpp"

#include "tests/unit/report/report_fixture.hpp"

namespace gpuprof::report {
namespace {

using test::ReportTest;

class HostTablesTest : public ReportTest {};

TEST_F(HostTablesTest, ALineIsTheInnermostFrameOfTheProgramItself) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::linear"});
    to.on(model::StringDef{2, "aten::addmm"});
    define_stack(to, 9, "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py", 125,
                 "/home/me/train.py", 42);
    to.on(step(0, 0, 500));
    to.on(call(7, 30, 40, 2));
    to.on(allocation(25, 512, 1, 512));
    to.on(child(op(2, 2, 20, 60), 1));
    model::Operator linear = op(1, 1, 10, 100);
    linear.stack = 9;
    to.on(linear);
    to.on(kernel(7, 50, 90, 2));
  });
  const ProcessReport a = analysis();
  ASSERT_EQ(1u, a.host.lines.size());
  const LineRow& line = a.host.lines[0];
  EXPECT_EQ("/home/me/train.py:42", a.stack_table.frames[line.frame].location_text());
  EXPECT_EQ(1u, line.costs.operators) << "the outermost one";
  EXPECT_EQ(90'000u, line.costs.operator_ns);
  EXPECT_EQ(40'000u, line.costs.gpu_ns);
  EXPECT_EQ(512u, line.costs.allocated_bytes);
  EXPECT_EQ(1u, line.costs.steps);
  ASSERT_EQ(1u, a.host.sites.size());
  EXPECT_EQ("aten::linear", a.host.sites[0].name);
  EXPECT_EQ(1u, a.host.sites[0].costs.launches);
}

TEST_F(HostTablesTest, SamplesCountForTheLineTheyAreOn) {
  record([](model::EventSink& to) {
    define_stack(to, 9, "/home/me/train.py", 7, "/home/me/main.py", 3);
    define_stack(to, 10, "/usr/lib/python3.11/threading.py", 300, "/home/me/train.py", 7);
    to.on(model::Sample{kStart + 10, 1000, kPid, 9, 0});
    to.on(model::Sample{kStart + 20, 1000, kPid, 9, 0});
    to.on(model::Sample{kStart + 30, 500, kPid, 10, 1});
  });
  const ProcessReport a = analysis();
  ASSERT_EQ(1u, a.host.lines.size());
  EXPECT_EQ(2u, a.host.lines[0].costs.samples);
  EXPECT_EQ(2u, a.host.lines[0].costs.self_samples);
  EXPECT_EQ(2000u, a.host.lines[0].costs.cpu_ns);
  EXPECT_EQ(500u, a.host.lines[0].costs.blocked_ns);
  ASSERT_EQ(1u, a.host.threads.size());
  EXPECT_EQ(2u, a.host.threads[0].samples);
  EXPECT_EQ(1u, a.host.threads[0].off_cpu_samples);
}

TEST_F(HostTablesTest, ARecordingLastsAsLongAsItsLastStack) {
  record([](model::EventSink& to) {
    define_stack(to, 9, "/home/me/train.py", 7, "/home/me/main.py", 3);
    to.on(model::Sample{kStart + 10, 500, kPid, 9, 0});
  });
  const Meta meta = analysis().meta;
  EXPECT_EQ(500u, meta.end_ns - meta.start_ns);
}

TEST_F(HostTablesTest, BackwardOperatorsOnAnotherThreadHaveTheLineOfTheForward) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::mm"});
    to.on(model::StringDef{2, "MmBackward0"});
    define_stack(to, 9, "/home/me/net.py", 12, "/home/me/train.py", 42);
    model::Operator forward = op(1, 1, 10, 20);
    forward.stack = 9;
    forward.sequence = 77;
    to.on(forward);
    model::Operator backward = op(2, 2, 50, 80);
    backward.sequence = 77;
    backward.scope = model::kScopeBackward;
    backward.forward_tid = kPid;
    backward.tid = backward.end_tid = kPid + 5;
    to.on(backward);
  });
  const ProcessReport a = analysis();
  ASSERT_EQ(1u, a.host.lines.size());
  EXPECT_EQ("/home/me/net.py:12", a.stack_table.frames[a.host.lines[0].frame].location_text());
  EXPECT_EQ(40'000u, a.host.lines[0].costs.operator_ns);
}

TEST(Places, KnowWhatIsTheProgramsOwn) {
  EXPECT_TRUE(is_user_code_file("/home/me/train.py"));
  EXPECT_TRUE(is_user_code_file("train.py"));
  EXPECT_FALSE(is_user_code_file("/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py"));
  EXPECT_FALSE(is_user_code_file("/usr/lib/python3.12/threading.py"));
  EXPECT_FALSE(is_user_code_file("torch/nn/modules/module.py"));
  EXPECT_FALSE(is_user_code_file("threading.py"));
  EXPECT_FALSE(is_user_code_file("<frozen importlib._bootstrap>"));
  EXPECT_TRUE(is_user_code_file("/home/me/lib/python3.11x/own.py"));
}

TEST_F(HostTablesTest, IdsThatNobodyDefinesTakeNoRoom) {
  record([](model::EventSink& to) {
    model::Operator lost = op(1, ~0u, 10, 20);
    lost.stack = ~0u;
    lost.inputs = ~0u;
    to.on(lost);
    lost = op(2, 0x7fffffff, 30, 40);
    lost.stack = lost.inputs = 0x7fffffff;
    to.on(lost);
    model::ApiCall lost_call = call(7, 50, 60);
    lost_call.name = ~0u;
    to.on(lost_call);
  });
  const ProcessReport a = analysis();
  EXPECT_EQ(2u, a.operators.rows.size()) << "operators, and the call, of one name";
}

}  // namespace
}  // namespace gpuprof::report
