// SPDX-License-Identifier: Apache-2.0
//
// Perfetto's format, parsed back; what its own reader makes of it is asked in tests/e2e/viewers.
#include <gmock/gmock.h>

#include <map>

#include "analysis/export/perfetto/perfetto_events.hpp"
#include "tests/unit/export/written_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using perfetto::TrackEvent;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

/// The trace as a reader holds it: texts by number since the last clearing.
struct Read {
  struct Event {
    std::uint64_t ns;
    TrackEvent::Type type;
    std::string track, name, category, file;
    std::map<std::string, std::string> args;
    std::vector<std::uint64_t> flows;
    std::int64_t value;
  };
  std::vector<Event> events;
  std::map<std::uint64_t, perfetto::TrackDescriptor> tracks;
  int clearings = 0;

  std::vector<Event> of(const std::string& category) const {
    std::vector<Event> found;
    for (const Event& event : events)
      if (event.category == category) found.push_back(event);
    return found;
  }
};

class TraceReader {
 public:
  Read read(const std::string& bytes) {
    perfetto::Trace trace;
    EXPECT_TRUE(trace.ParseFromString(bytes));
    for (const perfetto::TracePacket& packet : trace.packet()) take(packet);
    return std::move(read_);
  }

 private:
  void take(const perfetto::TracePacket& packet) {
    EXPECT_NE(0u, packet.trusted_packet_sequence_id());
    if ((packet.sequence_flags() & perfetto::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) != 0) {
      ++read_.clearings;
      for (auto* table : {&names_, &categories_, &keys_, &values_, &files_}) table->clear();
    }
    if (packet.has_track_descriptor()) {
      const perfetto::TrackDescriptor& track = packet.track_descriptor();
      EXPECT_TRUE(read_.tracks.emplace(track.uuid(), track).second) << "told twice";
      if (track.has_parent_uuid()) {
        EXPECT_TRUE(read_.tracks.contains(track.parent_uuid()));
      }
    }
    for (const auto& one : packet.interned_data().event_names()) names_[one.iid()] = one.name();
    for (const auto& one : packet.interned_data().event_categories())
      categories_[one.iid()] = one.name();
    for (const auto& one : packet.interned_data().debug_annotation_names())
      keys_[one.iid()] = one.name();
    for (const auto& one : packet.interned_data().debug_annotation_string_values())
      values_[one.iid()] = one.str();
    for (const auto& one : packet.interned_data().source_locations())
      files_[one.iid()] = one.file_name() + ":" + std::to_string(one.line_number());
    if (packet.has_track_event()) take(packet.timestamp(), packet.track_event());
  }

  void take(std::uint64_t ns, const TrackEvent& event) {
    Read::Event one{ns,
                    event.type(),
                    read_.tracks.at(event.track_uuid()).name(),
                    {},
                    {},
                    {},
                    {},
                    {event.flow_ids().begin(), event.flow_ids().end()},
                    event.counter_value()};
    if (event.has_name_iid()) one.name = names_.at(event.name_iid());
    for (const std::uint64_t id : event.category_iids()) one.category = categories_.at(id);
    if (event.has_source_location_iid()) one.file = files_.at(event.source_location_iid());
    for (const perfetto::DebugAnnotation& arg : event.debug_annotations())
      one.args[keys_.at(arg.name_iid())] = arg.has_string_value_iid()
                                               ? values_.at(arg.string_value_iid())
                                               : std::to_string(arg.uint_value());
    read_.events.push_back(std::move(one));
  }

  Read read_;
  std::map<std::uint64_t, std::string> names_, categories_, keys_, values_, files_;
};

class Perfetto : public test::WriterTest {
 protected:
  Read read() { return TraceReader().read(write("perfetto")); }
};

