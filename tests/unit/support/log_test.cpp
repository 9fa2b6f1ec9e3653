// SPDX-License-Identifier: Apache-2.0
#include "support/io/log.hpp"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>

#include "support/io/files.hpp"
#include "tests/unit/support/temp_folder.hpp"

namespace gpuprof::support {
namespace {

TEST(Log, SinkCanBeReplacedAndLinesNameTheProgram) {
  std::ostringstream text;
  log_to_sink("gpuprofd", std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
  spdlog::info("session {} is open", 3);
  disable_log();
  spdlog::info("nobody hears this");
  EXPECT_EQ(text.str(), "gpuprofd[info] session 3 is open\n");
}

TEST(Log, FileThatCannotBeWrittenIsOneSentence) {
  EXPECT_FALSE(log_to_file("gpuprofd", "/proc/nonexistent/log"));
  test::TempFolder folder;
  ASSERT_TRUE(log_to_file("gpuprofd", folder / "log"));
  spdlog::warn("kept");
  disable_log();
  EXPECT_NE(read_small_file(folder / "log").find("gpuprofd[warning] kept"), std::string::npos);
}

}  // namespace
}  // namespace gpuprof::support
