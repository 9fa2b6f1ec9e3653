// SPDX-License-Identifier: Apache-2.0
//
// Reads XPlane files of hand-made spools back.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/export/xplane/xplane.pb.h"
#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::exporter {

/// An event with its names looked up.
struct FlatEvent {
  std::string plane, line, name, shown;
  std::uint64_t start_ps = 0, end_ps = 0;
  std::map<std::string, std::string> stats;

  std::string stat(const std::string& key) const {
    const auto found = stats.find(key);
    return found == stats.end() ? "none" : found->second;
  }
};

class XplaneTest : public test::ExportTest {
 protected:
  void SetUp() override {
    test::ExportTest::SetUp();
    session_.options.formats = {"xplane"};
  }

  /// Writes the window's file and reads it.
  void write() {
    const auto files = write_window(session_, window_, {kPid}, {});
    ASSERT_TRUE(files.ok()) << files.error().message;
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
    FlatEvent flat{plane.name(),
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
  std::vector<FlatEvent> named(const std::string& name) {
    std::vector<FlatEvent> found;
    for (const FlatEvent& event : events_)
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
  std::vector<FlatEvent> events_;
  WrittenFile written_;
};

inline model::Device device() {
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
inline void send_step(model::EventSink& to, const model::Kernel& kernel,
                      const model::Operator& op) {
  to.on(model::StringDef{1, "aten::mm"});
  to.on(model::StringDef{2, "_Z3addPf"});
  to.on(model::StringDef{3, "cudaLaunchKernel"});
  to.on(model::StringDef{90, "GPU of a test"});
  to.on(device());
  to.on(kernel);
  to.on(op);
}

}  // namespace gpuprof::exporter
