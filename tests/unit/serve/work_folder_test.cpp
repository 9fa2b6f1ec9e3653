// SPDX-License-Identifier: Apache-2.0
#include "serve/work_folder.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/unit/serve/own_folder.hpp"

namespace gpuprof::serve {
namespace {

class WorkFolderTest : public TmpdirTest {};

TEST_F(WorkFolderTest, GoesWithWhatIsInIt) {
  std::string path;
  {
    auto made = WorkFolder::make();
    ASSERT_TRUE(made);
    const WorkFolder folder = made.take();
    path = folder.path();
    std::ofstream(path + "/file") << "x";
    struct stat facts {};
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0700U);
    EXPECT_GE(folder.lock(), 0);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(WorkFolderTest, SweepTakesWhatNobodyUsesAndNothingElse) {
  auto made = WorkFolder::make();
  ASSERT_TRUE(made);
  const WorkFolder used = made.take();
  const std::string left = folder_ + "/gpuprof-serve-abcdef", other = folder_ + "/other";
  std::filesystem::create_directories(left + "/files");
  std::filesystem::create_directories(other);
  std::filesystem::create_directory_symlink(other, folder_ + "/gpuprof-serve-link");
  WorkFolder::remove_stale();
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(used.path()));
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ + "/gpuprof-serve-link"));
}

TEST_F(WorkFolderTest, IsInTmpWhereTmpdirIsNoPlace) {
  setenv("TMPDIR", "relative", 1);
  auto made = WorkFolder::make();
  ASSERT_TRUE(made);
  EXPECT_TRUE(made.value().path().starts_with("/tmp/"));
}

}  // namespace
}  // namespace gpuprof::serve
