// SPDX-License-Identifier: Apache-2.0
#include "analysis/import/json/json_repair.hpp"

#include <gtest/gtest.h>

namespace gpuprof::test {
namespace {

using importer::DamagedValue;
using importer::RepairKind;
using importer::RepairResult;

/// The value as it was meant; "?" and what is wrong where nothing is certain.
std::string meant(const std::string& text, DamagedValue what = DamagedValue::kEvent) {
  const RepairResult repaired = importer::repair_value(text + ",", true, what);
  if (repaired.state != RepairResult::State::kRepaired) return "?" + std::string(repaired.wrong);
  EXPECT_EQ(repaired.bytes, text.size());
  return repaired.text;
}
std::uint32_t places(const std::string& text, RepairKind mending) {
  return importer::repair_value(text + ",", true, DamagedValue::kEvent)
      .places[static_cast<std::size_t>(mending)];
}

TEST(Repair, WhatIsRightStaysAsItIs) {
  for (const char* text :
       {"{}", "{\"a\": [1, 2.5e-3, {\"b\": null}], \"name\": \"x\\n\\\"y\\\" \\\\ \\u00e9\"}",
        "{\"name\": \"a, b: {c}\", \"args\": {\"x, y\": \"}\", \"z\": \"]\"}}",
        "{\"name\": \"say \\\"hi\\\", \\\"you\\\": so\", \"ts\": -1}"})
    EXPECT_EQ(meant(text), text);
}

TEST(Repair, QuotesEndATextOnlyWhereOneCanEnd) {
  EXPECT_EQ(meant("{\"name\": \"say \"hi\"\", \"ts\": 1}"),
            "{\"name\": \"say \\\"hi\\\"\", \"ts\": 1}");
  EXPECT_EQ(meant("{\"name\": \"{\"device\": \"cpu\", \"dtype\": \"f32\"}(12): run\", \"pid\": 1}"),
            "{\"name\": \"{\\\"device\\\": \\\"cpu\\\", \\\"dtype\\\": \\\"f32\\\"}(12): run\", "
            "\"pid\": 1}");
  EXPECT_EQ(meant("{\"args\": {\"Collective name\": \"\"allreduce\"\", \"Seq\": 1}}"),
            "{\"args\": {\"Collective name\": \"allreduce\", \"Seq\": 1}}");
  EXPECT_EQ(meant("{\"args\": {\"x\": [\"\", \"a \"b\" c\"]}}"),
            "{\"args\": {\"x\": [\"\", \"a \\\"b\\\" c\"]}}");
  EXPECT_EQ(places("{\"name\": \"\"a\" \"b\"\", \"ts\": 1}", RepairKind::kQuote), 1u);
}

TEST(Repair, QuotesWithoutOneReadingAreLeft) {
  EXPECT_EQ(meant("{\"name\": \"a\", \"cat\": \"b\" c\", \"cat\": \"cpu_op\"}").substr(0, 1), "?");
  EXPECT_EQ(meant("{\"args\": {\"x\": [\"x \"a\", \"b\" y\"]}}").substr(0, 1), "?");
  EXPECT_EQ(meant("{\"args\": {\"x\": \"5\" wide\", \"y\": 1}}").substr(0, 1), "?");
  EXPECT_EQ(meant("{\"name\": \"5\" wide\", \"pid\": 1}"),
            "{\"name\": \"5\\\" wide\", \"pid\": 1}");
}

TEST(Repair, ATextHoldsNoMembersOfAListAndNoBorderOfEvents) {
  EXPECT_EQ(meant("{\"args\": {\"grid\": [[1, 2], \"block\": [3, 4]}}, {\"ph\": \"X\", \"cat\": "
                  "\"kernel\", \"args\": {\"grid\": [1]}}]"),
            "?a list contains a member");
  EXPECT_EQ(meant("{\"name\": \"open, \"pid\": 1}, {\"ph\": \"X\", \"name\": \"b\"}"),
            "?a string would reach over two events");
}

TEST(Repair, BackslashesThatEscapeNothingAreMeant) {
  EXPECT_EQ(meant("{\"name\": \"torch\\cuda\\x.py\"}"), "{\"name\": \"torch\\\\cuda\\\\x.py\"}");
  EXPECT_EQ(meant("{\"name\": \"C:\\users\\new\", \"ts\": 1}"),
            "{\"name\": \"C:\\\\users\\\\new\", \"ts\": 1}");
  EXPECT_EQ(meant("{\"name\": \"D:\\data\\\", \"ts\": 1}"),
            "{\"name\": \"D:\\\\data\\\\\", \"ts\": 1}");
  EXPECT_EQ(meant("{\"args\": {\"Call stack\": \"C:\\x.py(1): f\\nC:\\y.py(2): g\"}}"),
            "{\"args\": {\"Call stack\": \"C:\\\\x.py(1): f\\nC:\\\\y.py(2): g\"}}");
  EXPECT_EQ(meant("\"C:\\tmp\\q\"", DamagedValue::kMember), "\"C:\\\\tmp\\\\q\"");
}

TEST(Repair, NumbersWithDecimalCommas) {
  EXPECT_EQ(meant("{\"ts\": 12,5, \"dur\": 3,25}"), "{\"ts\": 12.5, \"dur\": 3.25}");
  EXPECT_EQ(meant("{\"ts\":-1,5e-3,\"args\":{\"x\":0,5}}"),
            "{\"ts\":-1.5e-3,\"args\":{\"x\":0.5}}");
  EXPECT_EQ(meant("{\"ts\": 12, 5}").substr(0, 1), "?");
  EXPECT_EQ(meant("{\"ts\": 1.234,5}").substr(0, 1), "?");
  EXPECT_EQ(meant("{\"x\": [1,2], \"ts\": 1,5}"), "{\"x\": [1,2], \"ts\": 1.5}");
}

TEST(Repair, WordsForNoNumberAndWhatLacks) {
  for (const char* word : {"inf", "+inf", "-nan(ind)", "nan(snan)", "nan(0x8)", "1.#INF",
                           "-1.#IND00", "1.#QNAN0", "N/A", "None", "undefined", "-Infinity"})
    EXPECT_EQ(meant("{\"ts\": " + std::string(word) + ", \"dur\": 1}"),
              "{\"ts\": null, \"dur\": 1}");
  EXPECT_EQ(meant("{\"ts\": , \"dur\":}"), "{\"ts\": null, \"dur\":null}");
  EXPECT_EQ(meant("{\"ts\": 1,}"), "{\"ts\": 1}");
  EXPECT_EQ(meant("{\"ts\": 1 \"dur\": 2}"), "{\"ts\": 1 ,\"dur\": 2}");
  for (const char* word : {"0x1f", "infinite", "nan(", "1.#", "--1", "truely", "'a'"})
    EXPECT_EQ(meant("{\"ts\": " + std::string(word) + "}").substr(0, 1), "?") << word;
}

TEST(Repair, MoreIsReadWhereTheTextEnds) {
  const std::string whole = "{\"name\": \"say \"hi\"\", \"ts\": 1,5, \"args\": {\"x\": nan}}";
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    const auto repaired =
        importer::repair_value(whole.substr(0, bytes), false, DamagedValue::kEvent);
    EXPECT_EQ(repaired.state, RepairResult::State::kNeedsMoreText) << whole.substr(0, bytes);
  }
  EXPECT_EQ(importer::repair_value(whole, false, DamagedValue::kEvent).state,
            RepairResult::State::kRepaired);
}

}  // namespace
}  // namespace gpuprof::test
