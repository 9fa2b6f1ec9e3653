// SPDX-License-Identifier: Apache-2.0
//
// Sources of CUPTI's that deliver nothing, and what is no silence.
#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kHalf = kSecond / 2;

class AnswersTest : public AssemblerTest {
 protected:
  AnswersTest() { now_ = kSecond; }
  void runs(std::uint32_t correlation, std::uint64_t ts, std::uint16_t more = 0) {
    const auto flags = static_cast<std::uint16_t>(wire::kLaunchDeviceWork | more);
    put(wire::Launch{ts, 0, correlation, 2, flags, 211, 100, 0, 0});
  }
  void waits(std::uint32_t correlation, std::uint64_t ts) {
    put(wire::Launch{ts, 0, correlation, 2, 0, 165, 100, 0, 0});
  }
  /// A flush at that time: the clock is read before and behind it.
  void flush(std::uint64_t ts) {
    for (const std::uint64_t at : {ts, ts + 1000})
      put(wire::ClockSync{kRealOffset + at, at, kRealOffset + at, at, 0, 10, 0}, {}, {5, 900, 1});
    now_ = std::max(now_, ts);
    poll_rounds(4);
  }
  static constexpr std::uint32_t kStream = 3, kContext = 4;
  void waited(std::uint64_t start, std::uint64_t end, std::uint32_t type = kContext) {
    wire::Sync sync{};
    sync.start_ns = kRealOffset + start;
    sync.end_ns = kRealOffset + end;
    sync.type = type;
    put(sync, {}, {5, 900, 1});
  }
  /// A launch at that time, and what of it comes.
  void work(std::uint32_t correlation, std::uint64_t ts, bool call, bool ran) {
    runs(correlation, ts);
    if (call) api(correlation, ts, ts + 5000);
    if (ran) kernel(correlation, ts + 6000, ts + 9000);
  }
  bool silent(CuptiSource source, std::uint64_t at) const {
    return assembler_->delivery().is_silent(source, at);
  }
  void expect_all_heard(std::uint64_t at) const {
    for (const CuptiSource source :
         {CuptiSource::kApiCalls, CuptiSource::kGpuActivity, CuptiSource::kCallbacks})
      EXPECT_FALSE(silent(source, at)) << static_cast<int>(source);
  }
};

