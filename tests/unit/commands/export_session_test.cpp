// SPDX-License-Identifier: Apache-2.0
//
// Exports that cannot be finished.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "analysis/commands/export_session.hpp"
#include "tests/golden/tensorboard/scripted_session.hpp"

namespace gpuprof::commands {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Export : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gpuprof-api-export-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    fs::create_directory(folder_ + "/spool");
    ASSERT_TRUE(test::write_script(folder_ + "/spool", folder_ + "/out").ok());
    // A second window, of the same events, a second later.
    std::ofstream(folder_ + "/spool/session.jsonl", std::ios::app)
        << R"({"line":"window","index":1,"start_ns":5000500000,"end_ns":5001000000,)"
        << R"("stamp_real_ns":1700000001000000000,"first_step":2,"first_label":2,"steps":2,)"
        << R"("why":"schedule"})"
        << "\n";
    request_.spool = folder_ + "/spool";
  }
  void TearDown() override { fs::remove_all(folder_); }

  support::Result<recording::Summary> run() { return export_session(request_, {}); }
  std::vector<std::string> files_of(const recording::Summary& summary, std::uint32_t window) const {
    std::vector<std::string> paths;
    for (const recording::SummaryFile& file : summary.files)
      if (file.window == window) paths.push_back(file.path);
    return paths;
  }

  std::string folder_;
  ExportRequest request_;
};

TEST_F(Export, FilesOfWindowsBeforeOneThatFailsAreTold) {
  // given files of the second window that must not be replaced
  const auto whole = run();
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_TRUE(whole.value().complete);
  const std::vector<std::string> first = files_of(whole.value(), 0);
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(files_of(whole.value(), 1).size(), 2u);
  for (const std::string& path : first) fs::remove(path);
  // when exported again
  const auto again = run();
  // then the first window's are there and told, and why there is no more
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_FALSE(again.value().complete);
  EXPECT_EQ(files_of(again.value(), 0), first);
  EXPECT_TRUE(fs::exists(first[0]) && fs::exists(first[1]));
  EXPECT_TRUE(files_of(again.value(), 1).empty());
  EXPECT_EQ(again.value().windows.size(), 1u);
  ASSERT_EQ(again.value().failures.size(), 1u);
  EXPECT_THAT(again.value().failures[0], HasSubstr(": the file exists; use `gpuprof export`"));
  EXPECT_THAT(again.value().failures[0],
              HasSubstr("; window 2 of 2 and any later windows were not written"));
}

TEST_F(Export, WhereNothingWasWrittenTheSentenceIsAll) {
  ASSERT_TRUE(run().ok());
  const auto again = run();
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message, HasSubstr(": the file exists; use `gpuprof export`"));
}

}  // namespace
}  // namespace gpuprof::commands
