// SPDX-License-Identifier: Apache-2.0
//
// What a file says of losses and of names that are not whole.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "analysis/export/export.hpp"
#include "gpuprof/base/notices.hpp"
#include "recording/model/loss.hpp"
#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using Shortfalls = test::ExportTest;

TEST_F(Shortfalls, ALossToldByTheFlushAfterTheWindowIsTheWindows) {
  record([this](model::EventSink& sink) {
    sink.on(model::Loss{4, 0, 5, window_.end_ns + 10, window_.end_ns + 20});
    sink.on(model::Loss{4, 0, 7, window_.end_ns + 200, window_.end_ns + 300});
    sink.on(model::Loss{4, 0, 9, kStart - 20, kStart - 10});
  });
  window_.settled_ns = window_.end_ns + 100;
  const auto& dropped = trace()["gpuprof"]["dropped"]["dropped by CUPTI"];
  EXPECT_EQ(dropped["in this window"].GetUint(), 5u);
  EXPECT_EQ(dropped["since the start"].GetUint(), 21u);
}

TEST_F(Shortfalls, ALossThatTheWindowBeforeToldOfIsNotToldAgain) {
  record([](model::EventSink& sink) {
    sink.on(model::Loss{4, 0, 5, kStart + 10, kStart + 20});
    sink.on(model::Loss{4, 0, 7, kStart + 200, kStart + 300});
    sink.on(model::Loss{1, 0, 100, kStart, kStart + 400});
  });
  window_.losses_from_ns = kStart + 100;
  const auto& dropped = trace()["gpuprof"]["dropped"];
  EXPECT_EQ(dropped["dropped by CUPTI"]["in this window"].GetUint(), 7u);
  EXPECT_EQ(dropped["ring full"]["in this window"].GetUint(), 75u);
}

TEST_F(Shortfalls, ABlockThatTheDaemonIsWritingIsNotLost) {
  record([](model::EventSink& sink) { sink.on(call(1, 10, 20)); });
  spool::ProcessEntry& entry = session_.processes.back();
  entry.bytes = std::filesystem::file_size(entry.spool_path);
  std::ofstream(entry.spool_path, std::ios::app) << "half a block";
  trace();
  EXPECT_THAT(written_.missing, ::testing::Each(::testing::Not(::testing::HasSubstr("spool"))));
  entry.bytes = ~0ULL;
  session_.options.force = true;  // once more
  trace();
  EXPECT_THAT(written_.missing,
              ::testing::Contains(::testing::HasSubstr("ends in an incomplete block")))
      << "of a daemon that died";
}

TEST_F(Shortfalls, OfTheLastWindowIsEverythingLostSinceItsStart) {
  record([this](model::EventSink& sink) {
    sink.on(model::Loss{4, 0, 7, window_.end_ns + 5'000'000, window_.end_ns + 6'000'000});
  });
  window_.settled_ns = ~0ULL;
  EXPECT_EQ(trace()["gpuprof"]["dropped"]["dropped by CUPTI"]["in this window"].GetUint(), 7u);
}

TEST_F(Shortfalls, OfALossThatReachesOverAWindowsBorderItsShareIsTheWindows) {
  const std::uint64_t end_ns = window_.end_ns;
  record([&](model::EventSink& sink) {
    sink.on(model::Loss{1, 0, 100, end_ns - 250, end_ns + 750});
    sink.on(model::Loss{1, 0, 1000, kStart - 300, kStart + 700});
    sink.on(model::Loss{3, 0, 1, kStart - 300, kStart + 1});
  });
  const auto& dropped = trace()["gpuprof"]["dropped"];
  EXPECT_EQ(dropped["ring full"]["in this window"].GetUint(), 25u + 700u);
  EXPECT_EQ(dropped["ring full"]["since the start"].GetUint(), 1100u);
  EXPECT_EQ(dropped["record too long"]["in this window"].GetUint(), 1u);
}

