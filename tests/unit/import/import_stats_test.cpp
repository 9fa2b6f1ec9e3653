// SPDX-License-Identifier: Apache-2.0
//
// What is in no table is reported, whatever was damaged.
#include "recording/model/loss.hpp"
#include "tests/unit/import/import_fixture.hpp"

namespace gpuprof::test {
namespace {

using importer::ImportStats;
using importer::RepairKind;
using importer::SkipReason;

class Counted : public ImportTest {
 protected:
  const ImportStats& account() const { return imported_->files.at(0).account; }
  std::uint64_t left_out(SkipReason reason) const {
    return ImportStats::sum(account().count_skipped(reason));
  }
  /// A window of 100 us, which begins at 1000 us in the file.
  static std::string own() {
    return R"("gpuprof":{"version":"1","pid":4000,"window":{"index":0,"start_ns":5000000,)"
           R"("duration_ns":100000,"first_step":0,"steps":0,"why":"x"}})";
  }
  static std::string kernel(double ts, int correlation) {
    return complete("kernel", "k", ts, 2,
                    "\"device\":0,\"stream\":7,\"correlation\":" + std::to_string(correlation), 7,
                    0);
  }
  static std::string change(char phase, const std::string& name, int us,
                            const std::string& category = "cpu_sample") {
    return fmt::format(
        R"(,{{"ph":"{}","cat":"{}","name":"{}","pid":4000,"tid":100004000,"ts":{}}})", phase,
        category, name, us);
  }
  std::string refused(const std::string& text, const std::string& name = "t.json") {
    return failure_of({file(name, text)});
  }
};

TEST_F(Counted, WhatLiesOutsideTheWindowOfOurOwnFile) {
  const std::string inside =
      complete("cpu_op", "aten::mm", 1010, 50) + "," +
      complete("cuda_runtime", "cudaLaunchKernel", 1020, 5, "\"correlation\":5") + "," +
      kernel(1090, 5) + "," + complete("cuda_runtime", "late", 1095, 5, "\"correlation\":6") + "," +
      kernel(1120, 6);
  const std::string outside =
      kernel(-1, 5) + "," + kernel(1, 5) + "," + kernel(1150, 3) + "," + kernel(6'000'000, 6) +
      "," + complete("cpu_op", "before", 1, 2) + "," +
      complete("cuda_runtime", "cudaFree", 2000, 1) + "," +
      complete("cuda_sync", "Context Sync", 1200, 1, "", 7, 0) + "," +
      complete("overhead", "o", 1200, 1) + "," + complete("python_function", "a.py(1): f", 1, 5) +
      R"(,{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":4000,"tid":100,"ts":5,)"
      R"("args":{"Bytes":64,"Device Id":0,"Device Type":1}})" +
      "," + complete("user_annotation", "ProfilerStep#1", 500, 600, "\"source\":\"loop\"");
  const auto told = import_events(inside + "," + outside, own());
  EXPECT_EQ(left_out(SkipReason::kOutsideWindow), 11u);
  EXPECT_EQ(account().count_skipped(SkipReason::kOutsideWindow).at("kernel"), 4u);
  EXPECT_EQ(account().count_imported(), 5u);
  EXPECT_EQ(account().events(), 16u);
  EXPECT_EQ(told->kernels.size(), 2u);
  EXPECT_TRUE(has_note("outside the window that the file states")) << imported_->notes.at(0);
}

TEST_F(Counted, AStepThatReachesABitOverTheWindowIsInIt) {
  const auto told = import_events(
      complete("cpu_op", "a", 1010, 5) + "," +
          complete("user_annotation", "ProfilerStep#1", 1010, 90.9, "\"source\":\"loop\""),
      own());
  EXPECT_EQ(left_out(SkipReason::kOutsideWindow), 0u);
  ASSERT_EQ(told->steps.size(), 1u);
}

TEST_F(Counted, ChangesOfSamplesThatFitNoOthers) {
  import_events(complete("cpu_op", "a", 1, 2) + change('E', "lost", 10) + change('B', "f", 20) +
                change('B', "g", 30) + change('E', "h", 35) + change('E', "g", 40) +
                change('E', "f", 15) + change('E', "f", 50) + change('B', "open", 60) +
                change('E', "waits", 70, "cpu_sample_blocked"));
  EXPECT_EQ(account().count_skipped(SkipReason::kUnpaired).at("cpu_sample"), 3u);  // lost, h, open
  EXPECT_EQ(account().count_skipped(SkipReason::kUnpaired).at("cpu_sample_blocked"), 1u);
  EXPECT_EQ(left_out(SkipReason::kOutOfOrder), 1u);
  EXPECT_EQ(account().count_imported(), 5u);
  EXPECT_EQ(account().events(), 10u);
}

TEST_F(Counted, WhatOnlyLooksLikeARepeat) {
  import_events(complete("cpu_op", "a", 1010, 2) +
                    R"(,{"ph":"M","name":"gemm","cat":"kernel","pid":0,"tid":7,"ts":3,"dur":4})"
                    R"(,{"ph":"M","name":"process_name","pid":0,"args":{"name":"x"}})"
                    R"(,{"ph":"s","name":"process_labels","pid":0,"tid":7,"ts":3,"id":1})"
                    R"(,{"ph":"s","name":"ac2g","pid":0,"tid":7,"ts":3,"id":1})"
                    R"(,{"ph":"b","cat":"async","name":"launch","pid":0,"tid":7,"ts":3,"id":1})"
                    R"(,{"ph":"C","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":3})",
                own());
  EXPECT_EQ(left_out(SkipReason::kUnknownKind), 3u);
  EXPECT_EQ(left_out(SkipReason::kUnsupportedInstant), 1u);
  EXPECT_EQ(ImportStats::sum(account().count_duplicates()), 2u);
}

TEST_F(Counted, ArrowsThatLeadToNoOperator) {
  const auto arrow = [](char phase, int us) {
    return fmt::format(
        R"(,{{"ph":"{}","cat":"fwdbwd","name":"fwdbwd","id":1,"pid":4000,"tid":100,"ts":{}}})",
        phase, us);
  };
  import_events(complete("cpu_op", "a", 1, 2) + "," + complete("cpu_op", "b", 10, 2) +
                arrow('s', 1) + arrow('f', 11));
  EXPECT_EQ(account().count_skipped(SkipReason::kUnpaired).at("arrow"), 1u);
}

TEST_F(Counted, AnArrayWithoutItsEndMayHaveBeenCut) {
  const std::string one = complete("cpu_op", "a", 1, 2);
  for (const std::string& text : {"[" + one, "[" + one + ",\n"}) {
    import_all({file("a.json", text)});
    EXPECT_EQ(account().count_repairs(RepairKind::kUnterminatedArray), 1u) << text;
  }
  import_all({file("a.json", "[" + one + "]\n")});
  EXPECT_EQ(account().count_repairs(RepairKind::kUnterminatedArray), 0u);
}

TEST_F(Counted, WhatFollowsATraceIsNotPassedOver) {
  const std::string list = "[" + complete("cpu_op", "a", 1, 2) + "]";
  const std::string object = trace(complete("cpu_op", "a", 1, 2));
  for (const std::string& one : {list, object}) {
    EXPECT_NE(refused(one + "\n" + one).find("a second JSON text follows"), std::string::npos);
    EXPECT_NE(refused(one + "]").find("expected the end of the file"), std::string::npos);
    EXPECT_NE(refused(gzipped(one) + gzipped(one), "t.json.gz").find("a second JSON text follows"),
              std::string::npos);
  }
}

TEST_F(Counted, HolesInATextAreTold) {
  const std::string nul(100, '\0');
  import_all({file("a.json", trace(complete("cpu_op", "a" + nul + "b", 1, 2)) + nul)});
  EXPECT_EQ(account().count_repairs(RepairKind::kNulByte), 200u);
  EXPECT_TRUE(has_note("200 NUL bytes"));
  import_all({file("b.json.gz", gzipped(trace(complete("cpu_op", "a", 1, 2)) + nul))});
  EXPECT_EQ(account().count_repairs(RepairKind::kNulByte), 100u);
}

TEST_F(Counted, NumbersBeyondAllAreNone) {
  for (const std::string& number : {std::string("1e999"), "-1" + std::string(400, '0')}) {
    auto told =
        import_events(complete("cpu_op", "a", 1, 2, "\"External id\":" + number),
                      R"("deviceProperties":[{"id":0,"name":"GPU","numSms":)" + number + "}]");
    EXPECT_EQ(account().count_repairs(RepairKind::kNotANumber), 2u);
    EXPECT_EQ(told->devices.size(), 1u);
    import_events(complete("cpu_op", "a", 1, 2) +
                  R"(,{"ph":"X","cat":"cpu_op","pid":1,"tid":1,"dur":2,"ts":)" + number + "}");
    EXPECT_EQ(left_out(SkipReason::kNoTime), 1u);
  }
}

// What an export of the imported events states again: as this version words it, and as others did.
constexpr const char* kStatedAgain[] = {
    "no GPU work: no CUDA call and no GPU activity was recorded in this window",
    "no operators: the process ran no PyTorch operator and pushed no NVTX range in this window",
    "no steps: this window contains no complete step, so the whole window counts as one",
    "no stack samples: no thread was sampled in this window",
    "CUPTI's clock changed during the recording; the times of 12 records may be off by up to 1 ms",
    "3 records are missing: ring full",
    "1 thread was not sampled because it blocks the sampling signal (pool 17)",
    "2 threads were not sampled while they blocked the sampling signal (pool 18, pool 19)",
    "1 step is missing: its start was lost, so it is part of the previous step",
    "2 names were too long to be recorded in full; they end in …#HASH to stay unique",
    "4 activity buffers were cut short at records of unknown kind; their last 1234 bytes are lost",
    "12 CUPTI records were converted with an imprecise clock rate; durations may be off by up to "
    "0.38 %",
    "2 ranges do not nest; they are drawn as separate spans and do not count as operators",
    "1 range extends beyond the window and is cut at its boundary",
    "2 names are too long to be written in full; they end in …#HASH to stay unique",
    "4 ProfilerStep# ranges of the program are not drawn: this file has other steps",
    "no GPU rows: no CUDA call and no GPU activity was seen in this window",
    "no sampled stacks: no thread was sampled in this window",
    "CUPTI's clock changed while recording and 12 of its records fit the clocks before and after; "
    "their times may be off by up to 1 ms",
    "1 thread is missing: thread blocks the sampling signal (pool 17)",
    "1 thread blocked the sampling signal for some time and could not be sampled then",
    "1 thread blocked our signal, for a while at least; what was computed then was not sampled",
    "2 names were too long to be recorded whole; …#HASH at the end tells them apart",
    "4 buffers of CUPTI were cut short at a record of a kind that CUPTI's iterator does not know; "
    "the records behind it are lost, 1234 bytes",
    "12 records of CUPTI were converted before the rate of its clock was known well; durations may "
    "be off by up to 0.38 %",
    "1 range that does not nest is drawn as a span of its own and is no operator",
    "2 ranges and operators nested deeper than 100 are drawn as spans of their own: TensorBoard's "
    "plugin would not load the file",
    "1 stack has calls of modules nested deeper than 40, which are not drawn: TensorBoard's plugin "
    "would not load the file",
    "1 range holds whole steps and no launch of its own: drawn, but no operator",
    "2 ranges reach over the border of the window and are cut there",
    "1 host call inside another one with the same correlation id is drawn without link",
    "4 ranges ProfilerStep# of the program are not drawn: the steps of this file are others",
};

TEST_F(Counted, SentencesThatAnExportStatesAgainAreNotKept) {
  const std::string kept = "the program was already using CUDA",
                    counted = "2 GPU events launched before the window are not in the file";
  std::string head = own();
  head.pop_back();
  head += ",\"missing\":[";
  for (const char* const message : kStatedAgain) head += "\"" + std::string(message) + "\",";
  head += "\"" + kept + "\",\"" + counted + "\"]}";
  const auto told = import_events(complete("cpu_op", "aten::mm", 1010, 50), head);
  EXPECT_EQ(told->notices, (std::vector<std::string>{kept, counted}));
}

TEST_F(Counted, ReasonsOfLossesAreReadByTheirNamesOfEarlierVersions) {
  const std::pair<const char*, model::LossReason> former[] = {
      {"thread blocks our signal", model::LossReason::kThreadMasked},
      {"waiting thread went on while its stack was read", model::LossReason::kBlockedTorn},
      {"GPU record with bad times", model::LossReason::kCuptiBadTime},
      {"inner call of another call", model::LossReason::kDuplicateCall},
      {"thread busy in our code", model::LossReason::kSampleBusy},
      {"byte lost in cut CUPTI buffers", model::LossReason::kCuptiUnknownBytes},
      {"begin of a step lost", model::LossReason::kStepLost},
      {"graph node left out", model::LossReason::kGraphNodeSkipped},
  };
  std::string dropped;
  for (const auto& [name, reason] : former)
    dropped += fmt::format(R"({}"{}":{{"in this window":3,"since the start":3}})",
                           dropped.empty() ? "" : ",", name);
  std::string head = own();
  head.pop_back();
  head += ",\"dropped\":{" + dropped + "}}";
  const auto told = import_events(complete("cpu_op", "aten::mm", 1010, 50), head);
  ASSERT_EQ(told->losses.size(), std::size(former));
  for (std::size_t i = 0; i < std::size(former); ++i)
    EXPECT_EQ(told->losses[i].reason, static_cast<std::uint32_t>(former[i].second))
        << former[i].first;
}

TEST_F(Counted, NumbersOfTheHeadMayBeTexts) {
  import_events(complete("cpu_op", "a", 1, 2), R"("baseTimeNanoseconds":"1700000000000000000")");
  EXPECT_EQ(session_.windows.at(0).stamp_real_ns, 1700000000000001000u);
}

TEST_F(Counted, FramesAloneAreNothingToShow) {
  const std::string output = refused(trace(complete("python_function", "a.py(1): f", 1, 5) + ",7"));
  EXPECT_NE(output.find("has nothing to show: no operator"), output.npos) << output;
  EXPECT_NE(output.find("1 event of"), output.npos) << output;
}

TEST_F(Counted, HalvesAloneAreNoTraceOfSomethingElse) {
  const std::string output = refused(trace(change('E', "f", 10).substr(1) + ",7"));
  EXPECT_NE(
      output.find("has nothing to show, because all its events are skipped: begin without end"),
      output.npos)
      << output;
  EXPECT_NE(output.find("1 of 'cpu_sample'"), output.npos) << output;
}

TEST_F(Counted, RepeatsAloneAreNoTraceOfSomethingElse) {
  const std::string output =
      refused(trace(R"({"ph":"s","cat":"ac2g","name":"ac2g","pid":0,"tid":7,"ts":3,"id":1})"));
  EXPECT_NE(output.find("only arrows and marks"), output.npos) << output;
}

}  // namespace
}  // namespace gpuprof::test
