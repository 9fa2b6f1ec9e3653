// SPDX-License-Identifier: Apache-2.0
#include "cli/options/parse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/options/option_table.hpp"

namespace gpuprof::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;
using Unit = recording::Extent::Unit;

Options run(Words words) {
  words.insert(words.begin(), "run");
  auto parsed = parse(words);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return parsed ? parsed.value().options : Options{};
}

TEST(Parse, FirstWordThatIsNoOptionStartsTheProgram) {
  const Options options = run({"-o", "out", "python", "train.py", "-o", "theirs", "--help"});
  EXPECT_EQ(options.output, "out");
  EXPECT_FALSE(options.help);
  EXPECT_THAT(options.command, ElementsAre("python", "train.py", "-o", "theirs", "--help"));
}

TEST(Parse, SeparatorIsOptionalAndOnlyTheFirstOneIsOurs) {
  EXPECT_THAT(run({"--", "prog", "--", "x"}).command, ElementsAre("prog", "--", "x"));
  EXPECT_THAT(run({"-q", "--", "-odd-name"}).command, ElementsAre("-odd-name"));
  EXPECT_THAT(run({"-q", "prog", "--", "x"}).command, ElementsAre("prog", "--", "x"));
}

TEST(Parse, EmptyAndOddArgumentsOfTheProgramStay) {
  EXPECT_THAT(run({"prog", "", "a b", "[x]", "-"}).command,
              ElementsAre("prog", "", "a b", "[x]", "-"));
}

TEST(Parse, ValuesMayBeAttachedInEveryWay) {
  EXPECT_EQ(run({"-oout", "p"}).output, "out");
  EXPECT_EQ(run({"--output=out", "p"}).output, "out");
  EXPECT_EQ(run({"--output", "out", "p"}).output, "out");
  const Options bundle = run({"-fqoout", "p"});
  EXPECT_TRUE(bundle.session.force);
  EXPECT_TRUE(bundle.quiet);
  EXPECT_EQ(bundle.output, "out");
}

TEST(Parse, ValueMayLookLikeAnOption) { EXPECT_EQ(run({"-o", "-x", "p"}).output, "-x"); }

TEST(Parse, LastOfARepeatedOptionCounts) {
  EXPECT_EQ(run({"-r", "10", "--rate", "20", "p"}).session.rate_hz, 20U);
}

TEST(Parse, SwitchesWithAnOppositeTakeTheLastWord) {
  const recording::SessionOptions all = run({"p"}).session;
  EXPECT_TRUE(all.record_shapes && all.with_stack && all.with_modules && all.profile_memory);
  const recording::SessionOptions none = run({"--no-record-shapes", "--no-with-stack",
                                              "--no-with-modules", "--no-profile-memory", "p"})
                                             .session;
  EXPECT_FALSE(none.record_shapes || none.with_stack || none.with_modules || none.profile_memory);
  EXPECT_TRUE(run({"--no-with-stack", "--with-stack", "p"}).session.with_stack);
  EXPECT_FALSE(run({"--with-stack", "-q", "--no-with-stack", "p"}).session.with_stack);
  EXPECT_TRUE(run({"-t", "torch", "p"}).session.trace == 4);
}