TEST_F(Shortfalls, OfARunThatIsRecordedFromItsStartLacksAllThatWasLostBefore) {
  window_.gapless = true;
  record([&](model::EventSink& sink) {
    sink.on(model::Loss{5, 0, 98, kStart - 10, kStart + 990});
    sink.on(model::Loss{3, 0, 2, kStart - 20, kStart - 10});
  });
  const auto& dropped = trace()["gpuprof"]["dropped"];
  EXPECT_EQ(dropped["GPU record with invalid times"]["in this window"].GetUint(), 98u);
  EXPECT_EQ(dropped["record too long"]["in this window"].GetUint(), 2u);
}

/// Kernels by the sentences about their launches: who is drawn, and what is said.
class LostCalls : public Shortfalls {
 protected:
  static constexpr std::uint32_t kEarlier = 5, kLost = 7, kKept = 9;
  /// Two kernels of calls that are not in the window, one of which came before it; one of a call
  /// that is. `loss`: of records, told at the window's begin.
  void record_boundary(model::LossReason loss) {
    record([&](model::EventSink& sink) {
      model::ApiCall earlier = call(kEarlier, 0, 0);
      earlier.start_ns = kStart - 2000, earlier.end_ns = kStart - 1000;
      sink.on(earlier);
      for (const std::uint32_t id : {kEarlier, kLost, kKept})
        sink.on(kernel(id, 100 + id, 101 + id));
      sink.on(call(kKept, 90, 91));
      sink.on(model::Loss{static_cast<std::uint32_t>(loss), 0, 1, kStart + 10, kStart + 20});
    });
  }
  std::vector<std::uint32_t> drawn() {
    trace();
    std::vector<std::uint32_t> ids;
    for (const rapidjson::Value* kernel : events("kernel"))
      ids.push_back((*kernel)["args"]["correlation"].GetUint());
    std::sort(ids.begin(), ids.end());
    return ids;
  }
};

constexpr char kOneLost[] =
    "1 GPU event is drawn without the host call that launched it: the call was not recorded";
constexpr char kOneBefore[] = "1 GPU event launched before the window is not in the file";
constexpr char kTwoBefore[] = "2 GPU events launched before the window are not in the file";

TEST_F(LostCalls, AtTheBeginOfAWindowThatFollowsAnotherTheirKernelsAreDrawn) {
  record_boundary(model::LossReason::kRingFull);
  window_.gapless = true;
  EXPECT_THAT(drawn(), testing::ElementsAre(kLost, kKept));
  EXPECT_THAT(written_.missing, testing::IsSupersetOf({kOneLost, kOneBefore}));
}

TEST_F(LostCalls, AllOfAWindowsTheirKernelsAreDrawn) {
  window_.start_ns += 95'000;
  record_boundary(model::LossReason::kRingFull);
  window_.gapless = true;
  EXPECT_THAT(drawn(), testing::ElementsAre(kLost)) << "the other two came before it";
  EXPECT_THAT(written_.missing, testing::IsSupersetOf({kOneLost, kTwoBefore}));
}

TEST_F(LostCalls, BeforeARecordingBeganAreNotCalledLost) {
  record_boundary(model::LossReason::kRingFull);
  EXPECT_THAT(drawn(), testing::ElementsAre(kKept));
  EXPECT_THAT(written_.missing, testing::Contains(kTwoBefore));
}

TEST_F(LostCalls, AreNoneWhereNoRecordWasLost) {
  record_boundary(model::LossReason::kNameTruncated);
  window_.gapless = true;
  EXPECT_THAT(drawn(), testing::ElementsAre(kKept));
  EXPECT_THAT(written_.missing, testing::Contains(kTwoBefore));
}

