// SPDX-License-Identifier: Apache-2.0
#include "support/text/text.hpp"

#include <gtest/gtest.h>

namespace gpuprof::support {
namespace {

TEST(Duration, ReadsEveryUnit) {
  EXPECT_EQ(parse_duration_ns("250us").value(), 250'000U);
  EXPECT_EQ(parse_duration_ns("5ms").value(), 5'000'000U);
  EXPECT_EQ(parse_duration_ns("1.5s").value(), 1'500'000'000U);
  EXPECT_EQ(parse_duration_ns("2m").value(), 120'000'000'000U);
}

TEST(Duration, RefusesWhatIsNoTime) {
  for (const char* word : {"", "5", "s", "-1s", "5 s", "5h", "1e3s", "0x5s", "5ss", "nan", "inf"}) {
    EXPECT_FALSE(parse_duration_ns(word)) << word;
  }
}

TEST(Duration, NamesTheWordAndTheRightForm) {
  const std::string message = parse_duration_ns("5h").error().message;
  EXPECT_NE(message.find("'5h'"), std::string::npos) << message;
  EXPECT_NE(message.find("1.5s"), std::string::npos) << message;
}

TEST(Quantity, BareNumberCountsSteps) {
  const auto steps = parse_quantity("10");
  ASSERT_TRUE(steps);
  EXPECT_FALSE(steps.value().is_time);
  EXPECT_EQ(steps.value().value, 10U);
}

TEST(Quantity, UnitMakesItATime) {
  const auto time = parse_quantity("10s");
  ASSERT_TRUE(time);
  EXPECT_TRUE(time.value().is_time);
  EXPECT_EQ(time.value().value, 10'000'000'000U);
}

TEST(Quantity, RefusesHalfSteps) { EXPECT_FALSE(parse_quantity("1.5")); }

TEST(Quantity, RefusesMoreThanFits) {
  EXPECT_FALSE(parse_quantity("99999999999999999999999"));
  EXPECT_FALSE(parse_quantity("99999999999999999m"));
}

TEST(Size, TellsBinaryFromDecimalUnits) {
  EXPECT_EQ(parse_size_bytes("4GiB").value(), 4ULL << 30);
  EXPECT_EQ(parse_size_bytes("512M").value(), 512ULL << 20);
  EXPECT_EQ(parse_size_bytes("1MB").value(), 1'000'000U);
  EXPECT_EQ(parse_size_bytes("1000").value(), 1000U);
  EXPECT_FALSE(parse_size_bytes("4Gb"));
}

TEST(Count, KnowsThousandsAndMillions) {
  EXPECT_EQ(parse_count("200k").value(), 200'000U);
  EXPECT_EQ(parse_count("1M").value(), 1'000'000U);
  EXPECT_FALSE(parse_count("1KiB"));
}

TEST(InQuotes, ShowsControlCharactersAndCutsLongWords) {
  EXPECT_EQ(in_quotes("a\nb"), "'a\\x0ab'");
  EXPECT_LT(in_quotes(std::string(1000, 'x')).size(), 140U);
}

TEST(Nearest, FindsATypingMistakeOnly) {
  EXPECT_EQ(closest_match("--ouput", {"--output", "--rate"}), "--output");
  EXPECT_EQ(closest_match("--frobnicate", {"--output", "--rate"}), "");
  // Two letters in the wrong order are one mistake.
  EXPECT_EQ(closest_match("cuont", {"name", "count"}), "count");
  EXPECT_EQ(closest_match("nmae", {"name", "count"}), "name");
  EXPECT_EQ(did_you_mean("nmae", {"name"}), " (did you mean name?)");
  EXPECT_EQ(did_you_mean("speed", {"name"}), "");
}

TEST(ShellJoined, QuotesWhatAShellWouldSplit) {
  EXPECT_EQ(shell_join({"a", "b c", "d'e", ""}), "a 'b c' 'd'\\''e' ''");
}

TEST(Human, KeepsUnitsReadable) {
  EXPECT_EQ(human_count(1'250'000), "1.25 M");
  EXPECT_EQ(human_bytes(3 << 20), "3.0 MiB");
  EXPECT_EQ(human_duration(1'500'000'000), "1.50 s");
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a::b", ':'), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ':'), (std::vector<std::string>{""}));
}

TEST(OnOneLine, ShowsControlCharactersAsNumbers) {
  EXPECT_EQ(escape_control_characters("a\nb\x1b[31m"), "a\\x0ab\\x1b[31m");
  EXPECT_EQ(escape_control_characters("a\xc2\x9b\xc3\xa9"), "a\\xc2\\x9b\xc3\xa9");
}

TEST(Harmless, KeepsLinesAndOtherAlphabetsAlone) {
  const std::string plain = "a b\n\u00e9 \u4e16\n";
  EXPECT_EQ(sanitize_for_terminal(plain), plain);
  EXPECT_EQ(sanitize_for_terminal(std::string("\x1b]0;t\x07\t\0|\x7f\xc2\x9b", 12)), "?]0;t???|??");
}

}  // namespace
}  // namespace gpuprof::support
