// SPDX-License-Identifier: Apache-2.0
#include "support/io/files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/support/temp_folder.hpp"

namespace gpuprof::support {
namespace {

TEST(ClosedFolderAbove, IsTheOutermostOthersMayNotEnter) {
  test::TempFolder folder;
  ASSERT_TRUE(create_folders(folder / "a/b"));
  chmod(folder.path().c_str(), 0755);
  ASSERT_EQ(inaccessible_parent(folder / "a/b/file"), "") << "the temporary folder is closed";
  chmod((folder / "a/b").c_str(), 0750);
  EXPECT_EQ(inaccessible_parent(folder / "a/b/file"), folder / "a/b");
  chmod((folder / "a").c_str(), 0700);
  EXPECT_EQ(inaccessible_parent(folder / "a/b/file"), folder / "a");
}

TEST(MakeFolders, MakesParentsAndUndoesOnlyItsOwn) {
  test::TempFolder folder;
  const auto made = create_folders(folder / "a/b/c");
  ASSERT_TRUE(made);
  EXPECT_EQ(made.value().size(), 3U);
  remove_if_empty(made.value());
  EXPECT_FALSE(file_exists(folder / "a"));
  EXPECT_TRUE(file_exists(folder.path()));
}

TEST(MakeFolders, AFileInTheWayIsNamed) {
  test::TempFolder folder;
  folder.write("a", "text");
  const auto made = create_folders(folder / "a/b");
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("a file has that name"), std::string::npos)
      << made.error().message;
}

TEST(RemoveIfEmpty, KeepsWhatHoldsAFile) {
  test::TempFolder folder;
  const auto made = create_folders(folder / "a/b");
  folder.write("a/file", "text");
  remove_if_empty(made.value());
  EXPECT_FALSE(file_exists(folder / "a/b"));
  EXPECT_TRUE(file_exists(folder / "a/file"));
}

TEST(CheckWritable, LeavesNothingBehind) {
  test::TempFolder folder;
  EXPECT_TRUE(check_writable(folder.path()));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_FALSE(check_writable(folder / "missing"));
}

TEST(AbsolutePath, IsRelativeToTheBaseAndTidy) {
  EXPECT_EQ(absolute_path("a//./b", "/x/"), "/x/a/b");
  EXPECT_EQ(absolute_path("/a/../b", "/x"), "/a/../b");
  EXPECT_EQ(absolute_path("", "/"), "/");
}

}  // namespace
}  // namespace gpuprof::support