TEST_F(Shortfalls, AStepWhoseBeginIsLostIsToldAsAStep) {
  record([](model::EventSink& sink) { sink.on(model::Loss{38, 0, 1, kStart + 10, kStart + 20}); });
  trace();
  EXPECT_THAT(written_.missing,
              ::testing::Contains(
                  "1 step is missing: its start was lost, so it is part of the previous step"));
}

constexpr char kRoughClock[] =
    "12 CUPTI records were converted with an imprecise clock rate; durations may be off by up to "
    "0.38 %";

TEST_F(Shortfalls, TimesOfAClockThatWasNotKnownWellAreTold) {
  record([](model::EventSink& sink) {
    sink.on(model::Fact{"clock.rough_records", "12"});
    sink.on(model::Fact{"clock.rough_ppm", "3800"});
  });
  trace();
  EXPECT_THAT(written_.missing, ::testing::Contains(kRoughClock));
}

TEST_F(Shortfalls, BelowAHundredMillionthsAClockIsKnownWellEnough) {
  record([](model::EventSink& sink) {
    sink.on(model::Fact{"clock.rough_records", "12"});
    sink.on(model::Fact{"clock.rough_ppm", "99"});
  });
  trace();
  EXPECT_THAT(written_.missing, ::testing::Each(::testing::Not(::testing::HasSubstr("clock"))));
}

TEST_F(Shortfalls, CutBuffersAreCountedAsBuffersWithTheirBytes) {
  record([](model::EventSink& sink) {
    sink.on(model::Loss{7, 0, 4, kStart + 10, kStart + 20});
    sink.on(model::Loss{35, 0, 1234, kStart + 10, kStart + 20});
  });
  trace();
  EXPECT_TRUE(std::any_of(written_.missing.begin(), written_.missing.end(),
                          [](const std::string& message) {
                            return message ==
                                   "4 activity buffers were cut short at records of unknown kind; "
                                   "their last 1234 bytes "
                                   "are lost";
                          }))
      << text_.substr(0, 3000);
}

TEST_F(Shortfalls, ThreadsThatBlockOurSignalAreNamed) {
  record([](model::EventSink& sink) {
    sink.on(model::ThreadName{17, 2, kStart, "pool"});
    sink.on(model::Loss{27, 0, 1, kStart + 10, kStart + 20});
  });
  trace();
  EXPECT_THAT(written_.missing,
              testing::Contains(
                  "1 thread was not sampled because it blocks the sampling signal (pool 17)"));
}

TEST_F(Shortfalls, ThreadsWithSamplesBlockedOurSignalForAWhileOnly) {
  record([](model::EventSink& sink) {
    for (std::uint32_t tid : {17, 18, 19}) sink.on(model::ThreadName{tid, 2, kStart, "pool"});
    sink.on(model::ThreadName{20, 2, kStart + 2'000'000, "later"});
    model::Sample sample{};
    sample.ts_ns = kStart + 10;
    for (sample.tid = 18; sample.tid <= 19; ++sample.tid) sink.on(sample);
    sink.on(model::Loss{27, 0, 1, kStart + 10, kStart + 20});
  });
  trace();
  EXPECT_THAT(written_.missing,
              testing::IsSupersetOf(
                  {"1 thread was not sampled because it blocks the sampling signal (pool 17)",
                   "2 threads were not sampled while they blocked the sampling signal "
                   "(pool 18, pool 19)"}));
}

// A trace that is read back says how many there were, not who.
TEST_F(Shortfalls, OfThreadsThatAreNotKnownNoneIsCalledMissing) {
  record([](model::EventSink& sink) {
    sink.on(model::ThreadName{17, 0, kStart, "main"});
    model::Sample sample{};
    sample.ts_ns = kStart + 10;
    sample.tid = 17;
    sink.on(sample);
    sink.on(model::Loss{27, 0, 1, kStart + 10, kStart + 20});
  });
  trace();
  EXPECT_THAT(written_.missing,
              testing::Contains("1 thread was not sampled while it blocked the sampling signal"));
}

