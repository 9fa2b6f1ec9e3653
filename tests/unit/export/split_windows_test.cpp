// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::exporter {
namespace {

class Windows : public test::ExportTest {
 protected:
  /// Samples every microsecond, flushed every thousand, steps of `step_us` unless 0.
  void record_run(std::uint64_t samples, std::uint64_t step_us) {
    record([&](model::EventSink& sink) {
      auto& writer = dynamic_cast<spool::ProcessWriter&>(sink);
      for (std::uint64_t us = 0; us < samples; ++us) {
        sink.on(model::Sample{kStart + us * 1000, 1000, kPid, 0, 0});
        if (step_us != 0 && (us + 1) % step_us == 0)
          sink.on(step((us + 1) / step_us, us + 1 - step_us, us + 1));
        if (us % 1000 == 999) writer.flush();
      }
    });
  }
};

TEST_F(Windows, AreOneForASmallRun) {
  record_run(5000, 0);
  const auto windows = split_by_event_count(session_, {kPid}).take();
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].start_ns, kStart);
  EXPECT_GT(windows[0].end_ns, kStart + 4'999'000);
  EXPECT_EQ(windows[0].stamp_real_ns, 1'700'000'000'000'000'000u);
}

TEST_F(Windows, FollowEachOtherAndHoldAboutTheSize) {
  record_run(50'000, 0);
  session_.options.span_size_events = 10'000;
  const auto windows = split_by_event_count(session_, {kPid}).take();
  ASSERT_EQ(windows.size(), 5u);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    EXPECT_EQ(windows[i].index, i);
    EXPECT_EQ(windows[i].start_ns, i == 0 ? kStart : windows[i - 1].end_ns);
    const auto files = write_window(session_, windows[i], {kPid}, {});
    ASSERT_TRUE(files.ok()) << files.error().message;
    total += files.value()[0].events;
  }
  EXPECT_EQ(total, 50'000u);  // every event in exactly one file
}

TEST_F(Windows, MeetAtStepBorders) {
  record_run(50'000, 700);
  session_.options.span_size_events = 10'000;
  const auto windows = split_by_event_count(session_, {kPid}).take();
  ASSERT_GT(windows.size(), 3u);
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i + 1 < windows.size(); ++i) {
    EXPECT_EQ((windows[i].end_ns - kStart) % 700'000, 0u) << i;
    steps += windows[i].steps;
  }
  EXPECT_EQ(windows[0].first_step, 1u);
  EXPECT_EQ(steps + windows.back().steps, 50'000u / 700);
}

// Kernels run 50 us after their calls. Of 103 calls each the first 60 are lost: some cuts lie
// within such a stretch, others between two.
TEST_F(Windows, HoldEachKernelOnceThoughCallsWereLost) {
  constexpr std::uint32_t kKernels = 20'000, kLate = 50, kPeriod = 103, kLost = 60;
  record([&](model::EventSink& sink) {
    auto& writer = dynamic_cast<spool::ProcessWriter&>(sink);
    for (std::uint32_t us = 0; us < kKernels; ++us) {
      if (us % kPeriod >= kLost) sink.on(call(us + 1, us, us + 1));
      if (us >= kLate) sink.on(kernel(us + 1 - kLate, us, us + 1));
      if (us % 50 == 49) writer.flush();
    }
    sink.on(model::Loss{1, 0, kKernels * kLost / kPeriod, kStart, kStart + kKernels * 1000});
  });
  for (const std::uint64_t size : {1000, 1430, 2000}) {
    session_.options.span_size_events = size;
    session_.options.output = folder_ + "/of" + std::to_string(size);
    const auto windows = split_by_event_count(session_, {kPid}).take();
    ASSERT_GT(windows.size(), 8u);
    std::multiset<std::uint32_t> seen;
    for (const model::Window& window : windows) {
      window_ = window;
      trace();
      for (const rapidjson::Value* event : events("kernel"))
        seen.insert((*event)["args"]["correlation"].GetUint());
    }
    EXPECT_EQ(seen.size(), kKernels - kLate) << size;
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), kKernels - kLate) << size;
  }
}

TEST_F(Windows, OfAProcessWithoutEventsCoverItsLife) {
  record([](model::EventSink& sink) { sink.on(model::ProcessEnd{kStart + 5'000'000, 0, 0}); });
  const auto windows = split_by_event_count(session_, {kPid}).take();
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].end_ns, kStart + 5'000'000);
  window_ = windows[0];
  trace();
  EXPECT_EQ(events("python").size(), 1u);
}

TEST_F(Windows, AppearTogetherOrNotAtAll) {
  // given two processes, the file of the second exists already
  record([](model::EventSink&) {});
  record([](model::EventSink&) {}, 5000);
  std::filesystem::create_directories(session_.options.output);
  const std::string blocked =
      session_.options.output + "/host_5000.1700000000000000000.pt.trace.json.gz";
  std::ofstream(blocked) << "mine";
  // when written
  const auto files = write_window(session_, window_, {kPid, 5000}, {});
  // then neither appears and nothing is left behind
  ASSERT_FALSE(files.ok());
  EXPECT_NE(files.error().message.find("-f to overwrite"), std::string::npos);
  std::size_t left = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(session_.options.output))
    ++left;
  EXPECT_EQ(left, 1u);
  EXPECT_EQ(test::read_file(blocked), "mine");
}

TEST_F(Windows, ProgressNeverExceedsItsTotal) {
  record_run(200'000, 0);
  window_.end_ns = kStart + 200'000'000;
  std::uint64_t calls = 0;
  const auto files =
      write_window(session_, window_, {kPid}, [&](std::uint64_t done, std::uint64_t total) {
        ++calls;
        EXPECT_LE(done, total);
        ASSERT_EQ(total, 3 * 200'000u) << "this format goes three times over them";
      });
  ASSERT_TRUE(files.ok());
  EXPECT_GT(calls, 0u);
}

}  // namespace
}  // namespace gpuprof::exporter
