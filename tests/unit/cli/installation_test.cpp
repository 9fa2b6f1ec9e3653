// SPDX-License-Identifier: Apache-2.0
#include "cli/target/installation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/support/temp_folder.hpp"

namespace gpuprof::cli {
namespace {

namespace fs = std::filesystem;

/// A folder laid out as after installation.
std::string install(const std::string& root) {
  fs::create_directories(root + "/bin");
  for (const char* folder :
       {"lib/gpuprof", "lib/gpuprof/lib64", "lib/gpuprof/lib/x86_64-linux-gnu"}) {
    fs::create_directories(root + "/" + folder);
    std::ofstream(root + "/" + folder + "/" + kLibraryName) << "x";
  }
  std::ofstream(root + "/bin/gpuprofd") << "#!/bin/sh\n";
  fs::permissions(root + "/bin/gpuprofd", fs::perms(0755));
  return root + "/bin/gpuprof";
}

TEST(FindInstallation, LooksBesideTheProgram) {
  test::TempFolder folder;
  const auto found = find_installation(install(folder.path()), "");
  ASSERT_TRUE(found);
  EXPECT_EQ(found.value().daemon, folder / "bin/gpuprofd");
  EXPECT_EQ(found.value().library, folder / "lib/gpuprof/libgpuprof_inject.so");
  EXPECT_EQ(found.value().lib_token_folder, folder / "lib/gpuprof");
  EXPECT_FALSE(found.value().has_32bit_stub);
}

TEST(FindInstallation, MissingPartsAreNamed) {
  test::TempFolder folder;
  const std::string program = install(folder.path());
  EXPECT_FALSE(find_installation(program, folder / "no-daemon"));
  fs::remove_all(folder / "lib");
  const auto found = find_installation(program, "");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, testing::HasSubstr("libgpuprof_inject.so"));
}

TEST(FindInstallation, WithoutProcTheRemedyIsToMountIt) {
  const auto found = find_installation("", "");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, testing::HasSubstr("mount -t proc proc /proc"));
}

TEST(LibExpansion, FollowsTheLoadersOwnFolder) {
  test::TempFolder folder;
  fs::create_directories(folder / "usr/lib/x86_64-linux-gnu");
  fs::create_directories(folder / "lib64");
  std::ofstream(folder / "usr/lib/x86_64-linux-gnu/ld.so") << "x";
  fs::create_symlink(folder / "usr/lib/x86_64-linux-gnu/ld.so", folder / "lib64/ld.so");
  EXPECT_EQ(expand_lib_token(folder / "lib64/ld.so"), "lib/x86_64-linux-gnu");
  std::ofstream(folder / "lib64/other.so") << "x";
  EXPECT_EQ(expand_lib_token(folder / "lib64/other.so"), "lib64");
  EXPECT_EQ(expand_lib_token(folder / "none"), "");
}

TEST(PreloadPath, PlainPathNeedsNoLink) {
  test::TempFolder folder;
  const Installation found = find_installation(install(folder.path()), "").value();
  auto name = PreloadPath::make(found, "/lib64/ld-linux-x86-64.so.2", "/tmp");
  ASSERT_TRUE(name);
  EXPECT_EQ(name.value().value(), folder / "lib/gpuprof/$LIB/libgpuprof_inject.so");
  EXPECT_EQ(name.value().remove(), "");
}

TEST(PreloadPath, UnknownExpansionNamesTheFileItself) {
  test::TempFolder folder;
  const Installation found = find_installation(install(folder.path()), "").value();
  auto name = PreloadPath::make(found, "/nonexistent/ld.so", "/tmp");
  ASSERT_TRUE(name);
  EXPECT_EQ(name.value().value(), found.library);
  EXPECT_FALSE(name.value().uses_lib_token());
}

TEST(PreloadPath, PathWithBlanksOrColonsGoesOverAPrivateLink) {
  for (const char* odd : {"with blank", "with:colon", "with$dollar"}) {
    test::TempFolder folder;
    const Installation found = find_installation(install(folder / odd), "").value();
    auto name = PreloadPath::make(found, "/lib64/ld-linux-x86-64.so.2", folder.path());
    ASSERT_TRUE(name);
    const std::string word = name.value().value();
    EXPECT_EQ(word.find_first_of(" :"), std::string::npos) << word;
    const fs::path link = fs::path(word).parent_path().parent_path();
    EXPECT_TRUE(fs::exists(link / "lib64" / kLibraryName));
    EXPECT_EQ(fs::status(link.parent_path()).permissions(), fs::perms(0700));
    EXPECT_EQ(name.value().remove(), "");
    EXPECT_FALSE(fs::exists(link.parent_path()));
  }
}

}  // namespace
}  // namespace gpuprof::cli
