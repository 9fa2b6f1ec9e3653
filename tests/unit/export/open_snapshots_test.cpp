// SPDX-License-Identifier: Apache-2.0
//
// What was open when a window was cut: in its file once, as it ended or as its newest copy.
#include <gmock/gmock.h>

#include "recording/model/open_snapshots.hpp"
#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// The window is 0 to 1000 us.
class OpenCopiesTest : public test::ExportTest {
 protected:
  static constexpr std::uint32_t kCopy = model::kRangeUnfinished | model::kRangeOpenSnapshot;

  static model::Operator op(model::RangeId id, std::int64_t from_us, std::int64_t to_us,
                            std::uint32_t flags) {
    model::Operator o = ExportTest::op(id, 1, from_us, to_us);
    o.flags = flags;
    return o;
  }
  static model::Range nvtx(model::RangeId id, std::int64_t from_us, std::int64_t to_us,
                           std::uint32_t flags) {
    model::Range r = range(id, from_us, to_us);
    r.name = 1;
    r.flags = flags;
    return r;
  }
  /// Durations of what is drawn, in us.
  std::vector<double> drawn() {
    std::vector<double> found;
    for (const auto* event : events("cpu_op")) found.push_back((*event)["dur"].GetDouble());
    return found;
  }
};

TEST_F(OpenCopiesTest, AreDrawnUpToTheWindowsEndAndMarked) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "epoch"});
    sink.on(op(7, 100, 1100, kCopy));
    sink.on(nvtx(8, 200, 1100, kCopy));
  });
  trace();
  const auto found = events("cpu_op");
  ASSERT_THAT(found, SizeIs(2));
  for (const auto* event : found) {
    EXPECT_TRUE((*event)["args"]["unfinished"].GetBool());
    EXPECT_TRUE((*event)["args"]["cut at window"].GetBool());
    EXPECT_NEAR((*event)["ts"].GetDouble() + (*event)["dur"].GetDouble(), 2000, 0.01);
  }
}

TEST_F(OpenCopiesTest, GiveWayToTheEventItself) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "epoch"});
    sink.on(op(7, -500, 50, kCopy));
    sink.on(op(7, -500, 400, 0));
    sink.on(nvtx(8, -500, 50, kCopy));
    sink.on(nvtx(8, -500, 300, 0));
  });
  trace();
  const auto found = events("cpu_op");
  ASSERT_THAT(found, SizeIs(2));
  for (const auto* event : found) EXPECT_FALSE((*event)["args"].HasMember("unfinished"));
  EXPECT_THAT(drawn(), testing::UnorderedElementsAre(testing::DoubleNear(400, 0.01),
                                                     testing::DoubleNear(300, 0.01)));
}

TEST_F(OpenCopiesTest, GiveWayToTheNewestOne) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "epoch"});
    sink.on(op(7, -500, 50, kCopy));
    sink.on(op(7, -500, 1050, kCopy));
    sink.on(op(7, -500, 2050, kCopy));
  });
  trace();
  EXPECT_THAT(drawn(), testing::ElementsAre(testing::DoubleNear(1000, 0.01)));
}

// The daemon was killed, or this process is slower than the one that was cut.
TEST_F(OpenCopiesTest, LastToTheWindowsEndWhereverItIs) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "epoch"});
    sink.on(nvtx(8, -200, 50, kCopy));
    sink.on(op(7, -100, 50, kCopy));
    sink.on(call(1, 900, 1100, 7));  // the last call of its thread ends after the window
    model::Range span = nvtx(9, 20, 50, kCopy);
    span.kind = model::RangeKind::kStartEnd;
    sink.on(span);
  });
  trace();
  const auto found = events("cpu_op");
  ASSERT_THAT(found, SizeIs(2));
  double inner_end = 0, outer_end = 0;
  for (const auto* event : found) {
    const double end = (*event)["ts"].GetDouble() + (*event)["dur"].GetDouble();
    EXPECT_NEAR(end, 2100, 0.01);
    EXPECT_TRUE((*event)["args"]["unfinished"].GetBool());
    EXPECT_TRUE((*event)["args"]["cut at window"].GetBool());
    ((*event)["args"]["External id"].GetUint64() == 7 ? inner_end : outer_end) = end;
  }
  EXPECT_GT(outer_end, inner_end);
  const auto spans = events("nvtx_range", "e");
  ASSERT_THAT(spans, SizeIs(1));
  EXPECT_NEAR((*spans[0])["ts"].GetDouble(), 2000, 0.01);
}

TEST_F(OpenCopiesTest, FromBeforeTheWindowLastThroughIt) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "epoch"});
    sink.on(op(7, -500, -400, kCopy));
    sink.on(nvtx(8, 10, 20, 0));
  });
  trace();
  EXPECT_THAT(drawn(), testing::UnorderedElementsAre(testing::DoubleNear(1000, 0.01),
                                                     testing::DoubleNear(10, 0.01)));
}

TEST_F(OpenCopiesTest, LastNoLongerThanIsKnown) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "epoch"});
    sink.on(op(7, 100, 300, kCopy));
    sink.on(op(7, 100, 400, kCopy | model::kRangeEndUnknown));
  });
  trace();
  EXPECT_THAT(drawn(), testing::ElementsAre(testing::DoubleNear(300, 0.01)));
}

TEST_F(OpenCopiesTest, OwnTheCallsInside) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "epoch"});
    sink.on(call(1, 300, 310, 7));
    sink.on(op(7, 100, 1100, kCopy));
  });
  trace();
  ASSERT_THAT(events("runtime"), SizeIs(1));
  EXPECT_EQ((*events("runtime")[0])["args"]["External id"].GetUint64(), 7u);
}

// The program goes on while its file is written.
TEST_F(OpenCopiesTest, StandForWhatEndsBetweenThePasses) {
  exporter::OpenSnapshots copies;
  const model::Operator copy = op(7, 100, 1100, kCopy), newer = op(7, 100, 2100, kCopy);
  const model::Operator end = op(7, 100, 1200, 0);
  ASSERT_TRUE(copies.add_snapshot(copy));
  EXPECT_FALSE(copies.is_superseded(copy));
  EXPECT_TRUE(copies.is_superseded(newer));
  EXPECT_TRUE(copies.is_superseded(end));
  ASSERT_FALSE(copies.add_snapshot(end));
  EXPECT_TRUE(copies.is_superseded(copy));
  EXPECT_FALSE(copies.is_superseded(end));
}

TEST_F(OpenCopiesTest, OfOtherWindowsAreNotDrawn) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "epoch"});
    sink.on(op(7, -500, -100, kCopy | model::kRangeEndUnknown));
    sink.on(op(8, 1500, 1600, kCopy));
  });
  trace();
  EXPECT_THAT(events("cpu_op"), IsEmpty());
}

}  // namespace
}  // namespace gpuprof::exporter
