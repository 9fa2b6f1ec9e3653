// SPDX-License-Identifier: Apache-2.0
//
// What all formats but the JSON ones are written from: the same events, cut and named alike.
#include "analysis/export/resolve/event_resolver.hpp"

#include <gmock/gmock.h>

#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using test::ExportTest;
using testing::ElementsAre;
using testing::IsEmpty;

/// One line an event.
class Lines final : public ResolvedSink {
 public:
  explicit Lines(StackFormatter& stacks) : stacks_(stacks) {}

  void on(const ResolvedStep& s) override { add("step " + std::to_string(s.event.label), s.event); }
  void on(const ResolvedOperator& o) override {
    add("op " + std::string(o.name) + " in " + std::to_string(o.parent) +
            (o.nesting == Nesting::kOverlapping ? " apart" : ""),
        o.interval);
  }
  void on(const ResolvedRange& r) override { add("range " + std::string(r.name), r.interval); }
  void on(const ResolvedApiCall& c) override { add("call of " + std::to_string(c.owner), c.event); }
  void on(const ResolvedGpuEvent<model::Kernel>& k) override {
    add("kernel " + std::string(k.name) + " of " + std::to_string(k.owner), k.event);
  }
  void on(const ResolvedGpuEvent<model::MemCopy>& c) override { add(std::string(c.name), c.event); }
  void on(const ResolvedSample& s) override {
    std::string text = s.event.state == 0 ? "ran" : "waited";
    for (const StackFormatter::Frame frame : s.frames)
      text += " " + std::string(stacks_.name(frame));
    lines.push_back(text);
  }

  std::vector<std::string> lines;

 private:
  template <typename Times>
  void add(const std::string& text, const Times& t) {
    lines.push_back(text + " " + us(t.start_ns) + "-" + us(t.end_ns));
  }
  static std::string us(std::uint64_t ns) {
    return std::to_string((static_cast<std::int64_t>(ns) - 1'000'000'000) / 1000);
  }

  StackFormatter& stacks_;
};

class ShownTest : public ExportTest {
 protected:
  std::vector<std::string> lines() {
    const FileRequest request{session_, window_, session_.processes.at(0), "", "host_4000", false,
                              0,        {}};
    auto shown = EventResolver::open(request);
    EXPECT_TRUE(shown.ok());
    Lines sink(shown.value()->stacks());
    EXPECT_TRUE(shown.value()->replay(sink).ok());
    written_ = shown.value()->make_written_file("test", 1);
    return sink.lines;
  }
  WrittenFile written_;
};

TEST_F(ShownTest, EventsAreCutNamedAndOwnedAsInTheJsonFiles) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::\"mm\"\xff"});
    to.on(model::StringDef{2, "_Z3addPf"});
    model::Operator outer = op(1, 1, -10, 500), inner = op(2, 1, 20, 40);
    inner.parent = 1;
    to.on(call(7, 25, 30, 2));
    to.on(inner);
    to.on(outer);
    model::Kernel k = kernel(7, 50, 90, 2);
    k.name = 2;
    to.on(k);
    to.on(kernel(8, 2'000, 2'001));  // of another window
    to.on(step(3, 15, 60));
  });
  EXPECT_THAT(
      lines(),
      ElementsAre("step 3 15-60", "call of 2 25-30", "op aten::\"mm\"\xef\xbf\xbd in 1 20-40",
                  "op aten::\"mm\"\xef\xbf\xbd in 0 0-500", "kernel add(float*) of 2 50-90"));
  std::uint64_t counted = 0;
  for (const auto& [kind, count] : written_.events_by_kind) counted += count;
  EXPECT_EQ(5u, counted);
}

TEST_F(ShownTest, RepeatedSamplesHaveTheStackOfTheLastOne) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "train.py"});
    to.on(model::StringDef{2, "step"});
    to.on(model::PythonCode{5, 1, 2, 12, 11, 0, ""});
    const model::PythonFrame frame{5, -1, 0};
    to.on(model::StackDef{9, 0, {}, {&frame, 1}});
    to.on(model::Sample{kStart + 10, 1000, kPid, 9, 1});
    to.on(model::Sample{kStart + 20, 1000, kPid, 0, 2});
    to.on(model::Sample{kStart + 30, 1000, kPid, 0, 0});
  });
  EXPECT_THAT(lines(),
              ElementsAre("waited train.py(12): step", "waited train.py(12): step", "ran"));
}

TEST_F(ShownTest, NothingRecordedShowsNothing) {
  record([](model::EventSink&) {});
  EXPECT_THAT(lines(), IsEmpty());
}

}  // namespace
}  // namespace gpuprof::exporter
