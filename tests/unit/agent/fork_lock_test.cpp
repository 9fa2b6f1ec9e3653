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
  ForksUnderWay forks;
  EXPECT_TRUE(forks.begins());
  EXPECT_FALSE(forks.begins());
  EXPECT_FALSE(forks.ends());
  EXPECT_FALSE(forks.begins());
  EXPECT_FALSE(forks.ends());
  EXPECT_TRUE(forks.any());
  EXPECT_TRUE(forks.ends());
  EXPECT_FALSE(forks.any());
}

TEST(ForkTurn, AnEndWithoutABeginIsNone) {
  ForksUnderWay forks;
  EXPECT_FALSE(forks.ends());
  EXPECT_TRUE(forks.begins());
  EXPECT_TRUE(forks.ends());
}

TEST(ForkTurn, IsOneThreadsAtATime) {
  std::atomic<int> inside{0}, most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const Turn turn;
        const int now = inside.fetch_add(1) + 1;
        if (now > most.load()) most.store(now);
        if (i % 50 == 0) std::this_thread::yield();
        inside.fetch_sub(1);
      }
    });
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(most.load(), 1);
  EXPECT_FALSE(is_my_turn());
}

TEST(ForkTurn, DoesNotWaitForItsOwnThread) {
  // Given a signal handler that forks, amid a fork of the thread it interrupts
  ASSERT_TRUE(take_turn());
  EXPECT_FALSE(take_turn());
  { const Turn turn; }
  EXPECT_TRUE(is_my_turn()) << "the outer one's";
  end_turn();
  EXPECT_FALSE(is_my_turn());
}

TEST(ForkTurn, OfAThreadThatHasEndedIsTheNextOnes) {
  std::thread([] { EXPECT_TRUE(take_turn()); }).join();
  ASSERT_TRUE(take_turn());
  EXPECT_TRUE(is_my_turn());
  end_turn();
}

TEST(ForkTurn, BetweenForksComesWhenTheLastIsOver) {
  ASSERT_TRUE(g_forks.begins());
  EXPECT_FALSE(take_turn_between_forks(1));
  EXPECT_FALSE(is_my_turn());
  std::thread([] { EXPECT_TRUE(g_forks.ends()); }).join();
  ASSERT_TRUE(take_turn_between_forks(1000));
  end_turn();
}

TEST(ForkTurn, OfTheParentIsNobodysInTheChild) {
  ASSERT_TRUE(g_forks.begins());
  std::atomic<bool> taken{false}, over{false};
  std::thread other([&] {
    const Turn turn;
    taken.store(true);
    while (!over.load()) std::this_thread::yield();
  });
  while (!taken.load()) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    forget_turns_after_fork();
    _exit(!g_forks.any() && take_turn() && is_my_turn() ? 0 : 1);
  }
  over.store(true);
  other.join();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(g_forks.ends());
}

}  // namespace
}  // namespace gpuprof::agent
