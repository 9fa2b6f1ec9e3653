// SPDX-License-Identifier: Apache-2.0
//
// XPlane files of hand-made spools, read back.
#include <gmock/gmock.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "daemon/export/xplane/xplane.pb.h"
#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using test::ExportTest;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// An event with its names looked up.
struct Flat {
  std::string plane, line, name, shown;
  std::uint64_t start_ps = 0, end_ps = 0;
  std::map<std::string, std::string> stats;

  std::string stat(const std::string& key) const {
    const auto found = stats.find(key);
    return found == stats.end() ? "none" : found->second;
  }
};

class XplaneTest : public ExportTest {
 protected:
  void SetUp() override {
    ExportTest::SetUp();
    session_.options.formats = {"xplane"};
  }

  /// Writes the window's file and reads it.
  void write() {
    const auto files = write_window(session_, window_, {kPid}, {});
    ASSERT_TRUE(files.ok()) << files.error().sentence;
    written_ = files.value().at(0);
    ASSERT_TRUE(space_.ParseFromString(test::read_file(written_.path)));
    events_.clear();
    for (const xplane::XPlane& plane : space_.planes())
      for (const xplane::XLine& line : plane.lines())
        for (const xplane::XEvent& event : line.events()) flatten(plane, line, event);
  }

  static std::string value_of(const xplane::XPlane& plane, const xplane::XStat& stat) {
    switch (stat.value_case()) {
      case xplane::XStat::kUint64Value:
        return std::to_string(stat.uint64_value());
      case xplane::XStat::kInt64Value:
        return std::to_string(stat.int64_value());
      case xplane::XStat::kRefValue:
        return plane.stat_metadata().at(static_cast<std::int64_t>(stat.ref_value())).name();
      case xplane::XStat::kDoubleValue:
        return std::to_string(stat.double_value());
      default:
        return stat.str_value();
    }
  }

  void flatten(const xplane::XPlane& plane, const xplane::XLine& line,
               const xplane::XEvent& event) {
    const xplane::XEventMetadata& meta = plane.event_metadata().at(event.metadata_id());
    Flat flat{plane.name(),
              line.name(),
              meta.name(),
              meta.display_name(),
              static_cast<std::uint64_t>(event.offset_ps()),
              0,
              {}};
    flat.end_ps = flat.start_ps + static_cast<std::uint64_t>(event.duration_ps());
    for (const xplane::XStat& stat : event.stats())
      flat.stats[plane.stat_metadata().at(stat.metadata_id()).name()] = value_of(plane, stat);
    events_.push_back(flat);
  }

  const xplane::XPlane& plane(const std::string& name) {
    for (const xplane::XPlane& one : space_.planes())
      if (one.name() == name) return one;
    ADD_FAILURE() << "no plane " << name;
    return xplane::XPlane::default_instance();
  }
  std::map<std::string, std::string> facts(const std::string& name) {
    std::map<std::string, std::string> all;
    const xplane::XPlane& one = plane(name);
    for (const xplane::XStat& stat : one.stats())
      all[one.stat_metadata().at(stat.metadata_id()).name()] = value_of(one, stat);
    return all;
  }
  std::vector<Flat> named(const std::string& name) {
    std::vector<Flat> found;
    for (const Flat& event : events_)
      if (event.name == name) found.push_back(event);
    return found;
  }
  std::string tf_op(const std::string& name) {
    const auto found = named(name);
    return found.empty() ? "no event" : found[0].stat("tf_op");
  }

  /// Each line sorted by start, of equal starts the longer first, and none crosses another.
  void expect_sorted_and_nested() {
    for (const xplane::XPlane& one : space_.planes()) {
      std::set<std::int64_t> ids, rows;
      for (const xplane::XLine& line : one.lines()) {
        EXPECT_TRUE(ids.insert(line.id()).second) << line.name();
        EXPECT_TRUE(rows.insert(line.display_id()).second) << line.name();
        EXPECT_EQ(line.timestamp_ns(), 0);
        std::pair<std::int64_t, std::int64_t> before{-1, 0};
        std::vector<std::int64_t> open;
        for (const xplane::XEvent& event : line.events()) {
          const std::int64_t end = event.offset_ps() + event.duration_ps();
          const std::pair<std::int64_t, std::int64_t> key{event.offset_ps(), -event.duration_ps()};
          ASSERT_LE(before, key) << line.name();
          before = key;
          while (!open.empty() && open.back() <= event.offset_ps()) open.pop_back();
          ASSERT_TRUE(open.empty() || end <= open.back()) << line.name();
          open.push_back(end);
        }
      }
    }
  }

  xplane::XSpace space_;
  std::vector<Flat> events_;
  FileWritten written_;
};

model::Device device() {
  model::Device d{};
  d.name = 90;
  d.total_memory_bytes = 1u << 30;
  d.compute_major = 9;
  d.sm_count = 132;
  d.clock_khz = 1'980'000;
  d.memory_clock_khz = 2'619'000;
  d.memory_bus_bits = 5120;
  return d;
}

