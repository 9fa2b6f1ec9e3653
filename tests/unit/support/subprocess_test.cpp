// SPDX-License-Identifier: Apache-2.0
#include "support/process/subprocess.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support/temp_folder.hpp"

namespace gpuprof::support {
namespace {

constexpr std::uint64_t kLongNs = 300'000'000'000;
constexpr std::uint64_t kShortNs = 100'000'000;

LaunchOptions launch_of(const std::string& path, std::vector<std::string> more = {}) {
  LaunchOptions launch;
  launch.path = path;
  launch.arguments = {path};
  launch.arguments.insert(launch.arguments.end(), more.begin(), more.end());
  launch.environment = current_environment();
  return launch;
}

TEST(Start, ReportsAMissingProgramAs127) {
  const auto started = launch_process(launch_of("/nonexistent/program"));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().exit_status, 127);
}

TEST(Start, ReportsAFileWithoutPermissionAs126) {
  test::TempFolder folder;
  const auto started = launch_process(launch_of(folder.write("plain", "text")));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().exit_status, 126);
}

TEST(Start, ReportsAMissingInterpreterAs126) {
  test::TempFolder folder;
  const auto started =
      launch_process(launch_of(folder.write("script", "#!/nonexistent/shell\n", true)));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().exit_status, 126);
  EXPECT_NE(started.error().message.find("interpreter"), std::string::npos);
}

TEST(Start, RunsAScriptWithoutHashBangThroughTheShell) {
  test::TempFolder folder;
  const auto started = launch_process(launch_of(folder.write("script", "exit 7\n", true)));
  ASSERT_TRUE(started);
  int status = 0;
  waitpid(started.value(), &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Start, LeavesNoDescriptorOfOursInTheProgram) {
  const auto seen =
      run_captured({"/bin/sh", "-c", "ls /proc/self/fd | wc -l"}, current_environment(), kLongNs);
  ASSERT_TRUE(seen);
  // Three, and the folder that ls has open; what the test was started with may add to it.
  int inherited = 0;
  for (int fd = 3; fd < 1024; ++fd) inherited += fcntl(fd, F_GETFD) == 0;
  EXPECT_EQ(atoi(seen.value().out.c_str()), 4 + inherited);
}

TEST(RunCaptured, KillsAHelperThatTakesTooLong) {
  const auto seen = run_captured({"/bin/sleep", "100"}, current_environment(), kShortNs);
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen.value().timed_out);
  EXPECT_TRUE(WIFSIGNALED(seen.value().wait_status));
}

TEST(RunInFork, SurvivesACrash) {
  const auto seen = run_in_fork(
      [](int out) {
        dprintf(out, "before");
        _exit(9);
      },
      kLongNs);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen.value().out, "before");
  EXPECT_EQ(WEXITSTATUS(seen.value().wait_status), 9);
}

TEST(Environment, SetsRemovesAndFindsByWholeName) {
  std::vector<std::string> words = {"A=1", "AB=2", "A=3"};
  EXPECT_EQ(environment_get(words, "A"), "1");
  environment_set(words, "AB", "x");
  environment_remove(words, "A");
  EXPECT_EQ(words, (std::vector<std::string>{"AB=x"}));
  EXPECT_FALSE(environment_has(words, "A"));
}

}  // namespace
}  // namespace gpuprof::support
