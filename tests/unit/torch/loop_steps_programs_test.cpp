// SPDX-License-Identifier: Apache-2.0
//
// Loops of real Python programs, counted in every interpreter this machine has.
#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/symbols/interpreters.hpp"

namespace gpuprof::torch {
namespace {

#ifndef LOOP_PROBE
TEST(LoopPrograms, GoRoundAsOftenAsTheySayInEveryInterpreter) {
  GTEST_SKIP() << "SKIPPED: an instrumented library cannot be loaded into an interpreter";
}
#else
/// "PROGRAM LOOP TRUTH COUNTED IDS STRONG WEAK FIRST"
struct Row {
  std::string program, loop;
  int truth = -1, counted = -2, ids = 0;
  std::string marks;
};

std::vector<Row> run(const std::string& python, int* status) {
  const std::string command = python + " -B '" LOOP_PROGRAMS "' '" LOOP_PROBE "'";
  std::vector<Row> rows;
  FILE* out = popen(command.c_str(), "r");
  char* line = nullptr;
  std::size_t room = 0;
  while (out != nullptr && getline(&line, &room, out) > 0) {
    Row row;
    std::istringstream fields(line);
    fields >> row.program >> row.loop >> row.truth >> row.counted >> row.ids;
    std::getline(fields, row.marks);
    rows.push_back(row);
  }
  free(line);
  *status = out == nullptr ? -1 : pclose(out);
  return rows;
}

TEST(LoopPrograms, GoRoundAsOftenAsTheySayInEveryInterpreter) {
  const std::vector<std::string> all = tests::interpreters();
  if (all.empty()) GTEST_SKIP() << "SKIPPED: no interpreter found";
  for (const std::string& python : all) {
    SCOPED_TRACE(python);
    int status = 0;
    const std::vector<Row> rows = run(python, &status);
    EXPECT_EQ(status, 0);
    EXPECT_GT(rows.size(), 80u);
    for (const Row& row : rows) {
      SCOPED_TRACE(row.program + ", loop " + row.loop);
      EXPECT_EQ(row.counted, row.truth) << "strong, weak, first:" << row.marks;
      if (row.program.find("recurs") == std::string::npos) {
        EXPECT_EQ(row.ids, 1) << "the same loop as several";
      }
    }
    printf("%s: %zu loops\n", python.c_str(), rows.size());
  }
  for (int minor = 8; minor <= 14; ++minor) {
    const std::string name = "python3." + std::to_string(minor);
    if (std::none_of(all.begin(), all.end(),
                     [&](const std::string& path) { return path.ends_with(name); }))
      printf("SKIPPED: no %s here\n", name.c_str());
  }
}

#endif

}  // namespace
}  // namespace gpuprof::torch
