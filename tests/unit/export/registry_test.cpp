// SPDX-License-Identifier: Apache-2.0
//
// What the table of formats says of them: how often they read, how their files are opened.
#include <gmock/gmock.h>

#include "analysis/export/prescan/read_window.hpp"
#include "analysis/export/registry.hpp"
#include "tests/unit/export/written_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using testing::ElementsAre;

class FormatsTest : public test::WriterTest {};

TEST_F(FormatsTest, EachReadsAsOftenAsTheTableSays) {
  record(program);
  const std::uint64_t events = count_pass_events(session_.processes[0], window_);
  ASSERT_LT(0u, events);
  for (const Format& format : formats()) {
    std::uint64_t read = 0;
    const FileRequest request{session_,
                              window_,
                              session_.processes[0],
                              folder_ + "/" + std::string(format.name),
                              "worker",
                              true,
                              0,
                              [&](std::uint64_t more) { read += more; }};
    ASSERT_TRUE(format.write(request).ok()) << format.name;
    // The last pass may be what it does with all it read.
    EXPECT_TRUE(read == format.event_passes * events || read == (format.event_passes - 1) * events)
        << format.name << " read " << read << " of " << events << " events";
  }
}

TEST_F(FormatsTest, EachWritesTheSameBytesAgain) {
  record(program);
  session_.options.force = true;
  for (const std::string& name : format_names()) {
    const std::string first = write(name);
    ASSERT_FALSE(first.empty()) << name;
    EXPECT_TRUE(first == write(name)) << name;
  }
}

TEST_F(FormatsTest, ProgressIsOneWholeForAllFormatsAndNeverGoesBack) {
  record(program);
  session_.options.formats = format_names();
  std::vector<std::uint64_t> done, totals;
  const auto files =
      write_window(session_, window_, {kPid}, [&](std::uint64_t now, std::uint64_t total) {
        done.push_back(now);
        totals.push_back(total);
      });
  ASSERT_TRUE(files.ok());
  std::uint64_t passes = 0;
  for (const Format& format : formats()) passes += format.event_passes;
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(passes * count_pass_events(session_.processes[0], window_), done.back());
  EXPECT_THAT(totals, testing::Each(done.back()));
}

TEST(OpenWith, NamesTheViewerOfEachFormatOnce) {
  const std::vector<recording::SummaryFile> files = {
      {.path = "/o/a.pt.trace.json.gz", .format = "tensorboard", .events = 1},
      {"/o/kineto/span_0001/a.pt.trace.json.gz", "kineto"},
      {"/o/scalars/a/events.out.tfevents.1.a.1.0000", "tfevents"},
      {"/o/a.pb.gz", "pprof"},
      {"/o/b.pb.gz", "pprof"},
      {"/o/a.folded", "folded"}};

  EXPECT_THAT(viewer_instructions(files, "/o"),
              ElementsAre("gpuprof report /o", "tensorboard --logdir /o",
                          testing::HasSubstr("TraceAnalysis(trace_dir=\"/o/kineto/span_0001\")"),
                          "go tool pprof -http=: /o/a.pb.gz",
                          "flamegraph.pl --countname ns /o/a.folded > flames.svg"));
}

TEST(OpenWith, NamesNoReportOnFilesWithoutEvents) {
  EXPECT_THAT(viewer_instructions({{"/o/a.pt.trace.json", "tensorboard"}}, "/o"),
              ElementsAre("tensorboard --logdir /o"));
}

TEST(OpenWith, LeavesOutWhatWantsAFolderWhereAPatternNamesFiles) {
  EXPECT_THAT(
      viewer_instructions({{"/o/a.pt.trace.json", "tensorboard"}, {"/o/a.sqlite", "sqlite"}}, ""),
      ElementsAre("sqlite3 /o/a.sqlite"));
}

TEST(OpenWith, QuotesPathsForAShell) {
  EXPECT_THAT(viewer_instructions({{"/o o/a.sqlite", "sqlite"}}, "/o o"),
              ElementsAre("sqlite3 '/o o/a.sqlite'"));
}

TEST(OpenWith, EveryFormatHasAViewer) {
  for (const Format& format : formats()) EXPECT_NE("", format.viewer) << format.name;
}

}  // namespace
}  // namespace gpuprof::exporter
