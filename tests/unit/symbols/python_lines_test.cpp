// SPDX-License-Identifier: Apache-2.0
//
// Line tables against the interpreters themselves.
#include "analysis/symbols/python_lines.hpp"

#include <gtest/gtest.h>
#include <stdio.h>

#include <fstream>
#include <sstream>

#include "tests/unit/symbols/interpreters.hpp"

namespace gpuprof::symbols {
namespace {

std::string unhex(const std::string& text) {
  std::string bytes;
  if (text == "-") return bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

struct Checked {
  int functions = 0, offsets = 0, wrong = 0;
  std::size_t longest_table = 0;
};

/// One line of dump_lines.py.
void check(const std::string& text, Checked* sum) {
  std::istringstream fields(text);
  int minor = 0, first_line = 0, line = 0;
  std::string hex;
  fields >> minor >> first_line >> hex;
  const std::string table = unhex(hex);
  sum->longest_table = std::max(sum->longest_table, table.size());
  ++sum->functions;
  for (int offset = 0; fields >> line; offset += 2, ++sum->offsets)
    if (python_line(table, static_cast<std::uint16_t>(minor), first_line, offset) != line &&
        sum->wrong++ == 0)
      ADD_FAILURE() << "first line " << first_line << " offset " << offset << ": is " << line
                    << ", got "
                    << python_line(table, static_cast<std::uint16_t>(minor), first_line, offset);
}

TEST(PythonLines, AgreeWithEveryInterpreterForEveryInstruction) {
  const std::vector<std::string> all = tests::interpreters();
  if (all.empty()) GTEST_SKIP() << "SKIPPED: no interpreter found";
  for (const std::string& python : all) {
    SCOPED_TRACE(python);
    FILE* dump = popen((python + " -B '" GPUPROF_TEST_DATA "/dump_lines.py'").c_str(), "r");
    ASSERT_NE(dump, nullptr);
    Checked sum;
    char* line = nullptr;
    std::size_t room = 0;
    while (getline(&line, &room, dump) > 0) check(line, &sum);
    free(line);
    EXPECT_EQ(pclose(dump), 0);
    EXPECT_EQ(sum.wrong, 0);
    EXPECT_GT(sum.functions, 300);
    EXPECT_GT(sum.longest_table, 1000u);
    printf("%s: %d functions, %d offsets, longest table %zu bytes\n", python.c_str(), sum.functions,
           sum.offsets, sum.longest_table);
  }
  for (int minor = 8; minor <= 14; ++minor) {
    const std::string name = "python3." + std::to_string(minor);
    if (std::none_of(all.begin(), all.end(),
                     [&](const std::string& path) { return path.ends_with(name); }))
      printf("SKIPPED: no %s here\n", name.c_str());
  }
}

TEST(PythonLines, TakeTheFirstLineOfAFrameThatHasNotStarted) {
  for (const std::uint16_t minor : {8, 10, 11, 13}) EXPECT_EQ(python_line("", minor, 42, -1), 42);
}

TEST(PythonLines, DoNotGuessBeyondTheTable) {
  using namespace std::string_literals;
  EXPECT_EQ(python_line("\x04\x01"s, 10, 7, 4), 0);
  EXPECT_EQ(python_line("\x80\x00"s, 11, 7, 2), 0);
  EXPECT_EQ(python_line("\x04\x01"s, 9, 7, 0x7fffffff), 0);
}

TEST(PythonLines, SurviveAnyBytes) {
  unsigned seed = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string table;
    for (int i = 0; i < round % 40; ++i)
      table.push_back(static_cast<char>((seed = seed * 1103515245 + 12345) >> 16));
    for (const std::uint16_t minor : {8, 9, 10, 11, 14})
      for (int offset = -2; offset < 80; offset += 2) python_line(table, minor, 1, offset);
  }
}

}  // namespace
}  // namespace gpuprof::symbols
