// SPDX-License-Identifier: Apache-2.0
//
// Loops found in byte code against each interpreter's own `dis` and the sources' loops.
#include "inject/python/loops/loop_scan.hpp"

#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/symbols/interpreters.hpp"

namespace gpuprof::python {
namespace {

/// The head of a loop as the source has it.
struct Head {
  int first, last;
  int copies;
  bool must;
  bool found = false;
};

std::string unhex(const std::string& text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1])));
  return bytes;
}

LoopScan scan(int minor, const std::string& code) {
  LoopScan found;
  scan_loops(static_cast<std::uint32_t>(minor), reinterpret_cast<const std::uint8_t*>(code.data()),
             static_cast<std::int32_t>(code.size()), &found);
  return found;
}

std::vector<LoopSpan> spans(const LoopScan& found) {
  return {found.spans, found.spans + found.count};
}

/// Reads what dump_loops.py prints and compares.
class Comparison {
 public:
  explicit Comparison(int minor) : minor_(minor) {}

  void line(const std::string& text) {
    std::istringstream fields(text);
    std::string what;
    fields >> what;
    if (what == "file") {
      end_of_file();
      fields >> path_;
    } else if (what == "loop") {
      Head head{};
      fields >> head.first >> head.last >> head.copies >> head.must;
      heads_.push_back(head);
    } else if (what == "code") {
      std::string name, code, live, jumps;
      fields >> name >> code >> live >> jumps;
      one_code(name, unhex(code), live == "-" ? "" : unhex(live), jumps);
    }
  }
  void end_of_file() {
    for (const Head& head : heads_)
      if (head.must && !head.found && missing++ < 5)
        ADD_FAILURE() << path_ << ":" << head.first << ": no loop was found";
    heads_.clear();
  }

  int codes = 0, loops = 0, changed = 0, missing = 0, wrong = 0;

 private:
  void fail(const std::string& name, LoopSpan span, const std::string& what) {
    if (wrong++ < 5)
      ADD_FAILURE() << path_ << ": " << name << " [" << span.target << ", " << span.jump
                    << "]: " << what;
  }
  void one_code(const std::string& name, const std::string& code, const std::string& running,
                const std::string& jumps) {
    ++codes;
    const LoopScan found = scan(minor_, code);
    ASSERT_TRUE(found.known) << name;
    check_heads(name, found, check_jumps(name, found, jumps));
    if (running.empty()) return;
    changed += running != code ? 1 : 0;
    const LoopScan again = scan(minor_, running);
    EXPECT_TRUE(again.known) << name;
    if (spans(again) != spans(found)) fail(name, {}, "is not found in the code that runs");
    EXPECT_EQ(again.handlers, found.handlers) << name;
    EXPECT_EQ(again.yields, found.yields) << name;
  }
  /// Lines of the jumps' targets.
  std::map<int, int> check_jumps(const std::string& name, const LoopScan& found,
                                 const std::string& jumps) {
    std::map<int, int> line_of;
    std::set<int> sources;
    std::istringstream list(jumps == "-" ? "" : jumps);
    int target = 0, source = 0, line = 0;
    for (char mark = 0; list >> target >> mark >> source >> mark >> line; list >> mark) {
      line_of[target] = line;
      sources.insert(source);
    }
    for (const LoopSpan& span : spans(found)) {
      ++loops;
      if (!line_of.contains(span.target)) fail(name, span, "dis has no jump to there");
      if (!sources.contains(span.jump)) fail(name, span, "dis has no jump from there");
    }
    return line_of;
  }
  void check_heads(const std::string& name, const LoopScan& found, std::map<int, int> line_of) {
    std::map<Head*, int> used;
    const std::vector<LoopSpan> all = spans(found);
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k)
        if (all[i].target <= all[k].jump && all[i].jump > all[k].jump)
          fail(name, all[i], "crosses another loop");
      const int line = line_of[all[i].target];
      const auto head = std::find_if(heads_.begin(), heads_.end(), [&](Head& one) {
        return one.first <= line && line <= one.last && used[&one] < one.copies;
      });
      if (head == heads_.end()) {
        fail(name, all[i], "the source has no such loop at line " + std::to_string(line));
        continue;
      }
      ++used[&*head];
      head->found = true;
    }
  }

  const int minor_;
  std::string path_;
  std::vector<Head> heads_;
};

