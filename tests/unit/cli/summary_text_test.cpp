// SPDX-License-Identifier: Apache-2.0
#include "cli/output/summary_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using testing::HasSubstr;

recording::Summary sample() {
  recording::Summary s;
  s.files = {{"/out/h_7.1.pt.trace.json.gz", "tensorboard", 7, 0, 2048, 1234567, 3}};
  s.windows = {{0, 1'000'000'000, 3'000'000'000, 10, 3, "schedule"}};
  s.events_by_kind = {{"samples", 10}, {"kernels", 1'200'000}, {"copies", 0}};
  s.drops_by_reason = {{"ring full", 5}};
  s.duration_ns = 10'000'000'000;
  s.overhead.sampler = "perf";
  s.overhead.worker_cpu_ns = 50'000'000;
  s.missing = {"no GPU was used"};
  s.remarks = {"a remark"};
  s.failures = {"a failure"};
  s.open_with = {"tensorboard --logdir /out"};
  return s;
}

TEST(SummaryText, TellsFilesWindowsEventsDropsOverheadAndHowToOpen) {
  const std::string text = summary_text(sample());
  for (const char* part :
       {"1 trace file in /out (2.0 KiB, 1.235 M events)", "h_7.1.pt.trace.json.gz (process 7",
        "3 steps", "1 window, 2.00 s recorded, 3 steps starting at step 10 (schedule)",
        "events: 1.2 M kernels, 10 samples\n", "drops: ring full: 5", "0.50 % of 10.00 s",
        "missing: no GPU was used", "note: a remark", "failed: a failure",
        "open with: tensorboard --logdir /out"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(SummaryText, TellsFormatsApartAndCountsTheirEventsOnce) {
  recording::Summary s = sample();
  s.files = {{"/out/h_7.1.pt.trace.json.gz", "tensorboard", 7, 0, 2048, 1000, 3},
             {"/out/kineto/span_0001/h_7.1.pt.trace.json.gz", "kineto", 7, 0, 2048, 1000, 3}};
  const std::string text = summary_text(s);
  for (const char* part : {"2 trace files in /out (4.0 KiB, 1000 events)",
                           "  h_7.1.pt.trace.json.gz (tensorboard, process 7,",
                           "  kineto/span_0001/h_7.1.pt.trace.json.gz (kineto, process 7,"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(SummaryText, EveryLineSaysWhoSpeaks) {
  const std::string text = summary_text(sample());
  ASSERT_EQ(text.back(), '\n');
  for (const std::string& line : support::split(text.substr(0, text.size() - 1), '\n')) {
    EXPECT_EQ(line.compare(0, 9, "gpuprof: "), 0) << line;
  }
}

TEST(SummaryText, SaysThatTheGpuIsSimulatedOnlyIfItIs) {
  recording::Summary s = sample();
  EXPECT_THAT(summary_text(s), testing::Not(HasSubstr("simulated")));
  s.simulated = true;
  EXPECT_THAT(summary_text(s), HasSubstr("the GPU is simulated"));
}

TEST(SummaryText, NamesTheSession) {
  recording::Summary s = sample();
  EXPECT_THAT(summary_text(s), testing::Not(HasSubstr("session")));
  s.name = "nightly";
  EXPECT_THAT(summary_text(s), HasSubstr("session nightly\n"));
}

TEST(SummaryText, SamplingThatWasOffIsNoSampler) {
  recording::Summary s = sample();
  s.overhead.sampler = "off";
  EXPECT_THAT(summary_text(s), HasSubstr(", no stacks sampled"));
  EXPECT_THAT(summary_text(s), testing::Not(HasSubstr("by off")));
}

TEST(SummaryText, SaysPlainlyThatNothingWasWritten) {
  EXPECT_THAT(summary_text({}), HasSubstr("no trace file was written"));
}

TEST(SummaryText, OneOfAThingIsSingular) {
  recording::Summary s = sample();
  s.files[0].events = s.files[0].steps = s.windows[0].steps = s.overhead.samples = 1;
  s.events_by_kind = {{"memory copies", 1}, {"kernels", 1}, {"samples", 2}};
  s.processes_seen = 2;
  recording::SummaryProcess process;
  process.exe = "/bin/a";
  process.role = "traced";
  process.samples = process.steps = 1;
  s.processes = {process};
  const std::string text = summary_text(s);
  for (const char* part : {"1 event)", "(process 7, 1 event, 1 step)", "1 step starting at step 10",
                           "2 samples, 1 memory copy, 1 kernel\n", "a traced: 1 sample, 1 step\n",
                           "1 on-CPU sample by perf"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(SummaryText, AFullDiskIsRecoveredFromElsewhere) {
  recording::Summary s = sample();
  s.spool_folder = "/out/.gpuprof-spool-1-a";
  s.failures = {"cannot write the spool: No space left on device"};
  EXPECT_THAT(summary_text(s),
              HasSubstr("recover with: gpuprof export -o OTHER /out/.gpuprof-spool-1-a (OTHER: a "
                        "folder on a disk with free space)\n"));
}

TEST(SummaryText, DropsThatNobodyCountedAreNotNone) {
  recording::Summary s = sample();
  s.drops_by_reason.clear();
  EXPECT_THAT(summary_text(s), HasSubstr("drops: none\n"));
  s.drops_known = false;
  EXPECT_THAT(summary_text(s), HasSubstr("drops: unknown\n"));
  s.drops_by_reason = {{"ring full", 4}};
  EXPECT_THAT(summary_text(s), HasSubstr("drops: ring full: 4, others unknown\n"));
}

TEST(SummaryText, KeptSpoolComesWithTheCommandThatRecoversIt) {
  recording::Summary s;
  s.spool_folder = "/out dir/.gpuprof-spool-1-2";
  EXPECT_THAT(summary_text(s), HasSubstr("gpuprof export '/out dir/.gpuprof-spool-1-2'"));
}

}  // namespace
}  // namespace gpuprof::cli
