// SPDX-License-Identifier: Apache-2.0
#include "cli/output/summary_output.hpp"

#include <gtest/gtest.h>

#include <string>

#include "cli/options/options.hpp"
#include "recording/session/summary.hpp"
#include "support/io/files.hpp"
#include "support/text/utf8.hpp"

namespace gpuprof::cli {
namespace {

TEST(SessionReport, TheSummaryInAFileIsUtf8WhateverAProcessIsCalled) {
  // given: a process with a byte in its command line that is no UTF-8
  Options options;
  options.quiet = true;
  options.summary_json = testing::TempDir() + "/summary.json";
  recording::Summary summary;
  summary.processes.emplace_back().command_line = "train \xff \xc3\xa9";
  // when
  ASSERT_TRUE(write_summary(options, summary));
  // then
  const std::string text = support::read_small_file(options.summary_json);
  EXPECT_TRUE(support::is_utf8(text));
  EXPECT_NE(text.find("train \xef\xbf\xbd \xc3\xa9"), std::string::npos) << text;
  EXPECT_TRUE(recording::from_json(text));
}

}  // namespace
}  // namespace gpuprof::cli
