// SPDX-License-Identifier: Apache-2.0
//
// A folder of the test's own that TMPDIR names.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace gpuprof::serve {

class TmpdirTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/gpuprof-test-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    folder_ = path;
    setenv("TMPDIR", path, 1);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    std::filesystem::remove_all(folder_);
  }
  std::string folder_;
};

}  // namespace gpuprof::serve
