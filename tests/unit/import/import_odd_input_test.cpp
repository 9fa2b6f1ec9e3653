// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/import/import_fixture.hpp"

namespace gpuprof::test {
namespace {

using OddInput = ImportTest;

std::string with(const std::string& member) {
  return "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"odd\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,"
         "\"args\":{" +
         member + "}}";
}

TEST_F(OddInput, ControlCharactersInTextsAreBlanks) {
  const auto told = import_events(
      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\tb\nc\x01 d\",\"pid\":1,"
      "\"tid\":1,\"ts\":1,\"dur\":2}");
  ASSERT_EQ(told->operators.size(), 1u);
  EXPECT_EQ(told->names[told->operators[0].name], "a b c  d");
}

TEST_F(OddInput, HalvesOfPairsAreTakenAsUnknownCharacters) {
  const std::string unknown = "\xef\xbf\xbd";
  const auto name = [this](const std::string& escaped) {
    const auto told = import_events(complete("cpu_op", escaped, 1, 2));
    return told->operators.size() == 1 ? told->names[told->operators[0].name] : "?";
  };
  EXPECT_EQ(name("a\\ud800"), "a" + unknown);
  EXPECT_EQ(name("\\ud800\\ud800b"), unknown + unknown + "b");
  EXPECT_EQ(name("\\uD800\\n"), unknown + "\n");
  EXPECT_EQ(name("\\\\ud800\\ud800"), "\\ud800" + unknown);
  EXPECT_EQ(name("\\ud83d\\ude00\\ud83d"), "\xf0\x9f\x98\x80" + unknown);
  EXPECT_EQ(name("\\ud83d\\u0041"), unknown + "A");
}

TEST_F(OddInput, HalvesOfPairsMayStandAnywhere) {
  const std::string one = complete("cpu_op", "\\ud800", 1, 2);
  for (const std::string& text :
       {"[" + one, "{\"a\\ud800\":\"\\udbff\",\"traceEvents\":[" + one + "]}",
        "{\"traceEvents\":[" + one + "],\"distributedInfo\":{\"backend\":\"\\ud800\"}}",
        "[" + complete("cpu_op", "a", 1, 2, "\"a\":\"b\",\"\\ud800\":1") + "]",
        std::string("[{\"dur\":1,\"cat\":\"cpu_op\",\"\\udc00\":\"b\",\"ph\":\"X\",\"ts\":1}]")}) {
    const auto all = import_all({file("a.json", text)});
    ASSERT_EQ(all.size(), 1u) << text;
    EXPECT_EQ(all[0]->operators.size(), 1u);
  }
  // Over the borders of blocks.
  std::string events = complete("cpu_op", "first", 0, 1);
  for (int i = 1; i < 40'000; ++i)
    events +=
        "," + complete("cpu_op",
                       std::string(static_cast<std::size_t>(i % 90), 'x') + "\\ud83d\\ude00\\udbff",
                       10 * i, 5);
  const auto told = import_events(events);
  EXPECT_EQ(told->operators.size(), 40'000u);
  EXPECT_TRUE(told->names[told->operators[1].name].ends_with("\xf0\x9f\x98\x80\xef\xbf\xbd"));
}

TEST_F(OddInput, WordsForNoNumberAreNone) {
  for (const char* word :
       {"N/A", "NaN", "-Infinity", "Infinity", "inf", "-inf", "nan", "-nan", "null"}) {
    const auto told =
        import_events(with("\"External id\": " + std::string(word) +
                           ",\"Sequence number\":" + word + ",\"blocks per SM\":" + word));
    ASSERT_EQ(told->operators.size(), 1u) << word;
    EXPECT_EQ(told->operators[0].sequence, -1) << word;
  }
}

TEST_F(OddInput, WrongTypesAreAsIfNotThere) {
  for (const char* value : {"\"text\"", "{}", "{\"a\":1}", "[]", "[[1],[2]]", "true", "1e5", "-1",
                            "99999999999999999999999", "0.5"})
    for (const char* key :
         {"External id", "Input Dims", "Input type", "Concrete Inputs", "Call stack",
          "Sequence number", "Fwd thread id", "correlation", "grid"}) {
      const auto told = import_events(with("\"" + std::string(key) + "\":" + value));
      EXPECT_EQ(told->operators.size(), 1u) << key << value;
    }
}

TEST_F(OddInput, EventsWithoutTimesAreCounted) {
  import_events(complete("cpu_op", "good", 1, 2) +
                ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1}"
                ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"dur\":1}"
                ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1e300,\"dur\":1}"
                ",{\"ph\":\"X\",\"cat\":\"runtime\",\"name\":\"a\",\"ts\":\"x\",\"dur\":1}");
  EXPECT_TRUE(has_note("4 events of")) << imported_->notes.at(0);
  EXPECT_EQ(imported_->files.at(0).account.total_skipped(), 4u);
}

TEST_F(OddInput, UnknownCategoriesAreCountedAndNamed) {
  import_events(complete("cpu_op", "good", 1, 2) + "," + complete("new_op", "a", 1, 2) + "," +
                complete("new_op", "b", 1, 2) + ",{\"ph\":\"Z\",\"name\":\"c\"},{},17,null,[1]");
  EXPECT_TRUE(has_note("2 events of")) << imported_->notes.at(0);
  EXPECT_TRUE(has_note("with the unknown category 'new_op' are read as host calls"));
  const importer::ImportStats& account = imported_->files.at(0).account;
  EXPECT_EQ(importer::ImportStats::sum(account.count_skipped(importer::SkipReason::kUnknownKind)),
            2u);
  EXPECT_EQ(importer::ImportStats::sum(account.count_skipped(importer::SkipReason::kNotAnObject)),
            3u);
  EXPECT_EQ(account.events(), 8u);
}

TEST_F(OddInput, NegativeTimesAndLengthsAreTaken) {
  const auto told = import_events(complete("cpu_op", "before", -50, 20) + "," +
                                  complete("cpu_op", "short", 1, -5));
  ASSERT_EQ(told->operators.size(), 2u);
  EXPECT_EQ(told->op("before").end_ns - told->op("before").start_ns, 20'000u);
  EXPECT_EQ(told->op("short").end_ns, told->op("short").start_ns);
  EXPECT_EQ(told->op("short").start_ns - told->op("before").start_ns, 51'000u);
}

TEST_F(OddInput, TheArrayFormMayLackItsEnd) {
  const std::string one = complete("cpu_op", "a", 1, 2);
  for (const std::string& text :
       {"[" + one + "]", "[" + one + ",\n", "[" + one, "\xef\xbb\xbf[" + one + "]"}) {
    const auto all = import_all({file("a.json", text)});
    ASSERT_EQ(all.size(), 1u) << text;
    EXPECT_EQ(all[0]->operators.size(), 1u);
  }
}

TEST_F(OddInput, GzipIsKnownByItsContent) {
  const std::string text = trace(complete("cpu_op", "a", 1, 2));
  EXPECT_EQ(import_all({file("packed.json", gzipped(text))}).at(0)->operators.size(), 1u);
  EXPECT_EQ(import_all({file("plain.json.gz", text)}).at(0)->operators.size(), 1u);
  // Several members, as tools that join files make.
  const std::string half = gzipped(text.substr(0, 20)) + gzipped(text.substr(20));
  EXPECT_EQ(import_all({file("two.json.gz", half)}).at(0)->operators.size(), 1u);
}

TEST_F(OddInput, AnEventOverTheBordersOfBlocksIsWhole) {
  std::string events = complete("cpu_op", "first", 0, 1);
  const std::string filler(100'000, 'y');
  for (int i = 1; i < 60; ++i)
    events +=
        "," + complete("cpu_op", "op" + std::to_string(i), 10 * i, 5,
                       "\"Call stack\":\"a\\nb.py(" + std::to_string(i) + "): " + filler + "\"");
  const std::string huge(3'000'000, 'z');
  events += "," + complete("cpu_op", "huge", 1000, 5, "\"Call stack\":\"" + huge + "\"");
  const auto told = import_events(events);
  EXPECT_EQ(told->operators.size(), 61u);
  EXPECT_TRUE(told->stack(told->op("op7").stack).starts_with("a\\nb.py(7): yyy"));
}

TEST_F(OddInput, ThreadsAndProcessesMayBeTexts) {
  const auto all = import_all(
      {file("a.json", trace("{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"a\",\"pid\":\"4000\","
                            "\"tid\":\"4001\",\"ts\":1,\"dur\":2},"
                            "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"b\",\"pid\":4000,"
                            "\"tid\":\"worker\",\"ts\":1,\"dur\":2}"))});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]->op("a").tid, 4001u);
  EXPECT_NE(all[0]->op("b").tid, 4001u);
  EXPECT_EQ(all[0]->process.pid, 4000u);
}

}  // namespace
}  // namespace gpuprof::test
