// SPDX-License-Identifier: Apache-2.0
//
// The timeline's slices: what lies in a stretch, in rows, with the arrows of launches.
#include "analysis/report/page/slices.hpp"

#include <gmock/gmock.h>

#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::report::page {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Slices : public test::ExportTest {
 protected:
  PageTimeline collect(const Steps& steps, std::size_t events = 1000) {
    auto timeline = collect_slices(session_, session_.processes.at(0), {window_}, steps, {events});
    EXPECT_TRUE(timeline.ok()) << (timeline.ok() ? "" : timeline.error().message);
    return timeline.ok() ? timeline.take() : PageTimeline{};
  }
  static StepRow row(const model::Step& step) {
    StepRow row;
    row.label = step.label;
    row.start_ns = row.host_start_ns = step.start_ns;
    row.end_ns = row.host_end_ns = step.end_ns;
    return row;
  }
  static std::vector<std::string> lines(const PageTimeline& timeline, const Slice& slice) {
    std::vector<std::string> out;
    for (const SliceEvent& e : slice.events) {
      out.push_back(slice.tracks[e.track].title + " " + std::to_string(e.row) + " " +
                    timeline.strings[e.name] + " " + std::to_string(e.start_ns / 1000) + "+" +
                    std::to_string(e.length_ns / 1000) +
                    (e.flow ? " flow " + std::to_string(e.flow) : ""));
    }
    return out;
  }
};

TEST_F(Slices, PutWhatNestsBelowWhatItIsInAndKeepArrows) {
  const model::Step first = step(1, 100, 300);
  record([&](model::EventSink& sink) {
    sink.on(model::StringDef{1, "outer"});
    sink.on(model::StringDef{2, "inner"});
    sink.on(model::StringDef{3, "gemm"});
    sink.on(first);
    sink.on(call(9, 150, 160));
    sink.on(op(2, 2, 140, 180));
    sink.on(op(1, 1, 120, 200));
    sink.on(op(3, 2, 600, 700));
    model::Kernel k = kernel(9, 320, 350);
    k.name = 3;
    sink.on(k);
  });
  Steps steps;
  steps.steps = {row(first)};
  const PageTimeline timeline = collect(steps);
  ASSERT_THAT(timeline.slices, SizeIs(1));
  const Slice& slice = timeline.slices[0];
  EXPECT_EQ(slice.title, "step 1 (first)");
  EXPECT_THAT(
      lines(timeline, slice),
      ElementsAre("Steps 0 step 1 0+200", "Thread 4000 0 outer 20+80", "Thread 4000 1 inner 40+40",
                  HasSubstr("Thread 4000 2 "), "GPU 0, stream 7 0 gemm 220+30 flow 9"));
  EXPECT_EQ(slice.events[3].flow, 9u);
  EXPECT_EQ(slice.length_ns, 250'000u) << "what was launched in the step is in it to its end";
}

TEST_F(Slices, KeepTheEarliestAndSayWhatTheyLeaveOut) {
  const model::Step first = step(1, 0, 1000);
  record([&](model::EventSink& sink) {
    sink.on(model::StringDef{1, "op"});
    sink.on(first);
    for (int i = 899; i >= 0; --i) sink.on(op(static_cast<model::RangeId>(i + 1), 1, i, i + 1));
  });
  Steps steps;
  steps.steps = {row(first)};
  const PageTimeline timeline = collect(steps, 100);
  ASSERT_THAT(timeline.slices, SizeIs(1));
  const Slice& slice = timeline.slices[0];
  EXPECT_LE(slice.events.size(), 100u);
  EXPECT_GE(slice.events.size(), 98u);
  for (const SliceEvent& e : slice.events) EXPECT_LT(e.start_ns, 100'000);
  EXPECT_THAT(slice.note, HasSubstr("that began later did not fit in this page"));
}

TEST_F(Slices, WithoutStepsAreTheWholeOfALittle) {
  record([&](model::EventSink& sink) {
    sink.on(model::StringDef{1, "op"});
    sink.on(op(1, 1, 500, 600));
  });
  Steps steps;
  steps.is_synthetic = true;
  const PageTimeline timeline = collect(steps);
  ASSERT_THAT(timeline.slices, SizeIs(1));
  EXPECT_EQ(timeline.slices[0].title, "whole recording");
  EXPECT_THAT(timeline.note, IsEmpty());
}

TEST_F(Slices, OfNothingAreNone) {
  record([](model::EventSink&) {});
  EXPECT_THAT(collect({}).slices, IsEmpty());
}

}  // namespace
}  // namespace gpuprof::report::page
