// SPDX-License-Identifier: Apache-2.0
//
// Whose turn it is among threads that fork at the same time.
#include "inject/agent/process/fork_lock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace gpuprof::agent {
namespace {

TEST(ForkTurn, OnlyTheFirstPreparesAndTheLastEnds) {
  PendingForks forks;
  EXPECT_TRUE(forks.begin());
  EXPECT_FALSE(forks.begin());
  EXPECT_FALSE(forks.end());
  EXPECT_FALSE(forks.begin());
  EXPECT_FALSE(forks.end());
  EXPECT_TRUE(forks.any());
  EXPECT_TRUE(forks.end());
  EXPECT_FALSE(forks.any());
}

TEST(ForkTurn, AnEndWithoutABeginIsNone) {
  PendingForks forks;
  EXPECT_FALSE(forks.end());
  EXPECT_TRUE(forks.begin());
  EXPECT_TRUE(forks.end());
}

TEST(ForkTurn, IsOneThreadsAtATime) {
  std::atomic<int> inside{0}, most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const ForkLock turn;
        const int now = inside.fetch_add(1) + 1;
        if (now > most.load()) most.store(now);
        if (i % 50 == 0) std::this_thread::yield();
        inside.fetch_sub(1);
      }
    });
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(most.load(), 1);
  EXPECT_FALSE(holds_fork_lock());
}

TEST(ForkTurn, DoesNotWaitForItsOwnThread) {
  // Given a signal handler that forks, amid a fork of the thread it interrupts
  ASSERT_TRUE(lock_fork());
  EXPECT_FALSE(lock_fork());
  { const ForkLock turn; }
  EXPECT_TRUE(holds_fork_lock()) << "the outer one's";
  unlock_fork();
  EXPECT_FALSE(holds_fork_lock());
}

TEST(ForkTurn, OfAThreadThatHasEndedIsTheNextOnes) {
  std::thread([] { EXPECT_TRUE(lock_fork()); }).join();
  ASSERT_TRUE(lock_fork());
  EXPECT_TRUE(holds_fork_lock());
  unlock_fork();
}

TEST(ForkTurn, BetweenForksComesWhenTheLastIsOver) {
  ASSERT_TRUE(g_pending_forks.begin());
  EXPECT_FALSE(lock_when_no_fork(1));
  EXPECT_FALSE(holds_fork_lock());
  std::thread([] { EXPECT_TRUE(g_pending_forks.end()); }).join();
  ASSERT_TRUE(lock_when_no_fork(1000));
  unlock_fork();
}

TEST(ForkTurn, OfTheParentIsNobodysInTheChild) {
  ASSERT_TRUE(g_pending_forks.begin());
  std::atomic<bool> taken{false}, over{false};
  std::thread other([&] {
    const ForkLock turn;
    taken.store(true);
    while (!over.load()) std::this_thread::yield();
  });
  while (!taken.load()) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    reset_fork_lock_after_fork();
    _exit(!g_pending_forks.any() && lock_fork() && holds_fork_lock() ? 0 : 1);
  }
  over.store(true);
  other.join();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(g_pending_forks.end());
}

}  // namespace
}  // namespace gpuprof::agent
