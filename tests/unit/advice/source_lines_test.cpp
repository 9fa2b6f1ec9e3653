// SPDX-License-Identifier: Apache-2.0
//
// Which line between two did the work.
#include "analysis/report/step_thread/source_lines.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace gpuprof::report::advice {
namespace {

constexpr std::uint64_t kMuchLater = ~std::uint64_t{0};

class SourceLinesTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/gpuprof-lines-XXXXXX";
    folder_ = mkdtemp(pattern);
    file_ = folder_ + "/train.py";
    std::ofstream out(file_);
    out << "def train():\n"                        // 1
           "    for batch in loader:\n"            // 2
           "        loss = model(batch)\n"         // 3
           "        # a comment\n"                 // 4
           "        begin = perf_counter_ns()\n"   // 5
           "        time.sleep(0.001)\n"           // 6
           "        spent += perf_counter_ns()\n"  // 7
           "        loss.backward()\n"             // 8
           "        if slow:\n"                    // 9
           "            table = build(batch)\n"    // 10
           "\n"                                    // 11
           "    finish(table)\n";                  // 12
  }
  void TearDown() override {
    unlink(file_.c_str());
    rmdir(folder_.c_str());
  }
  std::string folder_, file_;
};

TEST_F(SourceLinesTest, ACallThatWaitsIsTheLine) {
  const auto span = SourceLines(kMuchLater).lines_between(file_, 3, 8);
  EXPECT_EQ(span.first, 6);
  EXPECT_EQ(span.last, 6);
  EXPECT_TRUE(span.waits);
}

TEST_F(SourceLinesTest, AfterALoopWentRoundTheRestOfItsBlockIsMeant) {
  const auto span = SourceLines(kMuchLater).lines_between(file_, 8, 2);
  EXPECT_EQ(span.first, 10);
  EXPECT_EQ(span.last, 10);
  EXPECT_FALSE(span.waits);
}

TEST_F(SourceLinesTest, WithoutTheTextAllLinesBetweenAreMeant) {
  const auto span = SourceLines(kMuchLater).lines_between(folder_ + "/gone.py", 3, 8);
  EXPECT_EQ(span.first, 4);
  EXPECT_EQ(span.last, 7);
  EXPECT_FALSE(span.from_text);
}

TEST_F(SourceLinesTest, ATextThatChangedSinceIsNotBelieved) {
  EXPECT_FALSE(SourceLines(1).lines_between(file_, 3, 8).from_text);
}

TEST_F(SourceLinesTest, NothingBetweenIsTheLineItself) {
  const auto span = SourceLines(kMuchLater).lines_between(file_, 5, 6);
  EXPECT_EQ(span.first, 5);
  EXPECT_EQ(span.last, 5);
}

}  // namespace
}  // namespace gpuprof::report::advice
