// SPDX-License-Identifier: Apache-2.0
//
// XPlane files: which rows events come to lie on, and how they are called.
#include <random>

#include "tests/unit/export/xplane_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(XplaneTest, WhatALaunchInheritsIsOnOneRowWithIt) {
  record([](model::EventSink& to) {
    model::Kernel k = kernel(7, 50, 90, 2);
    k.name = 2;
    model::ApiCall c = call(7, 25, 30, 2);
    c.name = 3;
    to.on(c);
    send_step(to, k, op(2, 1, 20, 40));
    model::Step s = step(3, 10, 95);
    s.label = 12;
    to.on(s);
  });
  write();
  expect_sorted_and_nested();
  const FlatEvent train = named("train").at(0), op = named("aten::mm").at(0),
                  launch = named("LaunchKernel").at(0), run = named("add(float*)").at(0);
  for (const FlatEvent& event : {op, launch}) EXPECT_EQ(event.line, train.line);
  EXPECT_EQ(train.stat("_r"), "1");
  EXPECT_EQ(train.stat("step_num"), "12");
  EXPECT_EQ(launch.shown, "cudaLaunchKernel");
  EXPECT_EQ(launch.stat("correlation_id"), "7");
  EXPECT_EQ(launch.stat("device_id"), "0");
  EXPECT_EQ(run.plane, "/device:GPU:0");
  EXPECT_EQ(run.line, "Stream #7(Compute)");
  EXPECT_EQ(run.stat("correlation_id"), "7");
  EXPECT_EQ(run.stat("tf_op"), "MatMul:aten_mm");
  EXPECT_EQ(op.stat("tf_op"), "MatMul:aten_mm");
  EXPECT_THAT(run.stat("kernel_details"), HasSubstr("grid:1,1,1 block:1,1,1"));
  EXPECT_EQ(run.start_ps, 50'000'000u);
  EXPECT_EQ(run.end_ps, 90'000'000u);
}

TEST_F(XplaneTest, AStepReachesIntoEachGpusPlaneAndOtherThreads) {
  record([](model::EventSink& to) {
    model::Operator other = op(5, 1, 30, 40);
    other.tid = other.end_tid = kPid + 1;
    to.on(call(7, 35, 36, 5));
    send_step(to, kernel(7, 50, 60, 5), other);
    to.on(step(0, 10, 95));
  });
  write();
  const std::string step = named("train").at(0).stat("_p");
  const FlatEvent window = named("step window").at(0);
  EXPECT_EQ(window.plane, "/device:GPU:0");
  EXPECT_EQ(window.stat("_c"), step);
  EXPECT_EQ(window.stat("correlation_id"), "none");
  EXPECT_EQ(window.end_ps - window.start_ps, 85'000'000u);
  EXPECT_EQ(named("aten::mm").at(0).stat("_c"), step);
  EXPECT_EQ(named("aten::mm").at(0).stat("_ct"), "0");
}