TEST(LoopScan, FindsTheLoopsOfTheStandardLibraryOfEveryInterpreter) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "SKIPPED: minutes on one thread; the other builds have it";
#endif
  std::vector<std::string> all = tests::interpreters();
  if (all.empty()) GTEST_SKIP() << "SKIPPED: no interpreter found";
#ifdef __SANITIZE_ADDRESS__
  all.erase(all.begin(),
            all.end() - 1);  // the time is Python's own; the release build has them all
#endif
  for (const std::string& python : all) {
    SCOPED_TRACE(python);
    FILE* dump = popen((python + " -B '" GPUPROF_TEST_DATA "/dump_loops.py'").c_str(), "r");
    ASSERT_NE(dump, nullptr);
    const int minor = std::stoi(python.substr(python.rfind('.') + 1));
    Comparison compared(minor);
    char* line = nullptr;
    std::size_t room = 0;
    while (getline(&line, &room, dump) > 0) compared.line(line);
    free(line);
    compared.end_of_file();
    EXPECT_EQ(pclose(dump), 0);
    EXPECT_EQ(compared.wrong, 0);
    EXPECT_EQ(compared.missing, 0);
    EXPECT_GT(compared.loops, 1000);
    if (minor >= 11) {
      EXPECT_GT(compared.changed, 20) << "hardly any code was specialised";
    }
    printf("%s: %d code objects, %d loops, %d code objects in use changed by the interpreter\n",
           python.c_str(), compared.codes, compared.loops, compared.changed);
  }
  for (int minor = 8; minor <= 14; ++minor) {
    const std::string name = "python3." + std::to_string(minor);
    if (std::none_of(all.begin(), all.end(),
                     [&](const std::string& path) { return path.ends_with(name); }))
      printf("SKIPPED: no %s here\n", name.c_str());
  }
}

TEST(LoopScan, KnowsNoOtherVersion) {
  for (const int minor : {0, 7, 15, 99}) EXPECT_FALSE(scan(minor, std::string(40, '\0')).known);
}

TEST(LoopScan, GivesUpWhereSomebodyTracesLines) {
  // INSTRUMENTED_LINE of 3.12 stands for an instruction whose cache is not known.
  EXPECT_FALSE(scan(12, std::string("\xfe\x00\x00\x00", 4)).known);
}

TEST(LoopScan, FindsTheHeadOfALoopThatRunsCompiled) {
  // 3.13: FOR_ITER +3 units behind its cache, NOP, ENTER_EXECUTOR and its cache, END_FOR.
  const std::string code("\x48\x03\x00\x00\x1e\x00\x46\x09\x00\x00\x0b\x00", 12);
  EXPECT_EQ(spans(scan(13, code)), (std::vector<LoopSpan>{{0, 6, 4}}));
}

TEST(LoopScan, SurvivesAnyBytes) {
  unsigned seed = 1;
  for (int round = 0; round < 3000; ++round) {
    std::string code;
    for (int i = 0; i < round % 300; ++i)
      code.push_back(static_cast<char>((seed = seed * 1103515245 + 12345) >> 16));
    for (int minor = 8; minor <= 14; ++minor)
      for (const LoopSpan& span : spans(scan(minor, code))) {
        EXPECT_GE(span.target, 0);
        EXPECT_LE(span.target, span.jump);
        EXPECT_LT(span.jump, static_cast<int>(code.size()));
      }
  }
}

TEST(LoopScan, KeepsABoundedNumberOfLoops) {
  // 3.12: JUMP_BACKWARD to itself.
  std::string code;
  for (std::uint32_t i = 0; i < 2 * kMaxSpans; ++i) code += "\x8c\x01";
  EXPECT_EQ(scan(12, code).count, kMaxSpans);
}

}  // namespace
}  // namespace gpuprof::python