TEST_F(Shortfalls, AThreadThatBlocksOurSignalIsToldInOneFile) {
  record([this](model::EventSink& sink) {
    sink.on(model::ThreadName{17, 2, kStart, "first"});
    sink.on(model::Loss{27, 0, 1, kStart, kStart});
    sink.on(model::ThreadName{17, 2, window_.end_ns + 10, "first"});
    sink.on(model::ThreadName{18, 2, window_.end_ns + 10, "second"});
    sink.on(model::Loss{27, 0, 1, window_.end_ns + 10, window_.end_ns + 10});
  });
  trace();
  EXPECT_THAT(written_.missing,
              testing::Contains(
                  "1 thread was not sampled because it blocks the sampling signal (first 17)"));
  session_.options.force = true;
  window_.start_ns = window_.end_ns;
  window_.end_ns += 1000;
  trace();
  EXPECT_THAT(written_.missing,
              testing::Contains(
                  "1 thread was not sampled because it blocks the sampling signal (second 18)"));
}

TEST_F(Shortfalls, AThrownAwaySampleIsToldAsOne) {
  record([](model::EventSink& sink) { sink.on(model::Loss{18, 0, 1, kStart + 10, kStart + 20}); });
  trace();
  EXPECT_THAT(
      written_.missing,
      testing::Contains("1 stack sample is missing: thread resumed while it was being unwound"));
}

TEST_F(Shortfalls, WithoutSamplingNoSamplesAreMissing) {
  const auto about_samples = testing::Contains(testing::HasSubstr("no stack samples"));
  record([](model::EventSink&) {});
  session_.options.rate_hz = 0;
  trace();
  EXPECT_THAT(written_.missing, testing::Not(about_samples));
  session_.options.force = true;
  session_.options.rate_hz = 100;
  session_.options.trace = 1;
  trace();
  EXPECT_THAT(written_.missing, testing::Not(about_samples));
  session_.options.trace = 31;
  trace();
  EXPECT_THAT(written_.missing, testing::Contains("no stack samples: this window lasts 1 ms, and "
                                                  "each thread is sampled every 10 ms"));
  window_.end_ns = kStart + 10'000'000;
  trace();
  EXPECT_THAT(written_.missing,
              testing::Contains("no stack samples: no thread was sampled in this window"));
}

TEST_F(Shortfalls, AClosingNoticeTakesThePlaceOfItsOpeningOne) {
  record([](model::EventSink& sink) {
    const std::uint32_t subject = base::kNoticeCuptiYielded;
    sink.on(model::Notice{kStart, 1, 1, subject | base::kNoticeProvisional, "it goes on"});
    sink.on(model::Notice{kStart, 1, 1, subject | base::kNoticeFinal, "it is over"});
    sink.on(model::Notice{kStart, 1, 1, 39, "something else"});
  });
  trace();
  EXPECT_THAT(written_.missing, testing::Contains("it is over"));
  EXPECT_THAT(written_.missing, testing::Contains("something else"));
  EXPECT_THAT(written_.missing, testing::Not(testing::Contains("it goes on")));
}

TEST(AddSentence, NumbersOfSeveralFilesAreAddedUp) {
  std::vector<std::string> all;
  for (const char* message :
       {"1 record is missing: ring full", "no steps: none", "2 records are missing: ring full",
        "no steps: none", "1 record is missing: dropped by CUPTI",
        "1 thread was not sampled because it blocks the sampling signal (a 1)",
        "2 threads were not sampled because they block the sampling signal (b 2, c 3)",
        "1 step is missing: its start was lost, so it is part of the previous step",
        "2 steps are missing: their starts were lost, so they are part of the previous steps",
        "1 range extends beyond the window and is cut at its boundary",
        "1 range extends beyond the window and is cut at its boundary"})
    merge_message(all, message);
  EXPECT_THAT(
      all,
      testing::ElementsAre(
          "3 records are missing: ring full", "no steps: none",
          "1 record is missing: dropped by CUPTI",
          "3 threads were not sampled because they block the sampling signal (a 1, b 2, c 3)",
          "3 steps are missing: their starts were lost, so they are part of the previous steps",
          "2 ranges extend beyond the window and are cut at its boundary"));
}

