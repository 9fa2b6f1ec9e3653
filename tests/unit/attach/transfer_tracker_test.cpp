// SPDX-License-Identifier: Apache-2.0
#include "daemon/attach/process/transfer_tracker.hpp"

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

namespace gpuprof::attach {
namespace {

void run_for_ms(long ms) {
  timespec ran{};
  const auto used_ms = [&] {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    return ran.tv_sec * 1000 + ran.tv_nsec / 1'000'000;
  };
  const long until_ms = used_ms() + ms;
  while (used_ms() < until_ms) continue;
}

class TransfersTest : public testing::Test {
 protected:
  /// This thread, as it may be seen.
  ThreadCandidate waiting_for_room() const { return {gettid(), 1, true}; }
  ThreadCandidate running() const { return {gettid(), 0, false}; }
  ThreadCandidate in_another_call() const { return {gettid(), 1, false}; }

  TransferTracker transfers{getpid()};
};

TEST_F(TransfersTest, AThreadThatWasNeverSeenAmidOneIsNot) {
  EXPECT_FALSE(transfers.in_transfer(running()));
  EXPECT_FALSE(transfers.in_transfer(in_another_call()));
}

TEST_F(TransfersTest, AThreadThatWokeToMoveOnIsAmidItUntilItHasRunAWhile) {
  EXPECT_TRUE(transfers.in_transfer(waiting_for_room()));
  EXPECT_TRUE(transfers.in_transfer(running()));
  run_for_ms(12);
  EXPECT_FALSE(transfers.in_transfer(running()));
  EXPECT_FALSE(transfers.in_transfer(running())) << "forgotten";
}

TEST_F(TransfersTest, AThreadThatSleepsInAnotherCallIsOut) {
  EXPECT_TRUE(transfers.in_transfer(waiting_for_room()));
  EXPECT_FALSE(transfers.in_transfer(in_another_call()));
  EXPECT_FALSE(transfers.in_transfer(running()));
}

TEST_F(TransfersTest, WaitingForRoomAgainBeginsAnew) {
  EXPECT_TRUE(transfers.in_transfer(waiting_for_room()));
  run_for_ms(12);
  EXPECT_TRUE(transfers.in_transfer(waiting_for_room()));
  EXPECT_TRUE(transfers.in_transfer(running()));
}

}  // namespace
}  // namespace gpuprof::attach
