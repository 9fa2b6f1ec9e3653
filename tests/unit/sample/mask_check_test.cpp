// SPDX-License-Identifier: Apache-2.0
//
// What looks at a thread's mask and status come to.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstdint>
#include <string>

#include "inject/sample/signals/interrupted_syscalls.hpp"
#include "inject/sample/signals/mask_check.hpp"

namespace gpuprof::sample {
namespace {

constexpr int kOurs = 61;

void look(MaskHistory& memory, MaskCheck what, int times) {
  for (int i = 0; i < times; ++i) memory.add(what, true);
}

TEST(MaskHistory, AllowsATriggerAfterOneOpenLook) {
  MaskHistory memory;
  EXPECT_FALSE(memory.is_unblocked());
  memory.add(MaskCheck::kUnblocked, true);
  EXPECT_TRUE(memory.is_unblocked());
  EXPECT_FALSE(memory.is_blocking());
}

TEST(MaskHistory, OneBlockedLookDoesNotDecide) {
  MaskHistory memory;
  memory.add(MaskCheck::kUnblocked, true);
  memory.add(MaskCheck::kBlocked, true);
  EXPECT_FALSE(memory.is_blocking());
  EXPECT_TRUE(memory.needs_recheck());
  memory.add(MaskCheck::kUnblocked, true);
  memory.add(MaskCheck::kBlocked, true);
  EXPECT_FALSE(memory.is_blocking());
}

TEST(MaskHistory, OneThatDidNotGetToRunMayStillBeAtWhatLibcBlocksSignalsFor) {
  MaskHistory memory;
  memory.add(MaskCheck::kUnblocked, true);
  for (int i = 0; i < 7; ++i) {
    memory.add(MaskCheck::kBlocked, false);
    EXPECT_FALSE(memory.is_blocking());
    EXPECT_TRUE(memory.needs_recheck());
  }
  memory.add(MaskCheck::kBlocked, false);
  EXPECT_TRUE(memory.is_blocking());
}

TEST(MaskHistory, OneThatIsMetInOurHandlerBlocksNothing) {
  MaskHistory memory;
  memory.add(MaskCheck::kUnblocked, true);
  for (int i = 0; i < 50; ++i) memory.add(MaskCheck::kMaybeHandler, true);
  EXPECT_FALSE(memory.is_blocking());
  EXPECT_TRUE(memory.needs_recheck());
  memory.add(MaskCheck::kBlocked, true);
  memory.add(MaskCheck::kMaybeHandler, true);
  memory.add(MaskCheck::kBlocked, true);
  EXPECT_FALSE(memory.is_blocking());
  memory.add(MaskCheck::kBlocked, true);
  EXPECT_TRUE(memory.is_blocking());
}

TEST(MaskHistory, OneThatUnblocksSignalsToWaitNeedNotRunLong) {
  MaskHistory memory;
  memory.add(MaskCheck::kUnknown, true);
  memory.add(MaskCheck::kBlocked, false);
  memory.add(MaskCheck::kBlocked, false);
  EXPECT_TRUE(memory.is_blocking());
}

TEST(MaskHistory, LooksIntoWaitingCallsChangeNothing) {
  MaskHistory memory;
  memory.add(MaskCheck::kUnknown, true);
  EXPECT_FALSE(memory.is_unblocked());
  EXPECT_FALSE(memory.is_blocking());
  memory.add(MaskCheck::kBlocked, true);
  memory.add(MaskCheck::kUnknown, true);
  memory.add(MaskCheck::kBlocked, true);
  EXPECT_TRUE(memory.is_blocking());
  look(memory, MaskCheck::kUnknown, 100);
  EXPECT_TRUE(memory.is_blocking());
}

TEST(MaskHistory, GivesTheTriggerBackAtOnceToOneThatWasNeverMetInSuchACall) {
  MaskHistory memory;
  look(memory, MaskCheck::kBlocked, 3);
  memory.add(MaskCheck::kUnblocked, true);
  EXPECT_TRUE(memory.is_unblocked());
}

TEST(MaskHistory, GivesItBackToOneThatWasAfterManyOpenLooksInARow) {
  MaskHistory memory;
  memory.add(MaskCheck::kUnknown, true);
  look(memory, MaskCheck::kBlocked, 2);
  look(memory, MaskCheck::kUnblocked, 7);
  EXPECT_TRUE(memory.is_blocking());
  memory.add(MaskCheck::kUnknown, true);
  look(memory, MaskCheck::kUnblocked, 7);
  EXPECT_TRUE(memory.is_blocking());
  memory.add(MaskCheck::kUnblocked, true);
  EXPECT_TRUE(memory.is_unblocked());
}

TEST(MaskHistory, NeverGivesItBackToOneWhoseWaitWasCutShort) {
  MaskHistory memory;
  memory.add(MaskCheck::kUnblocked, true);
  memory.forbid();
  look(memory, MaskCheck::kUnblocked, 100);
  EXPECT_TRUE(memory.is_blocking());
  MaskHistory waiter;
  waiter.add(MaskCheck::kInSigwait, true);
  look(waiter, MaskCheck::kUnblocked, 100);
  EXPECT_TRUE(waiter.is_blocking());
}

std::string line_of(long number, const std::string& arguments) {
  return std::to_string(number) + " " + arguments + " 0x7ffd0000 0x7f000000\n";
}

TEST(MaskCheck, TellsAMaskOfTheThreadsOwnFromOneOfACall) {
  const std::string masked = "0x0 0x0 0x7ffd10 0x7ffd20 0x8 0x0";
  const std::string plain = "0x0 0x0 0x7ffd10 0x0 0x0 0x0";
  EXPECT_EQ(classify_mask(line_of(SYS_ppoll, masked).c_str(), false, kOurs), MaskCheck::kUnknown);
  EXPECT_EQ(classify_mask(line_of(SYS_ppoll, masked).c_str(), true, kOurs), MaskCheck::kUnknown);
  EXPECT_EQ(classify_mask(line_of(SYS_ppoll, plain).c_str(), false, kOurs), MaskCheck::kUnblocked);
  EXPECT_EQ(classify_mask(line_of(SYS_epoll_pwait, plain).c_str(), true, kOurs),
            MaskCheck::kBlocked);
  EXPECT_EQ(classify_mask(line_of(SYS_rt_sigsuspend, plain).c_str(), false, kOurs),
            MaskCheck::kUnknown);
  EXPECT_EQ(classify_mask(line_of(SYS_read, masked).c_str(), false, kOurs), MaskCheck::kUnblocked);
}

TEST(MaskCheck, TakesTheMaskForTheThreadsOwnWhereItRunsOrTheKernelDoesNotTell) {
  for (const char* line : {"running\n", "-1 0x7ffd0000 0x7f000000\n", "", "7", "7 0x0"}) {
    EXPECT_EQ(classify_mask(line, false, kOurs), MaskCheck::kUnblocked) << line;
    EXPECT_EQ(classify_mask(line, true, kOurs), MaskCheck::kBlocked) << line;
  }
}

TEST(MaskCheck, FindsOurSignalAmongThoseWaitedFor) {
  const std::uint64_t all = ~0ULL, without = ~(1ULL << (kOurs - 1));
  const auto line = [](const void* set) {
    char text[32];
    std::snprintf(text, sizeof text, "%p", set);
    return line_of(SYS_rt_sigtimedwait, std::string(text) + " 0x0 0x0 0x8 0x0 0x0");
  };
  EXPECT_EQ(classify_mask(line(&all).c_str(), false, kOurs), MaskCheck::kInSigwait);
  EXPECT_EQ(classify_mask(line(&without).c_str(), true, kOurs), MaskCheck::kBlocked);
  EXPECT_EQ(classify_mask(line(nullptr).c_str(), true, kOurs), MaskCheck::kBlocked);
}

TEST(MaskCheck, OfOneThatWaitsForAProcessorOrWasInOurHandlerSaysNothing) {
  for (const bool handled : {false, true})
    for (const bool runnable : {false, true})
      for (const bool got_on : {false, true}) {
        const bool clear = !handled && (!runnable || got_on);
        EXPECT_EQ(discount_handler(MaskCheck::kBlocked, handled, runnable, got_on),
                  clear ? MaskCheck::kBlocked : MaskCheck::kMaybeHandler);
        EXPECT_EQ(discount_handler(MaskCheck::kUnblocked, handled, runnable, got_on),
                  MaskCheck::kUnblocked);
      }
}

TEST(InterruptedWaits, RemembersAThreadUntilItHasEnded) {
  InterruptedWaits waits;
  EXPECT_FALSE(waits.take_changed());
  EXPECT_EQ(waits.add(100), InterruptedWait::kFirst);
  EXPECT_EQ(waits.add(100), InterruptedWait::kAgain);
  EXPECT_EQ(waits.add(1124), InterruptedWait::kFirst);  // the same place
  EXPECT_TRUE(waits.take_changed());
  EXPECT_FALSE(waits.take_changed());
  EXPECT_TRUE(waits.has(100));
  EXPECT_TRUE(waits.has(1124));
  waits.remove(100);
  EXPECT_FALSE(waits.has(100));
  EXPECT_TRUE(waits.has(1124));
}

TEST(InterruptedWaits, KnowsNotWhetherItIsTheFirstWhereNoPlaceIsLeft) {
  InterruptedWaits waits;
  for (std::uint32_t i = 0; i < 8; ++i)
    EXPECT_EQ(waits.add(100 + 1024 * i), InterruptedWait::kFirst);
  EXPECT_EQ(waits.add(100 + 1024 * 8), InterruptedWait::kTableFull);
  EXPECT_EQ(waits.add(100 + 1024 * 8), InterruptedWait::kTableFull);
}

TEST(ThreadStatus, TellsWhetherTheThreadWantsToRun) {
  ThreadStatus status;
  parse_thread_status("Name:\tState:\\tR\nUmask:\t0022\nState:\tS (sleeping)\n", &status);
  EXPECT_FALSE(status.runnable);
  parse_thread_status("Name:\tw\nUmask:\t0022\nState:\tR (running)\n", &status);
  EXPECT_TRUE(status.runnable);
  parse_thread_status("", &status);
  EXPECT_FALSE(status.runnable);
}

TEST(ThreadStatus, HoldsTracerAndFilters) {
  ThreadStatus status;
  parse_thread_status(
      "Name:\tworker\nTracerPid:\t4711\nSigPnd:\t0000000000000000\nShdPnd:\t1000000000000000\n"
      "SigBlk:\tffffffffffffffff\nSeccomp:\t2\nSeccomp_filters:\t3\n",
      &status);
  EXPECT_STREQ(status.name, "worker");
  EXPECT_EQ(status.tracer, 4711u);
  EXPECT_EQ(status.blocked, ~0ULL);
  EXPECT_EQ(status.pending, 0u);
  EXPECT_EQ(status.shared, 1ULL << 60);
  EXPECT_EQ(status.seccomp_mode, 2u);
  EXPECT_EQ(status.filters, 3u);
}

}  // namespace
}  // namespace gpuprof::sample
