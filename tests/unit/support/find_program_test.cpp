// SPDX-License-Identifier: Apache-2.0
#include "support/process/find_program.hpp"

#include <gtest/gtest.h>

#include "tests/unit/support/temp_folder.hpp"

namespace gpuprof::support {
namespace {

TEST(FindProgram, SearchesPathInOrder) {
  test::TempFolder first, second;
  first.write("tool", "not executable");
  const std::string right = second.write("tool", "#!/bin/sh\n", true);
  EXPECT_EQ(find_program("tool", first.path() + ":" + second.path()).value(), right);
}

TEST(FindProgram, SaysNotExecutableRatherThanNotFound) {
  test::TempFolder folder;
  folder.write("tool", "text");
  const auto found = find_program("tool", folder.path());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().exit_status, 126);
}

TEST(FindProgram, MissingIs127AndAFolderIs126) {
  test::TempFolder folder;
  EXPECT_EQ(find_program("no-such-tool", folder.path()).error().exit_status, 127);
  EXPECT_EQ(find_program(folder.path() + "/none", "").error().exit_status, 127);
  EXPECT_EQ(find_program(folder.path(), "").error().exit_status, 126);
  EXPECT_EQ(find_program("", "/bin").error().exit_status, 127);
}

}  // namespace
}  // namespace gpuprof::support