TEST_F(AnswersTest, WhatIsAnsweredIsNoSilence) {
  for (std::uint32_t i = 1; i <= 10; ++i) work(i, kSecond + i * 1000, true, true);
  waited(kSecond + 20'000, kSecond + 30'000);
  flush(kSecond + 40'000);
  flush(kSecond + 50'000);
  expect_all_heard(3 * kSecond);
  EXPECT_EQ(10u, assembler_->delivery().delivered(CuptiSource::kApiCalls));
  EXPECT_EQ(10u, assembler_->delivery().delivered(CuptiSource::kGpuActivity));
}

TEST_F(AnswersTest, NoCallsFromTheStart) {
  for (std::uint32_t i = 1; i <= 10; ++i) work(i, kSecond + i * 1000, false, true);
  flush(kSecond + 40'000);
  flush(kSecond + 50'000);
  EXPECT_FALSE(silent(CuptiSource::kApiCalls, kSecond + kHalf)) << "not due yet";
  EXPECT_TRUE(silent(CuptiSource::kApiCalls, kSecond + kHalf + 1000));
  EXPECT_EQ(kSecond + 1000, assembler_->delivery().silent_since_ns(CuptiSource::kApiCalls));
  EXPECT_FALSE(silent(CuptiSource::kGpuActivity, 3 * kSecond));
}

TEST_F(AnswersTest, NoCallsFromTheMiddleOn) {
  work(1, kSecond + 1000, true, true);
  flush(kSecond + 20'000);
  work(2, kSecond + 30'000, false, true);
  work(3, kSecond + 31'000, false, true);
  flush(kSecond + 40'000);
  flush(kSecond + 50'000);
  EXPECT_TRUE(silent(CuptiSource::kApiCalls, 2 * kSecond));
  EXPECT_EQ(kSecond + 30'000, assembler_->delivery().silent_since_ns(CuptiSource::kApiCalls));
  work(4, 2 * kSecond, true, true);
  flush(2 * kSecond + 20'000);
  EXPECT_FALSE(silent(CuptiSource::kApiCalls, 4 * kSecond)) << "they come again";
}

TEST_F(AnswersTest, NothingIsDueBeforeCuptiWasAsked) {
  flush(kSecond);
  work(1, kSecond + 500'000, false, false);
  work(2, kSecond + 510'000, false, false);
  EXPECT_FALSE(silent(CuptiSource::kApiCalls, 5 * kSecond)) << "its flush hangs, or comes later";
  flush(kSecond + 600'000);
  flush(kSecond + 700'000);
  EXPECT_TRUE(silent(CuptiSource::kApiCalls, 5 * kSecond));
}

TEST_F(AnswersTest, ACallThatItsThreadHasNotLeftIsNotDue) {
  work(1, kSecond + 1000, true, true);
  work(2, kSecond + 2000, false, true);  // it stands inside, or recording ends amid it
  flush(kSecond + 20'000);
  flush(kSecond + 30'000);
  expect_all_heard(9 * kSecond);
  waits(3, 9 * kSecond);  // it has gone on
  flush(9 * kSecond + 10'000);
  flush(9 * kSecond + 20'000);
  EXPECT_TRUE(silent(CuptiSource::kApiCalls, 9 * kSecond + 30'000));
}

TEST_F(AnswersTest, ACallAmidWhichTheRecordingEndedIsNotDueInTheNext) {
  work(1, kSecond + 1000, true, true);
  work(2, kSecond + 2000, false, true);
  assembler_->recording_stopped(kSecond + 3000);
  waits(3, 2 * kSecond);
  flush(2 * kSecond + 10'000);
  flush(2 * kSecond + 20'000);
  expect_all_heard(9 * kSecond);
}

TEST_F(AnswersTest, KernelsAreDueOnceTheProgramHasWaited) {
  work(1, kSecond + 1000, true, false);
  flush(kSecond + 20'000);
  flush(kSecond + 30'000);
  EXPECT_FALSE(silent(CuptiSource::kGpuActivity, 20 * kSecond)) << "it runs for long";
  waited(kSecond + 40'000, 2 * kSecond);
  flush(2 * kSecond + 10'000);
  EXPECT_TRUE(silent(CuptiSource::kGpuActivity, 3 * kSecond));
}

TEST_F(AnswersTest, AKernelOfAnotherStreamThanTheOneWaitedForMayRunOn) {
  work(1, kSecond + 1000, true, true);
  work(2, kSecond + 20'000, true, false);  // a collective that waits for a slower rank
  for (std::uint64_t at = kSecond + 30'000; at < kSecond + 90'000; at += 10'000) {
    waited(at, at + 5000, kStream);
    flush(at + 6000);
  }
  EXPECT_FALSE(silent(CuptiSource::kGpuActivity, 20 * kSecond));
  EXPECT_FALSE(assembler_->delivery().is_silent(CuptiSource::kGpuActivity, 20 * kSecond, true));
  work(3, 2 * kSecond, true, true);
  flush(2 * kSecond + 20'000);
  waited(2 * kSecond + 30'000, 2 * kSecond + 40'000, kStream);
  flush(2 * kSecond + 50'000);
  expect_all_heard(20 * kSecond);
}

TEST_F(AnswersTest, KernelsAreDueOnceTheProgramHasLaunchedAndWaitedForStreamsInTurn) {
  work(1, kSecond + 1000, true, false);
  waited(kSecond + 10'000, kSecond + 15'000, kStream);
  flush(kSecond + 20'000);
  work(2, kSecond + 30'000, true, false);
  flush(kSecond + 40'000);
  EXPECT_FALSE(silent(CuptiSource::kGpuActivity, 20 * kSecond));
  waited(kSecond + 50'000, kSecond + 60'000, kStream);
  flush(kSecond + 70'000);
  flush(kSecond + 80'000);
  EXPECT_TRUE(silent(CuptiSource::kGpuActivity, 20 * kSecond));
  EXPECT_EQ(kSecond + 1000, assembler_->delivery().silent_since_ns(CuptiSource::kGpuActivity));
}

TEST_F(AnswersTest, AWaitForAStreamIsEnoughAtTheEndWhereNoKernelEverCame) {
  work(1, kSecond + 1000, true, false);
  waited(kSecond + 10'000, kSecond + 15'000, kStream);
  flush(kSecond + 20'000);
  EXPECT_FALSE(silent(CuptiSource::kGpuActivity, 20 * kSecond));
  EXPECT_TRUE(assembler_->delivery().is_silent(CuptiSource::kGpuActivity, kSecond + 30'000, true));
}

TEST_F(AnswersTest, WhatTheHostDidForALaunchIsNoAnswerOfTheGpu) {
  work(1, kSecond + 1000, true, false);
  wire::Overhead loading{};
  loading.start_ns = kRealOffset + kSecond + 2000;
  loading.end_ns = kRealOffset + kSecond + 3000;
  loading.correlation = 1;
  put(loading, {}, {5, 900, 1});
  waited(kSecond + 5000, kSecond + 6000);
  flush(kSecond + 20'000);
  flush(kSecond + 30'000);
  EXPECT_TRUE(silent(CuptiSource::kGpuActivity, 5 * kSecond));
}

TEST_F(AnswersTest, WhatIsCapturedOrRefusedRunsNothing) {
  runs(1, kSecond + 1000, wire::kLaunchCaptured);
  api(1, kSecond + 1000, kSecond + 2000);
  runs(2, kSecond + 3000);
  wire::ApiCall refused{
      kRealOffset + kSecond + 3000, kRealOffset + kSecond + 4000, 0, 211, 2, 2, 100, 1, 0};
  put(refused, {}, {5, 900, 1});
  waited(kSecond + 5000, kSecond + 6000);
  flush(kSecond + 20'000);
  flush(kSecond + 30'000);
  expect_all_heard(5 * kSecond);
}

TEST_F(AnswersTest, AKernelWithBadTimesIsAnAnswer) {
  work(1, kSecond + 1000, true, false);
  kernel(1, 0, 0);
  waited(kSecond + 5000, kSecond + 6000);
  flush(kSecond + 20'000);
  flush(kSecond + 30'000);
  expect_all_heard(5 * kSecond);
}

TEST_F(AnswersTest, KernelsWhoseLaunchNoCallbackSaw) {
  for (std::uint32_t i = 1; i <= 3; ++i) {
    api(i, kSecond + i * 10'000, kSecond + i * 10'000 + 5000);
    kernel(i, kSecond + i * 10'000 + 6000, kSecond + i * 10'000 + 7000);
  }
  flush(kSecond + 50'000);
  flush(kSecond + 60'000);
  EXPECT_FALSE(silent(CuptiSource::kCallbacks, kSecond + kHalf));
  EXPECT_TRUE(silent(CuptiSource::kCallbacks, 2 * kSecond));
  EXPECT_EQ(3u, assembler_->delivery().expected(CuptiSource::kCallbacks));
  work(9, 2 * kSecond, true, true);
  EXPECT_FALSE(silent(CuptiSource::kCallbacks, 4 * kSecond));
}

TEST_F(AnswersTest, KernelsFromBeforeTheRecordingAreNobodys) {
  kernel(1, kSecond + 1000, kSecond + 2000);
  flush(kSecond + 50'000);
  flush(kSecond + 60'000);
  expect_all_heard(5 * kSecond);
}

TEST_F(AnswersTest, ARecordThatOvertakesItsLaunchIsAnAnswer) {
  api(1, kSecond + 1000, kSecond + 6000);
  kernel(1, kSecond + 7000, kSecond + 9000);
  flush(kSecond + 10'000);
  runs(1, kSecond + 1000);
  waited(kSecond + 20'000, kSecond + 30'000);
  flush(kSecond + 40'000);
  flush(kSecond + 50'000);
  EXPECT_FALSE(silent(CuptiSource::kApiCalls, 5 * kSecond));
  EXPECT_FALSE(silent(CuptiSource::kGpuActivity, 5 * kSecond));
}

TEST_F(AnswersTest, TheLastFlushIsEnoughAtTheEnd) {
  work(1, kSecond + 1000, false, true);
  work(2, kSecond + 2000, false, true);
  flush(kSecond + 20'000);
  EXPECT_FALSE(assembler_->delivery().is_silent(CuptiSource::kApiCalls, kSecond + 30'000));
  EXPECT_TRUE(assembler_->delivery().is_silent(CuptiSource::kApiCalls, kSecond + 30'000, true));
}

TEST_F(AnswersTest, WhatWasBeforeTheRecordingSaysNothing) {
  work(1, kSecond + 1000, false, false);
  assembler_->recording_stopped(kSecond + 2000);
  runs(2, 2 * kSecond);  // the next recording, whose begin is reported later
  api(2, 2 * kSecond, 2 * kSecond + 5000);
  api(1, kSecond + 1000, kSecond + 6000);
  flush(2 * kSecond + 10'000);
  flush(2 * kSecond + 30'000);
  expect_all_heard(5 * kSecond);
  EXPECT_EQ(1u, assembler_->delivery().expected(CuptiSource::kApiCalls));
  EXPECT_EQ(1u, assembler_->delivery().delivered(CuptiSource::kApiCalls));
}

TEST_F(AnswersTest, WhatAnotherProfilerWasGivenIsForgottenAtOnce) {
  work(1, kSecond + 1000, false, false);
  waited(kSecond + 2000, kSecond + 3000);
  assembler_->reset_delivery(kSecond + 10'000);
  runs(2, kSecond + 5000);  // of that time, drained later
  flush(kSecond + 20'000);
  flush(kSecond + 30'000);
  expect_all_heard(5 * kSecond);
  work(3, kSecond + 40'000, false, true);
  work(4, kSecond + 41'000, false, true);
  flush(kSecond + 50'000);
  flush(kSecond + 60'000);
  EXPECT_TRUE(silent(CuptiSource::kApiCalls, 5 * kSecond));
}

TEST_F(AnswersTest, SilenceOfARecordingThatHasEndedIsStillKnown) {
  work(1, kSecond + 1000, false, true);
  work(2, kSecond + 2000, false, true);
  assembler_->recording_stopped(kSecond + 20'000);
  flush(kSecond + 30'000);
  EXPECT_TRUE(assembler_->delivery().is_silent(CuptiSource::kApiCalls, kSecond + 40'000, true));
}

}  // namespace
}  // namespace gpuprof::ingest
