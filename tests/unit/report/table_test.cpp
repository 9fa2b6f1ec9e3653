// SPDX-License-Identifier: Apache-2.0
//
// Tables as text.
#include "analysis/report/output/table.hpp"

#include <gtest/gtest.h>

namespace gpuprof::report {
namespace {

Table sample() {
  Table table;
  table.name = "kernel";
  table.columns = {{"total_ns", "Total", Unit::kNs},
                   {"count", "Count", Unit::kCount},
                   {"hidden", "Hidden", Unit::kText, false},
                   {"name", "Name", Unit::kText}};
  table.rows = {{std::int64_t{1'500}, std::int64_t{3}, std::string("x"), std::string("short")},
                {std::int64_t{2'500'000}, std::int64_t{1}, std::string("y"),
                 std::string("a name that is a good deal longer than the rest")}};
  return table;
}

TEST(Table, TextHasAHeadingAndCutsTheLastText) {
  Table table = sample();
  EXPECT_EQ(
      "  Total  Count  Name\n"
      "-------  -----  ------------------------\n"
      "1.500us      3  short\n"
      "2.500ms      1  a name that is a good...\n",
      format_table(table, 100, 40));
  EXPECT_NE(std::string::npos, format_table(table, 1, 0).find("(1 more row;"));
}

TEST(Table, KeepsTheEndOfALineOfTheProgram) {
  Table table;
  table.columns = {{"count", "Count", Unit::kCount}, {"line", "Line"}};
  table.rows = {{std::int64_t{3}, std::string("/home/somebody/größer/train.py:41")}};
  EXPECT_EQ(
      "Count  Line\n"
      "-----  -------------------------\n"
      "    3  ...ody/größer/train.py:41\n",
      format_table(table, 100, 32));
}

TEST(Table, SortsByNumbersDownAndByTextsUp) {
  Table table = sample();
  ASSERT_TRUE(sort_table(table, "total").ok());
  EXPECT_EQ(std::int64_t{2'500'000}, std::get<std::int64_t>(table.rows[0][0]));
  ASSERT_TRUE(sort_table(table, "name").ok());
  EXPECT_EQ("a name", std::get<std::string>(table.rows[0][3]).substr(0, 6));
}

TEST(Table, FindsAColumnByWhatItsHeadingSays) {
  Table table;
  table.name = "line";
  table.columns = {{"cpu_ns", "On the CPU", Unit::kNs}, {"blocked_ns", "Waited", Unit::kNs}};
  for (const char* key : {"blocked_ns", "blocked", "Waited", "waited", "waited_ns"}) {
    const auto column = find_column(table, key);
    ASSERT_TRUE(column.ok()) << key;
    EXPECT_EQ(1U, column.value()) << key;
  }
  EXPECT_TRUE(find_column(table, "on-the-cpu").ok());
  EXPECT_FALSE(find_column(table, "ns").ok());
}

TEST(Table, AnUnknownColumnIsAnsweredWithAllThereAre) {
  Table table = sample();
  const auto wrong = sort_table(table, "totals_ns");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(std::string::npos, wrong.error().message.find("did you mean total_ns?"));
  EXPECT_NE(std::string::npos, wrong.error().message.find("hidden"));
}

TEST(Table, ChosenColumnsAreShownInTheirOrder) {
  Table table = sample();
  ASSERT_TRUE(select_columns(table, {"hidden", "count"}).ok());
  EXPECT_EQ("Hidden  Count\n------  -----\nx           3\ny           1\n",
            format_table(table, 9, 0));
}

}  // namespace
}  // namespace gpuprof::report