TEST_F(Perfetto, HoldsOperatorsCallsAndKernelsWithTheirArrow) {
  record(program);
  const Read trace = read();
  EXPECT_EQ("perfetto", written_.format);
  ASSERT_THAT(trace.of("kernel"), testing::SizeIs(1));
  const Read::Event kernel = trace.of("kernel")[0];
  EXPECT_EQ("add(float*)", kernel.name);
  EXPECT_EQ("stream 7", kernel.track);
  EXPECT_EQ(kStart + 70'000, kernel.ns);
  EXPECT_THAT(kernel.args, Contains(Pair("grid", "[4,2,1]")));
  EXPECT_THAT(kernel.args, Contains(Pair("correlation", "77")));
  ASSERT_THAT(trace.of("cuda_runtime"), testing::SizeIs(1));
  EXPECT_EQ(kernel.flows, trace.of("cuda_runtime")[0].flows);
  EXPECT_THAT(kernel.flows, testing::SizeIs(1));
  std::vector<std::string> operators;
  for (const Read::Event& op : trace.of("cpu_op")) operators.push_back(op.name + " " + op.file);
  EXPECT_THAT(operators, ElementsAre("aten::outer train.py:20", "in;ner, \"quoted\" train.py:20"));
}

TEST_F(Perfetto, HasMemoryAndWorkAsCounters) {
  record(program);
  std::vector<std::pair<std::string, std::int64_t>> counters;
  for (const Read::Event& event : read().events)
    if (event.type == TrackEvent::TYPE_COUNTER) counters.emplace_back(event.track, event.value);
  EXPECT_THAT(
      counters,
      ElementsAre(Pair("memory allocated, GPU 0", 2048), Pair("memory reserved, GPU 0", 4096),
                  Pair("work in flight, GPU 0", 1), Pair("work in flight, GPU 0", 0)));
}

TEST_F(Perfetto, EveryBeginHasAnEndOnItsTrack) {
  record([](model::EventSink& to) {
    program(to);
    // Two that cross, in a third.
    model::Operator a = op(11, kOuter, 400, 500), b = op(12, kOuter, 450, 550);
    b.flags = model::kRangeCrossing;
    to.on(a);
    to.on(b);
    to.on(op(13, kOuter, 390, 600));
  });
  std::map<std::string, int> open;
  for (const Read::Event& event : read().events) {
    if (event.type == TrackEvent::TYPE_SLICE_BEGIN) ++open[event.track];
    if (event.type == TrackEvent::TYPE_SLICE_END) --open[event.track];
  }
  for (const auto& [track, left] : open) EXPECT_EQ(0, left) << track;
  EXPECT_TRUE(open.contains("spans"));
}

TEST_F(Perfetto, TimesAreOnADeclaredClock) {
  record(program);
  perfetto::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(write("perfetto")));
  const perfetto::ClockSnapshot& clocks = trace.packet(0).clock_snapshot();
  EXPECT_EQ(perfetto::ClockSnapshot::MONOTONIC, clocks.primary_trace_clock());
  EXPECT_EQ(window_.start_ns, clocks.clocks(0).timestamp());
  EXPECT_EQ(window_.stamp_real_ns, clocks.clocks(1).timestamp());
}

TEST_F(Perfetto, ArrowsGoFromForwardToBackward) {
  record([](model::EventSink& to) {
    program(to);
    model::Operator forward = op(21, kOuter, 400, 410);
    forward.sequence = 5;
    model::Operator node = op(23, kOuter, 501, 509), evaluate = op(22, 30, 500, 510);
    to.on(model::StringDef{30, "autograd::engine::evaluate_function: OuterBackward0"});
    node.sequence = 5;
    node.scope = model::kScopeBackward;
    node.forward_tid = kPid;
    node.parent = 22;
    to.on(forward);
    to.on(node);
    to.on(evaluate);
  });
  std::map<std::uint64_t, std::vector<std::uint64_t>> ends;
  for (const Read::Event& event : read().of("cpu_op"))
    for (const std::uint64_t flow : event.flows) ends[flow].push_back(event.ns - kStart);
  EXPECT_THAT(ends, UnorderedElementsAre(Pair(testing::_, ElementsAre(400'000, 500'000))));
}

TEST_F(Perfetto, NothingRecordedIsATraceAllTheSame) {
  record([](model::EventSink&) {});
  const Read trace = read();
  EXPECT_EQ(1, trace.clearings);
  EXPECT_THAT(trace.of("cpu_op"), IsEmpty());
  EXPECT_FALSE(trace.of("gpuprof").empty());
}

}  // namespace
}  // namespace gpuprof::exporter