TEST_F(XplaneTest, AWindowOnAGpuWaitsForTheWorkOfTheStepsBefore) {
  record([](model::EventSink& to) {
    for (const auto& [number, from_us, launched_us, run_us] :
         std::initializer_list<std::array<std::uint32_t, 4>>{
             {0, 0, 90, 120}, {1, 100, 110, 350}, {2, 200, 210, 370}, {3, 360, 365, 380}}) {
      to.on(call(number + 1, launched_us, launched_us + 1));
      to.on(kernel(number + 1, run_us, run_us + 5));
      to.on(step(number, from_us, number == 3 ? 400 : from_us + 100));
    }
  });
  write();
  std::vector<std::array<std::uint64_t, 2>> windows;
  for (const FlatEvent& event : named("step window"))
    windows.push_back({event.start_ps / 1000, event.end_ps / 1000});
  // What step 2 was on the host, the GPU worked for step 1: its kernels alone make it.
  EXPECT_THAT(windows, ElementsAre(std::array<std::uint64_t, 2>{0, 100'000},
                                   std::array<std::uint64_t, 2>{120'001, 200'000},
                                   std::array<std::uint64_t, 2>{370'001, 400'000}));
}

TEST_F(XplaneTest, OperatorsAreCalledByTheRangesAroundThem) {
  record([](model::EventSink& to) {
    for (const auto& [id, text] : std::initializer_list<std::pair<model::StringId, const char*>>{
             {4, "layer1"}, {5, "att n"}, {6, "aten::bmm"}, {7, "aten::add_"}, {8, "fwd/ffn"}})
      to.on(model::StringDef{id, text});
    for (const auto& [id, name, parent] :
         std::initializer_list<std::array<std::uint32_t, 3>>{{10, 4, 0}, {11, 5, 10}, {15, 8, 0}}) {
      model::Range r = range(id, 10 + id, 200 - id);
      if (id == 15) r = range(id, 300, 400);
      r.name = name;
      r.parent = parent;
      to.on(r);
    }
    for (const auto& [id, name] :
         std::initializer_list<std::pair<model::RangeId, model::StringId>>{{20, 6}, {21, 7}}) {
      model::Operator o = op(id, name, 10 + static_cast<std::int64_t>(id) * 2,
                             11 + static_cast<std::int64_t>(id) * 2);
      o.parent = 11;
      to.on(o);
      to.on(kernel(static_cast<std::uint32_t>(id), 500 + id, 501 + id, id));
    }
    to.on(kernel(1, 600, 601, 15));
    to.on(kernel(2, 700, 701));
  });
  write();
  std::set<std::string> ops;
  for (const FlatEvent& event : events_)
    if (event.plane == "/device:GPU:0") ops.insert(event.stat("tf_op"));
  EXPECT_THAT(
      ops, ElementsAre("fwd/ffn:nvtx_range", "layer1/att_n/BatchMatMul:aten_bmm",
                       "layer1/att_n/add_:aten_add_", "unattributed/launch_not_seen:cuda_launch"));
}

TEST_F(XplaneTest, CopiesHaveTheNamesAndBytesThatTheTablesLookFor) {
  record([](model::EventSink& to) {
    for (const std::uint8_t kind : {1, 2, 8, 10}) {
      model::MemCopy c{};
      c.start_ns = kStart + kind * 1000;
      c.end_ns = c.start_ns + 500;
      c.bytes = 4096;
      c.copy_kind = kind;
      c.src_kind = 2;
      c.dst_kind = 3;
      c.stream = 7;
      c.correlation = kind;
      to.on(c);
    }
  });
  write();
  EXPECT_THAT(named("MemcpyHToD"), SizeIs(1));
  EXPECT_THAT(named("MemcpyDToH"), SizeIs(1));
  EXPECT_THAT(named("MemcpyDToD"), SizeIs(2));
  EXPECT_EQ(named("MemcpyHToD").at(0).stat("memcpy_details"),
            "kind_src:pinned\nkind_dst:device\nnum_bytes:4096\ndest:0\nasync:0");
  EXPECT_EQ(named("MemcpyHToD").at(0).line, "Stream #7(MemcpyH2D,MemcpyD2H,MemcpyD2D,MemcpyP2P)");
}

TEST_F(XplaneTest, ACorrelationIdHasOneEventOfTheHost) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "cuLaunchKernel"});
    to.on(model::StringDef{2, "cudaLaunchKernel"});
    model::ApiCall inner = call(7, 12, 18), outer = call(7, 10, 20), other = call(8, 30, 31);
    inner.name = 1;
    outer.name = 2;
    to.on(inner);
    to.on(outer);
    to.on(other);
    to.on(kernel(7, 50, 60));
  });
  write();
  std::vector<std::string> ids;
  for (const FlatEvent& event : events_)
    if (event.plane == "/host:CPU" && event.stat("correlation_id") != "none")
      ids.push_back(event.stat("correlation_id"));
  EXPECT_THAT(ids, ElementsAre("7"));
}

TEST_F(XplaneTest, WhatCrossesGoesToFurtherRowsAndNothingIsLost) {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::uint64_t> at(0, 900), length(0, 90);
  record([&](model::EventSink& to) {
    for (std::uint32_t i = 1; i <= 200; ++i) {
      const std::uint64_t from = at(random);
      to.on(call(i, from, from + length(random)));
      to.on(kernel(i, from, from + length(random)));
    }
  });
  write();
  expect_sorted_and_nested();
  EXPECT_THAT(events_, SizeIs(400));
  EXPECT_THAT(written_.missing, testing::Not(Contains(HasSubstr("not in the XPlane file"))));
}

TEST_F(XplaneTest, NamesOfAProgramAreNotTakenForXprofsOwn) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "train"});
    to.on(model::StringDef{2, "fwd:Linear"});
    model::Range r = range(10, 10, 20);
    r.name = 1;
    to.on(r);
    to.on(op(11, 2, 30, 40));
  });
  write();
  EXPECT_THAT(named("train"), IsEmpty());
  EXPECT_EQ(named("NVTX train").at(0).shown, "train");
  EXPECT_EQ(named("fwd/Linear").at(0).shown, "fwd:Linear");
}

}  // namespace
}  // namespace gpuprof::exporter
