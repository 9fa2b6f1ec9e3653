// SPDX-License-Identifier: Apache-2.0
//
// Alternate stacks: who gets one, who keeps his own, and that none is lost.
#include "inject/sample/signals/alt_stacks.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

namespace gpuprof::sample {
namespace {

stack_t of_this_thread() {
  stack_t now{};
  sigaltstack(nullptr, &now);
  return now;
}

bool is_ours() {
  const stack_t now = of_this_thread();
  return (now.ss_flags & SS_DISABLE) == 0 && now.ss_size == kAltStackBytes &&
         is_on_own_alt_stack(now.ss_sp);
}

void* nothing(void* argument) { return argument; }

class AltStacks : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "sanitizers give each thread a stack, and unmap what they find at its end";
#endif
    enable_alt_stacks(true);
  }
};

// First: nothing is required before.
TEST(AltStacksBefore, NobodyGetsOneAndAnyThreadMayBeSignalled) {
  EXPECT_EQ(nullptr, reserve_alt_stack({nothing, nullptr}));
  ensure_alt_stack();
  EXPECT_FALSE(is_ours());
  EXPECT_TRUE(may_signal_this_thread());
}

TEST_F(AltStacks, ANewThreadGetsItsOwnAndIsToldWhatToDo) {
  int here = 0;
  void* reserved = reserve_alt_stack({nothing, &here});
  ASSERT_NE(nullptr, reserved);
  std::thread([&] {
    const ThreadStart start = activate_alt_stack(reserved);
    EXPECT_EQ(&here, start.routine(start.argument));
    EXPECT_TRUE(is_ours());
    EXPECT_TRUE(may_signal_this_thread());
  }).join();
}

TEST_F(AltStacks, AStackOfTheProgramsIsLeftAlone) {
  std::thread([] {
    static std::array<char, 32 << 10> s_own;
    stack_t own{};
    own.ss_sp = s_own.data();
    own.ss_size = s_own.size();
    ASSERT_EQ(0, sigaltstack(&own, nullptr));
    ensure_alt_stack();
    EXPECT_EQ(s_own.data(), of_this_thread().ss_sp);
    EXPECT_FALSE(may_signal_this_thread());
    own.ss_flags = SS_DISABLE;
    sigaltstack(&own, nullptr);
  }).join();
}

TEST_F(AltStacks, ThoseOfEndedThreadsAreUsedAgain) {
  for (std::uint32_t i = 0; i < 3 * kMaxAltStacks; ++i) {
    void* reserved = reserve_alt_stack({nothing, nullptr});
    if (reserved == nullptr) {
      reclaim_alt_stacks();
      reserved = reserve_alt_stack({nothing, nullptr});
    }
    ASSERT_NE(nullptr, reserved) << i;
    std::thread([&] { activate_alt_stack(reserved); }).join();
  }
}

TEST_F(AltStacks, AreGivenOutToTheLastOneAndNotTwice) {
  reclaim_alt_stacks();
  std::vector<void*> all;
  while (void* one = reserve_alt_stack({nothing, nullptr})) all.push_back(one);
  EXPECT_GE(all.size(), kMaxAltStacks - 2);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all.end(), std::adjacent_find(all.begin(), all.end()));
  for (void* one : all) cancel_alt_stack(one);
  void* again = reserve_alt_stack({nothing, nullptr});
  EXPECT_NE(nullptr, again);
  cancel_alt_stack(again);
}

TEST_F(AltStacks, AForkedChildKeepsThatOfItsOneThread) {
  ensure_alt_stack();
  ASSERT_TRUE(is_ours());
  void* reserved = reserve_alt_stack({nothing, nullptr});
  const pid_t child = fork();
  if (child == 0) {
    reset_alt_stacks_after_fork();
    int wrong = is_ours() && may_signal_this_thread() ? 0 : 1;
    std::uint32_t free = 0;
    while (reserve_alt_stack({nothing, nullptr}) != nullptr) ++free;
    if (free != kMaxAltStacks - 1) wrong |= 2;
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  EXPECT_EQ(0, status);
  cancel_alt_stack(reserved);
}

}  // namespace
}  // namespace gpuprof::sample