// when the name of a real kernel has 10,000 characters
TEST_F(Shortfalls, LongKernelNamesAreWrittenWhole) {
  std::string mangled = "_Z4workI";
  const std::string kernel_name = "elementwise_kernel_" + std::string(81, 'x');
  mangled += "N2at6native100" + kernel_name + "E";
  for (int i = 0; i < 100; ++i) mangled += "S2_";
  mangled += "EvT_";
  record([&](model::EventSink& sink) {
    sink.on(model::StringDef{1, mangled});
    model::Kernel k = kernel(1, 10, 20);
    k.name = 1;
    sink.on(k);
  });
  trace();
  const std::string name = events("kernel").at(0)->FindMember("name")->value.GetString();
  EXPECT_EQ(name.substr(0, 10), "void work<");
  EXPECT_GT(name.size(), 10'000u);
  EXPECT_EQ(name.substr(name.size() - 4), "xxx)") << "whole";
}

TEST_F(Shortfalls, OfTooManySentencesTheNewestAreInTheFileAndTheRestIsCounted) {
  record([](model::EventSink& sink) {
    for (int i = 0; i < 150; ++i)
      sink.on(model::Notice{kStart, 1, 0, 0, "remark " + std::to_string(i)});
    for (int i = 0; i < 250; ++i)
      sink.on(model::Notice{kStart, 1, 1, 0, "sentence " + std::to_string(i)});
  });
  trace();
  EXPECT_THAT(written_.missing, ::testing::Contains("sentence 249"));
  EXPECT_THAT(written_.missing, ::testing::Contains("sentence 50"));
  EXPECT_THAT(written_.missing, ::testing::Not(::testing::Contains("sentence 49")));
  EXPECT_THAT(written_.missing,
              ::testing::Contains(::testing::StartsWith("200 earlier notices about process")));
}

TEST_F(Shortfalls, AThreadBeyondThoseThatAreKeptDoesNotNameTheMainOne) {
  record([](model::EventSink& sink) {
    sink.on(model::ThreadName{kPid, 0, kStart, "python3"});
    for (std::uint32_t i = 1; i <= 20'100; ++i)
      sink.on(model::ThreadName{kPid + i, 0, kStart, "worker"});
  });
  trace();
  EXPECT_THAT(text_, ::testing::HasSubstr("python3 " + std::to_string(kPid) + " (main)"));
}

// when two names differ beyond the bound
TEST_F(Shortfalls, NamesThatAreCutStayDifferentAndAreCounted) {
  const std::string same(100'000, 'k');
  record([&](model::EventSink& sink) {
    sink.on(model::StringDef{1, same + "1"});
    sink.on(model::StringDef{2, same + "2"});
    for (std::uint32_t i = 1; i <= 2; ++i) {
      model::Kernel k = kernel(i, 10 * i, 10 * i + 5);
      k.name = i;
      sink.on(k);
    }
  });
  trace();
  const auto kernels = events("kernel");
  ASSERT_EQ(kernels.size(), 2u);
  const std::string one = (*kernels[0])["name"].GetString(),
                    two = (*kernels[1])["name"].GetString();
  EXPECT_NE(one, two);
  EXPECT_EQ(one.substr(0, 65'536), same.substr(0, 65'536));
  EXPECT_EQ(one.substr(65'536, 4), "…#");
  EXPECT_TRUE(
      std::any_of(written_.missing.begin(), written_.missing.end(), [](const std::string& s) {
        return s.rfind("2 names are too long to be written in full", 0) == 0;
      }));
}

}  // namespace
}  // namespace gpuprof::exporter
