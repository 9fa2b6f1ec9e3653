// SPDX-License-Identifier: Apache-2.0
#include "support/process/procfs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process/subprocess.hpp"

namespace gpuprof::support {
namespace {

TEST(ParseStat, NameMayHoldBracketsAndBlanks) {
  const ProcessStat stat = parse_process_stat(
      "17 (a) R 5 (b) T 3 17 17 0 -1 4194304 1 2 3 4 20 30 5 6 20 0 1 0 100 200 300");
  EXPECT_TRUE(stat.exists);
  EXPECT_TRUE(stat.is_stopped_or_traced());
  EXPECT_EQ(stat.parent, 3);
  EXPECT_EQ(stat.cpu_ticks, 50U);
  EXPECT_EQ(stat.threads, 1U);
}

TEST(ParseStat, NonsenseIsNotThere) {
  for (const char* line : {"", "17 (a)", "17 (a) ", "17 (a) R 1 2 3"}) {
    EXPECT_FALSE(parse_process_stat(line).exists) << line;
  }
}

TEST(ProcessStat, KnowsUs) {
  EXPECT_EQ(process_stat(getpid()).parent, getppid());
  EXPECT_TRUE(any_thread_runnable(getpid())) << "the thread that looks runs";
}

TEST(HasEnded, AlsoBeforeAnybodyCollectsIt) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(has_ended(child));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(has_ended(child));
  EXPECT_FALSE(has_ended(getpid()));
}

TEST(ChildrenOf, FindsAChildUntilItIsCollected) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_THAT(children_of(getpid()), testing::Contains(child));
  EXPECT_FALSE(reap_child(child, 0)) << "it still runs";
  kill(child, SIGKILL);
  EXPECT_TRUE(reap_child(child, 60'000'000'000));
  EXPECT_THAT(children_of(getpid()), testing::Not(testing::Contains(child)));
  EXPECT_TRUE(reap_child(child, 60'000'000'000)) << "nothing is left to wait for";
}

}  // namespace
}  // namespace gpuprof::support
