// SPDX-License-Identifier: Apache-2.0
//
// Begins and ends as a reader takes them: sorted by time, equal times in the order they came.
#include "analysis/export/perfetto/nested_slices.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

namespace gpuprof::exporter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Drawn {
  std::uint64_t start_ns, end_ns;
  std::size_t depth;
  auto operator<=>(const Drawn&) const = default;
};
void PrintTo(const Drawn& drawn, std::ostream* out) {
  *out << drawn.start_ns << "-" << drawn.end_ns << " at " << drawn.depth;
}

/// Perfetto's way: a stack; an end closes what is on top.
class Reader final : public NestedSlices::Sink {
 public:
  void begin(std::uint64_t ns, std::string_view body) override {
    events_.push_back({ns, std::string(body)});
  }
  void end(std::uint64_t ns) override { events_.push_back({ns, ""}); }
  void overlapping(std::uint64_t, std::uint64_t, std::string_view body) override {
    strays.emplace_back(body);
  }

  std::map<std::string, Drawn> read() {
    std::stable_sort(events_.begin(), events_.end(),
                     [](const Event& a, const Event& b) { return a.ns < b.ns; });
    std::vector<Event> open;
    std::map<std::string, Drawn> drawn;
    for (const Event& event : events_) {
      if (!event.name.empty()) {
        open.push_back(event);
        continue;
      }
      EXPECT_FALSE(open.empty()) << "an end without a begin at " << event.ns;
      if (open.empty()) continue;
      drawn[open.back().name] = {open.back().ns, event.ns, open.size() - 1};
      open.pop_back();
    }
    EXPECT_TRUE(open.empty());
    return drawn;
  }

  std::vector<std::string> strays;

 private:
  struct Event {
    std::uint64_t ns;
    std::string name;
  };
  std::vector<Event> events_;
};

TEST(NestedSlices, WhatBeginsTogetherIsNestedByItsEnd) {
  NestedSlices slices;
  Reader reader;
  slices.add(10, 20, "inner", false, reader);
  slices.add(10, 30, "outer", false, reader);
  slices.add(30, 40, "next", true, reader);
  slices.flush(reader);
  const auto drawn = reader.read();
  EXPECT_EQ((Drawn{10, 30, 0}), drawn.at("outer"));
  EXPECT_EQ((Drawn{10, 20, 1}), drawn.at("inner"));
  EXPECT_EQ((Drawn{30, 40, 0}), drawn.at("next"));
  EXPECT_THAT(reader.strays, IsEmpty());
}

TEST(NestedSlices, EqualOnesAreNestedByTheirOrder) {
  for (const auto equal :
       {NestedSlices::TieOrder::kLaterIsOuter, NestedSlices::TieOrder::kLaterIsInner}) {
    NestedSlices slices(equal);
    Reader reader;
    slices.add(10, 20, "first", false, reader);
    slices.add(10, 20, "second", false, reader);
    slices.flush(reader);
    const bool later_is_outer = equal == NestedSlices::TieOrder::kLaterIsOuter;
    EXPECT_EQ(later_is_outer ? 1u : 0u, reader.read().at("first").depth);
  }
}

TEST(NestedSlices, CrossingOnesAreStrays) {
  NestedSlices slices;
  Reader reader;
  slices.add(10, 30, "a", false, reader);
  slices.add(20, 40, "b", false, reader);
  slices.flush(reader);
  EXPECT_EQ((Drawn{10, 30, 0}), reader.read().at("a"));
  EXPECT_THAT(reader.strays, ElementsAre("b"));
}

TEST(NestedSlices, WhatComesLaterFitsToWhatIsOut) {
  NestedSlices slices;
  Reader reader;
  slices.add(10, 20, "child", false, reader);
  slices.flush(reader);
  slices.add(5, 25, "around", false, reader);
  slices.add(12, 18, "inside", false, reader);
  slices.add(10, 22, "begins with it", false, reader);  // its begin would have to come before
  slices.add(15, 30, "crosses", false, reader);
  slices.flush(reader);
  const auto drawn = reader.read();
  EXPECT_EQ((Drawn{5, 25, 0}), drawn.at("around"));
  EXPECT_EQ((Drawn{12, 18, 2}), drawn.at("inside"));
  EXPECT_THAT(reader.strays, ElementsAre("begins with it", "crosses"));
}

TEST(NestedSlices, EveryBeginHasAnEndWhateverTheOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    NestedSlices slices;
    Reader reader;
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t start = random() % 40, end = start + random() % 12;
      slices.add(start, end, std::to_string(i), false, reader);
      if (random() % 20 == 0) slices.flush(reader);
    }
    slices.flush(reader);
    EXPECT_EQ(60u, reader.read().size() + reader.strays.size());
  }
}

TEST(NestedSlices, OneBatchOfAnythingIsDrawnAsItWas) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    NestedSlices slices;
    Reader reader;
    std::map<std::string, Drawn> told;
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t start = random() % 40, end = start + random() % 12;
      told[std::to_string(i)] = {start, end, 0};
      slices.add(start, end, std::to_string(i), false, reader);
    }
    slices.flush(reader);
    const auto drawn = reader.read();
    EXPECT_EQ(told.size(), drawn.size() + reader.strays.size());
    for (const auto& [name, slice] : drawn) {
      EXPECT_EQ(told[name].start_ns, slice.start_ns) << name;
      EXPECT_EQ(told[name].end_ns, slice.end_ns) << name;
    }
  }
}

TEST(NestedSlices, WhatAThreadRanIsDrawnWhole) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    NestedSlices slices;
    Reader reader;
    std::map<std::string, Drawn> told;
    std::uint64_t now = 0;
    // As a thread runs: what ends is reported, innermost first. Ends may be equal.
    const std::function<void(std::size_t)> run = [&](std::size_t depth) {
      const std::uint64_t start = now++;
      const unsigned children = depth < 5 ? random() % 4 : 0;
      for (unsigned i = 0; i < children; ++i) {
        now -= i == 0 && random() % 2 == 0 ? 1 : 0;  // it may begin with its first child
        run(depth + 1);
      }
      const std::string name = std::to_string(told.size());
      told[name] = {start, now, depth};
      slices.add(start, now, name, false, reader);
      if (depth == 0) slices.flush(reader);
    };
    for (int i = 0; i < 5; ++i) run(0);
    slices.flush(reader);
    EXPECT_THAT(reader.strays, IsEmpty());
    EXPECT_EQ(told, reader.read());
  }
}

TEST(Rings, TakeWhatBeginsAfterTheirLast) {
  OverlapTracks tracks;
  EXPECT_EQ(0u, tracks.assign_track(0, 10));
  EXPECT_EQ(1u, tracks.assign_track(5, 8));
  EXPECT_EQ(1u, tracks.assign_track(8, 20));
  EXPECT_EQ(0u, tracks.assign_track(10, 11));
}

}  // namespace
}  // namespace gpuprof::exporter