/// A step with an operator that launches a kernel and a copy.
void send_step(model::EventSink& to, const model::Kernel& kernel, const model::Operator& op) {
  to.on(model::StringDef{1, "aten::mm"});
  to.on(model::StringDef{2, "_Z3addPf"});
  to.on(model::StringDef{3, "cudaLaunchKernel"});
  to.on(model::StringDef{90, "GPU of a test"});
  to.on(device());
  to.on(kernel);
  to.on(op);
}

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
  const Flat train = named("train").at(0), op = named("aten::mm").at(0),
             launch = named("LaunchKernel").at(0), run = named("add(float*)").at(0);
  for (const Flat& event : {op, launch}) EXPECT_EQ(event.line, train.line);
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
  const Flat window = named("step window").at(0);
  EXPECT_EQ(window.plane, "/device:GPU:0");
  EXPECT_EQ(window.stat("_c"), step);
  EXPECT_EQ(window.stat("correlation_id"), "none");
  EXPECT_EQ(window.end_ps - window.start_ps, 85'000'000u);
  EXPECT_EQ(named("aten::mm").at(0).stat("_c"), step);
  EXPECT_EQ(named("aten::mm").at(0).stat("_ct"), "0");
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
  for (const Flat& event : events_)
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
  for (const Flat& event : events_)
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
  EXPECT_THAT(written_.missing, testing::Not(Contains(HasSubstr("left out"))));
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

TEST_F(XplaneTest, MemoryIsToldWithTheOperatorThatTookIt) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::empty"});
    to.on(model::StringDef{90, "GPU of a test"});
    to.on(device());
    for (const auto& [us, bytes, total] : std::initializer_list<std::array<std::int64_t, 3>>{
             {20, 512, 512}, {30, 512, 1024}, {60, -512, 512}}) {
      model::Allocation a{};
      a.start_ns = a.end_ns = kStart + static_cast<std::uint64_t>(us) * 1000;
      a.address = 0x1000;
      a.bytes = bytes;
      a.total_allocated_bytes = static_cast<std::uint64_t>(total);
      a.total_reserved_bytes = 2048;
      a.tid = kPid;
      a.device_type = 1;
      to.on(a);
    }
    to.on(op(5, 1, 10, 40));
    to.on(kernel(1, 50, 51));
  });
  write();
  expect_sorted_and_nested();
  const auto taken = named("MemoryAllocation"), freed = named("MemoryDeallocation");
  ASSERT_THAT(taken, SizeIs(2));
  ASSERT_THAT(freed, SizeIs(1));
  EXPECT_EQ(taken[1].stat("tf_op"), "empty/memory:allocation");
  EXPECT_EQ(taken[1].stat("bytes_allocated"), "1024");
  EXPECT_EQ(taken[1].stat("bytes_available"), std::to_string((1 << 30) - 1024));
  EXPECT_EQ(taken[1].stat("allocator_name"), "GPU:0");
  EXPECT_EQ(freed[0].stat("peak_bytes_in_use"), "1024");
  EXPECT_EQ(freed[0].stat("requested_bytes"), "512");
  EXPECT_EQ(freed[0].stat("tf_op"), "none");
  EXPECT_THAT(named("memory allocated (bytes)"), SizeIs(3));
}

TEST_F(XplaneTest, SamplesInARowAreOneNestedSlice) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "train.py"});
    to.on(model::StringDef{2, "step"});
    to.on(model::PythonCode{5, 1, 2, 12, 11, 0, ""});
    const model::PythonFrame frame{5, -1, 0};
    to.on(model::StackDef{9, 0, {}, {&frame, 1}});
    for (const std::uint64_t us : {10, 20, 30})
      to.on(model::Sample{kStart + us * 1000, 10'000, kPid, 9, us == 20 ? 1u : 0u});
  });
  write();
  expect_sorted_and_nested();
  const auto frames = named("frame train.py(12): step");
  ASSERT_THAT(frames, SizeIs(1));
  EXPECT_EQ(frames[0].shown, "train.py(12): step");
  EXPECT_EQ(frames[0].end_ps - frames[0].start_ps, 30'000'000u);
  EXPECT_THAT(named("(blocked)"), SizeIs(1));
}

TEST_F(XplaneTest, AGpuTellsWhatItCanDoAndTheFileWhenAndWhatIsMissing) {
  record([](model::EventSink& to) {
    send_step(to, kernel(7, 50, 60), op(2, 1, 20, 40));
    to.on(model::Loss{1, 0, 3, kStart + 10, kStart + 20});
  });
  write();
  const auto gpu = facts("/device:GPU:0");
  EXPECT_EQ(gpu.at("device_vendor"), "Nvidia");
  EXPECT_EQ(gpu.at("gpu_device_name"), "GPU of a test");
  EXPECT_EQ(gpu.at("core_count"), "132");
  EXPECT_EQ(gpu.at("memory_bandwidth"), "3352320000000");
  EXPECT_EQ(plane("/device:GPU:0").id(), 0);
  const auto environment = facts("Task Environment");
  EXPECT_EQ(environment.at("profile_start_time"), std::to_string(window_.stamp_real_ns));
  EXPECT_GT(environment.at("profile_stop_time"), environment.at("profile_start_time"));
  EXPECT_THAT(space_.hostnames(), ElementsAre("host_4000"));
  EXPECT_TRUE(written_.path.ends_with("/host_4000.xplane.pb")) << written_.path;
  EXPECT_EQ(std::vector<std::string>(space_.warnings().begin(), space_.warnings().end()),
            written_.missing);
  EXPECT_THAT(written_.missing, Contains(HasSubstr("3 ")));
}

TEST_F(XplaneTest, IdsFromTheFirstToTheLastThereCanBeTakeNoRoom) {
  record([](model::EventSink& to) {
    send_step(to, kernel(7, 50, 60, ~0ULL), op(~0ULL, 1, 20, 40));
    to.on(op(0, 1, 10, 15));
  });
  write();
  EXPECT_GT(written_.events, 2u);
}

}  // namespace
}  // namespace gpuprof::exporter