TEST(Parse, DefaultsAreTheContracts) {
  const recording::SessionOptions s = run({"p"}).session;
  EXPECT_EQ(s.rate_hz, 100U);
  EXPECT_EQ(s.span_size_events, 200'000U);
  EXPECT_EQ(s.max_size_bytes, 4ULL << 30);
  EXPECT_EQ(s.keep, "all");
  EXPECT_EQ(s.step, "auto");
  EXPECT_EQ(s.on_no_step, "time");
  EXPECT_EQ(s.step_timeout_ns, 30'000'000'000U);
  EXPECT_EQ(s.sampler, "auto");
  EXPECT_EQ(s.wait_for, "primary");
  EXPECT_EQ(s.cuda_graph, "");
  EXPECT_EQ(s.formats, Words{"tensorboard"});
  EXPECT_FALSE(s.schedule.given);
}

TEST(Parse, TheEndingOfTheOutputChoosesTheFormatWhereNoneIsGiven) {
  EXPECT_THAT(run({"-o", "x.csv", "p"}).session.formats, ElementsAre("csv"));
  EXPECT_THAT(run({"-o", "%p.xplane.pb", "p"}).session.formats, ElementsAre("xplane"));
  EXPECT_THAT(run({"-o", "x.pb", "p"}).session.formats, ElementsAre("pprof"));
  EXPECT_THAT(run({"-o", "x.pt.trace.json", "p"}).session.formats, ElementsAre("tensorboard"));
  EXPECT_THAT(run({"-o", "x.csv", "--format", "sqlite", "p"}).session.formats,
              ElementsAre("sqlite"));
  EXPECT_THAT(run({"-o", "folder", "p"}).session.formats, ElementsAre("tensorboard"));
}

TEST(Parse, ScheduleInSteps) {
  const recording::ScheduleOptions s =
      run({"--skip-first", "5", "--wait=1", "--warmup", "2", "--active", "3", "--repeat", "4", "p"})
          .session.schedule;
  EXPECT_TRUE(s.given);
  EXPECT_EQ(s.skip_first.value, 5U);
  EXPECT_EQ(s.wait.unit, Unit::kSteps);
  EXPECT_EQ(s.warmup.value, 2U);
  EXPECT_EQ(s.active.value, 3U);
  EXPECT_EQ(s.repeat, 4U);
}

TEST(Parse, DelayAndDurationAreWaitAndOneActiveWindow) {
  const recording::ScheduleOptions s = run({"-y", "2s", "-d", "500ms", "p"}).session.schedule;
  EXPECT_EQ(s.wait.unit, Unit::kTime);
  EXPECT_EQ(s.wait.value, 2'000'000'000U);
  EXPECT_EQ(s.active.value, 500'000'000U);
  EXPECT_EQ(s.repeat, 1U);
}

TEST(Parse, ZeroFitsStepsAndTime) {
  const recording::ScheduleOptions s = run({"--wait", "0", "--active", "1s", "p"}).session.schedule;
  EXPECT_EQ(s.wait.unit, Unit::kNone);
  EXPECT_EQ(s.active.unit, Unit::kTime);
}

TEST(Parse, WindowsAboveAThousandASecondAreRefused) {
  const auto refused = parse({"run", "--active", "1us", "--wait", "1us", "p"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("add up to 2 us"));
  EXPECT_TRUE(parse({"run", "--active", "1ms", "p"}));
  EXPECT_TRUE(parse({"run", "-d", "1us", "p"})) << "one window only";
  EXPECT_TRUE(parse({"run", "--active", "1", "p"})) << "a step";
}

TEST(Parse, TraceWordsBecomeBits) {
  const recording::SessionOptions s = run({"-t", "cuda,python", "p"}).session;
  EXPECT_EQ(s.trace, 1U | 8U);
  EXPECT_TRUE(s.trace_given);
}

TEST(Parse, OptionsOfExportMayFollowTheFolder) {
  const auto parsed = parse({"export", "spool", "-o", "out", "-f"});
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed.value().options.arguments, ElementsAre("spool"));
  EXPECT_EQ(parsed.value().options.output, "out");
  EXPECT_TRUE(parsed.value().options.session.force);
}

TEST(Parse, ProcessesComeRepeatedSeparatedByCommasAndAsWords) {
  const auto parsed = parse({"attach", "-p", "1,2", "7", "--pid=3", "-d", "2s", "-p4", "8"});
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed.value().options.pids, ElementsAre(1U, 2U, 3U, 4U));
  EXPECT_THAT(parsed.value().options.arguments, ElementsAre("7", "8"));
  EXPECT_EQ(parsed.value().options.session.schedule.active.value, 2'000'000'000U);
}

TEST(Parse, CommandsOfRunningProcessesTakeTheirSwitches) {
  const auto attach = parse({"attach", "--children", "--stay", "--ignore-seccomp", "1"});
  ASSERT_TRUE(attach);
  const Options& options = attach.value().options;
  EXPECT_TRUE(options.children && options.stay && options.ignore_seccomp);
  const auto all = parse({"capture", "--all"});
  ASSERT_TRUE(all);
  EXPECT_TRUE(all.value().options.all);
  EXPECT_TRUE(run({"--armed", "--name", "job-7", "p"}).session.armed);
}

TEST(Parse, HelpOfACommandNeedsNothingElse) {
  const auto parsed = parse({"run", "--help"});
  ASSERT_TRUE(parsed);
  EXPECT_STREQ(parsed.value().command->name, "help");
  EXPECT_THAT(parsed.value().options.arguments, ElementsAre("run"));
}

struct BadLine {
  Words words;
  const char* part;  // of the sentence
};

class BadInput : public testing::TestWithParam<BadLine> {};

TEST_P(BadInput, IsOneSentenceWithStatus125) {
  const auto parsed = parse(GetParam().words);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().exit_status, 125);
  EXPECT_THAT(parsed.error().message, HasSubstr(GetParam().part));
  EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadInput,
    testing::Values(
        BadLine{{}, "no command"}, BadLine{{"runn", "p"}, "did you mean run?"},
        BadLine{{"--verison"}, "did you mean --version?"}, BadLine{{"attach", "-p", "1,x"}, "'x'"},
        BadLine{{"attach", "-p", "1,,2"}, "''"}, BadLine{{"attach", "-p", "0"}, "'0'"},
        BadLine{{"attach", "--all"}, "no option '--all'"},
        BadLine{{"attach", "--strict", "1"}, "attach has no option '--strict'"},
        BadLine{{"capture", "--stay", "1"}, "no option '--stay'"},
        BadLine{{"capture", "-d", "5", "1"}, "write 5s for seconds"},
        BadLine{{"status", "-o", "x"}, "status has no option '-o'"},
        BadLine{{"stop", "--rate", "5", "1"}, "stop has no option '--rate'"},
        BadLine{{"env", "--name", "7"}, "not only digits"},
        BadLine{{"-o", "x", "run", "p"}, "options follow the command"},
        BadLine{{"run", "--ouput", "x", "p"}, "did you mean --output?"},
        BadLine{{"run", "-Z", "p"}, "no option '-Z'"},
        BadLine{{"run", "-qZ", "p"}, "no option '-Z'"}, BadLine{{"run", "--rate"}, "needs a value"},
        BadLine{{"run", "-o"}, "needs a value"},
        BadLine{{"run", "--name", "--", "p"}, "--name needs a value"},
        BadLine{{"run", "--step", "--", "p"}, "--step needs a value"},
        BadLine{{"run", "-qo", "--", "p"}, "-o needs a value"},
        BadLine{{"run", "--force=yes", "p"}, "takes no value"},
        BadLine{{"run", "-o=x", "p"}, "without '='; write -o x or --output=x"},
        BadLine{{"run", "-qo=x", "p"}, "-o x"}, BadLine{{"run", "-r=", "p"}, "-r HZ or --rate=HZ"},
        BadLine{{"--version", "x"}, "--version takes no arguments, got 'x'"},
        BadLine{{"run", "--serve", "x", "p"}, "expected HOST:PORT"},
        BadLine{{"run", "-p", "1", "p"}, "run has no option '-p'"},
        BadLine{{"run", "--rate", "1001", "p"}, "1000"}, BadLine{{"run", "-r", "-5", "p"}, "'-5'"},
        BadLine{{"run", "-r", "fast", "p"}, "whole number"},
        BadLine{{"run", "-t", "cuda,foo", "p"}, "'foo'"}, BadLine{{"run", "-t", "", "p"}, "''"},
        BadLine{{"run", "--format", "svg", "p"}, "gpuprof writes tensorboard"},
        BadLine{{"run", "--wait", "5", "--active", "3s", "p"}, "--wait counts steps"},
        BadLine{{"run", "-y", "5", "-d", "3s", "p"}, "write 5s for seconds or --wait 5 for steps"},
        BadLine{{"run", "-d", "2", "p"}, "write 2s for seconds or --active 2 for steps"},
        BadLine{{"run", "--wait", "5", "-d", "3s", "p"},
                "--wait counts steps and --duration is a time"},
        BadLine{{"run", "--wait", "5h", "--active", "3s", "p"}, "'h'"},
        BadLine{{"run", "--active", "0", "p"}, "length 0"},
        BadLine{{"run", "--active", "1.5", "p"}, "'1.5'"},
        BadLine{{"run", "--wait", "1s", "-y", "2s", "p"}, "mean the same"},
        BadLine{{"run", "--active", "1s", "-d", "2s", "p"}, "mean the same"},
        BadLine{{"run", "-d", "2s", "--repeat", "3", "p"}, "one window"},
        BadLine{{"run", "--repeat", "3", "p"}, "--repeat needs --active"},
        BadLine{{"run", "--repeat", "-1", "--active", "1", "p"}, "whole number"},
        BadLine{{"run", "--step", "none", "--active", "3", "p"}, "--step none"},
        BadLine{{"run", "--step", "loop:", "p"}, "loop:FILE:LINE"},
        BadLine{{"run", "--step", "loop:a.py", "p"}, "expected loop:FILE:LINE"},
        BadLine{{"run", "--step", "loop:a.py:x", "p"}, "expected loop:FILE:LINE"},
        BadLine{{"run", "--step", "loop:a.py:0", "p"}, "expected loop:FILE:LINE"},
        BadLine{{"run", "-t", "cuda", "--step", "loop", "p"}, "add torch to -t"},
        BadLine{{"run", "--step", "nvtx:", "p"}, "after the colon"},
        BadLine{{"run", "--step", "kernel:(", "p"}, "regular expression"},
        BadLine{{"run", "--step", "kernel:(a{0,255}){1,655}", "p"}, "repeats too much"},
        BadLine{{"run", "--step", "kernel:a{99999999999999999999}", "p"}, "repeats too much"},
        BadLine{{"run", "--step", "steps", "p"}, "nvtx:NAME"},
        BadLine{{"run", "--on-no-step", "x", "p"}, "time, none"},
        BadLine{{"run", "--step-timeout", "30", "p"}, "no unit"},
        BadLine{{"run", "--sampler", "x", "p"}, "cpu-timer"},
        BadLine{{"run", "--cuda-graph", "x", "p"}, "node, graph"},
        BadLine{{"run", "--span-size", "5", "p"}, "at least 1000"},
        BadLine{{"run", "--max-size", "1k", "p"}, "'k'"},
        BadLine{{"run", "--max-size", "5", "p"}, "1MiB"},
        BadLine{{"run", "--buffer-size", "1GiB", "p"}, "64MiB"},
        BadLine{{"run", "--keep", "last:0", "p"}, "last:N"},
        BadLine{{"run", "--keep", "some", "p"}, "all"},
        BadLine{{"run", "-w", "some", "p"}, "primary, all"},
        BadLine{{"run", "--max-overhead", "0.05%", "p"}, "between 0.1% and 50%"},
        BadLine{{"run", "--max-overhead", "51", "p"}, "between 0.1% and 50%"},
        BadLine{{"run", "--max-overhead", "three", "p"}, "or off"},
        BadLine{{"run", "--max-overhead", "%", "p"}, "or off"},
        BadLine{{"run", "--max-overhead", "nan", "p"}, "or off"},
        BadLine{{"run", "--name", "a b", "p"}, "letters"},
        BadLine{{"run", "--name", std::string(64, 'n'), "p"}, "1 to 63"},
        BadLine{{"run", "--name", "4711", "p"}, "a process id"},
        BadLine{{"run", "-o", "", "p"}, "empty"},
        BadLine{{"run", "-q", "-v", "p"}, "cannot be combined"},
        BadLine{{"doctor", "-p", "x"}, "whole number"},
        BadLine{{"export", "--rate", "5", "x"}, "export has no option '--rate'"}));

TEST(OptionTable, EveryRowIsCompleteAndEveryNameUnique) {
  for (const unsigned command :
       {kRun, kExport, kDoctor, kHelp, kAttach, kCapture, kStatus, kStop, kDetach, kEnv}) {
    Words seen;
    for (const OptionRow& row : option_table()) {
      EXPECT_NE(std::string(row.help), "");
      EXPECT_NE(row.set, nullptr);
      if ((row.commands & command) == 0) continue;
      for (const std::string& name : option_names(row)) {
        EXPECT_THAT(seen, testing::Not(testing::Contains(name)));
        seen.push_back(name);
        EXPECT_EQ(find_option(name, command), &row);
      }
    }
  }
}

TEST(OptionTable, EveryOptionOfTheContractIsThere) {
  for (const char* name : {"-o",
                           "--output",
                           "-f",
                           "--force",
                           "--format",
                           "--skip-first",
                           "--wait",
                           "--warmup",
                           "--active",
                           "--repeat",
                           "-y",
                           "--delay",
                           "-d",
                           "--duration",
                           "--step",
                           "--on-no-step",
                           "--step-timeout",
                           "-t",
                           "--trace",
                           "-r",
                           "--rate",
                           "--sampler",
                           "--span-size",
                           "--max-size",
                           "--keep",
                           "--all-processes",
                           "-w",
                           "--wait-for",
                           "--summary-json",
                           "-q",
                           "-v",
                           "--name",
                           "--daemon",
                           "--cuda-graph",
                           "--max-overhead",
                           "--strict"}) {
    EXPECT_NE(find_option(name, kRun), nullptr) << name;
  }
}

}  // namespace
}  // namespace gpuprof::cli
