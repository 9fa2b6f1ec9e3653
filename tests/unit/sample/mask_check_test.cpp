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

void look(MaskMemory& memory, MaskLook what, int times) {
  for (int i = 0; i < times; ++i) memory.see(what, true);
}

TEST(MaskMemory, AllowsATriggerAfterOneOpenLook) {
  MaskMemory memory;
  EXPECT_FALSE(memory.open());
  memory.see(MaskLook::kOpen, true);
  EXPECT_TRUE(memory.open());
  EXPECT_FALSE(memory.masked());
}

TEST(MaskMemory, OneBlockedLookDoesNotDecide) {
  MaskMemory memory;
  memory.see(MaskLook::kOpen, true);
  memory.see(MaskLook::kBlocked, true);
  EXPECT_FALSE(memory.masked());
  EXPECT_TRUE(memory.changing());
  memory.see(MaskLook::kOpen, true);
  memory.see(MaskLook::kBlocked, true);
  EXPECT_FALSE(memory.masked());
}

TEST(MaskMemory, OneThatDidNotGetToRunMayStillBeAtWhatLibcBlocksSignalsFor) {
  MaskMemory memory;
  memory.see(MaskLook::kOpen, true);
  for (int i = 0; i < 7; ++i) {
    memory.see(MaskLook::kBlocked, false);
    EXPECT_FALSE(memory.masked());
    EXPECT_TRUE(memory.changing());
  }
  memory.see(MaskLook::kBlocked, false);
  EXPECT_TRUE(memory.masked());
}

TEST(MaskMemory, OneThatIsMetInOurHandlerBlocksNothing) {
  MaskMemory memory;
  memory.see(MaskLook::kOpen, true);
  for (int i = 0; i < 50; ++i) memory.see(MaskLook::kMayBeOurs, true);
  EXPECT_FALSE(memory.masked());
  EXPECT_TRUE(memory.changing());
  memory.see(MaskLook::kBlocked, true);
  memory.see(MaskLook::kMayBeOurs, true);
  memory.see(MaskLook::kBlocked, true);
  EXPECT_FALSE(memory.masked());
  memory.see(MaskLook::kBlocked, true);
  EXPECT_TRUE(memory.masked());
}

TEST(MaskMemory, OneThatUnblocksSignalsToWaitNeedNotRunLong) {
  MaskMemory memory;
  memory.see(MaskLook::kUnknown, true);
  memory.see(MaskLook::kBlocked, false);
  memory.see(MaskLook::kBlocked, false);
  EXPECT_TRUE(memory.masked());
}

TEST(MaskMemory, LooksIntoWaitingCallsChangeNothing) {
  MaskMemory memory;
  memory.see(MaskLook::kUnknown, true);
  EXPECT_FALSE(memory.open());
  EXPECT_FALSE(memory.masked());
  memory.see(MaskLook::kBlocked, true);
  memory.see(MaskLook::kUnknown, true);
  memory.see(MaskLook::kBlocked, true);
  EXPECT_TRUE(memory.masked());
  look(memory, MaskLook::kUnknown, 100);
  EXPECT_TRUE(memory.masked());
}

TEST(MaskMemory, GivesTheTriggerBackAtOnceToOneThatWasNeverMetInSuchACall) {
  MaskMemory memory;
  look(memory, MaskLook::kBlocked, 3);
  memory.see(MaskLook::kOpen, true);
  EXPECT_TRUE(memory.open());
}

TEST(MaskMemory, GivesItBackToOneThatWasAfterManyOpenLooksInARow) {
  MaskMemory memory;
  memory.see(MaskLook::kUnknown, true);
  look(memory, MaskLook::kBlocked, 2);
  look(memory, MaskLook::kOpen, 7);
  EXPECT_TRUE(memory.masked());
  memory.see(MaskLook::kUnknown, true);
  look(memory, MaskLook::kOpen, 7);
  EXPECT_TRUE(memory.masked());
  memory.see(MaskLook::kOpen, true);
  EXPECT_TRUE(memory.open());
}

TEST(MaskMemory, NeverGivesItBackToOneWhoseWaitWasCutShort) {
  MaskMemory memory;
  memory.see(MaskLook::kOpen, true);
  memory.forbid();
  look(memory, MaskLook::kOpen, 100);
  EXPECT_TRUE(memory.masked());
  MaskMemory waiter;
  waiter.see(MaskLook::kWaitsForOurs, true);
  look(waiter, MaskLook::kOpen, 100);
  EXPECT_TRUE(waiter.masked());
}

std::string line_of(long number, const std::string& arguments) {
  return std::to_string(number) + " " + arguments + " 0x7ffd0000 0x7f000000\n";
}

TEST(MaskLook, TellsAMaskOfTheThreadsOwnFromOneOfACall) {
  const std::string masked = "0x0 0x0 0x7ffd10 0x7ffd20 0x8 0x0";
  const std::string plain = "0x0 0x0 0x7ffd10 0x0 0x0 0x0";
  EXPECT_EQ(judge_mask(line_of(SYS_ppoll, masked).c_str(), false, kOurs), MaskLook::kUnknown);
  EXPECT_EQ(judge_mask(line_of(SYS_ppoll, masked).c_str(), true, kOurs), MaskLook::kUnknown);
  EXPECT_EQ(judge_mask(line_of(SYS_ppoll, plain).c_str(), false, kOurs), MaskLook::kOpen);
  EXPECT_EQ(judge_mask(line_of(SYS_epoll_pwait, plain).c_str(), true, kOurs), MaskLook::kBlocked);
  EXPECT_EQ(judge_mask(line_of(SYS_rt_sigsuspend, plain).c_str(), false, kOurs),
            MaskLook::kUnknown);
  EXPECT_EQ(judge_mask(line_of(SYS_read, masked).c_str(), false, kOurs), MaskLook::kOpen);
}

TEST(MaskLook, TakesTheMaskForTheThreadsOwnWhereItRunsOrTheKernelDoesNotTell) {
  for (const char* line : {"running\n", "-1 0x7ffd0000 0x7f000000\n", "", "7", "7 0x0"}) {
    EXPECT_EQ(judge_mask(line, false, kOurs), MaskLook::kOpen) << line;
    EXPECT_EQ(judge_mask(line, true, kOurs), MaskLook::kBlocked) << line;
  }
}

TEST(MaskLook, FindsOurSignalAmongThoseWaitedFor) {
  const std::uint64_t all = ~0ULL, without = ~(1ULL << (kOurs - 1));
  const auto line = [](const void* set) {
    char text[32];
    std::snprintf(text, sizeof text, "%p", set);
    return line_of(SYS_rt_sigtimedwait, std::string(text) + " 0x0 0x0 0x8 0x0 0x0");
  };
  EXPECT_EQ(judge_mask(line(&all).c_str(), false, kOurs), MaskLook::kWaitsForOurs);
  EXPECT_EQ(judge_mask(line(&without).c_str(), true, kOurs), MaskLook::kBlocked);
  EXPECT_EQ(judge_mask(line(nullptr).c_str(), true, kOurs), MaskLook::kBlocked);
}

TEST(MaskLook, OfOneThatWaitsForAProcessorOrWasInOurHandlerSaysNothing) {
  for (const bool handled : {false, true})
    for (const bool runnable : {false, true})
      for (const bool got_on : {false, true}) {
        const bool clear = !handled && (!runnable || got_on);
        EXPECT_EQ(doubted(MaskLook::kBlocked, handled, runnable, got_on),
                  clear ? MaskLook::kBlocked : MaskLook::kMayBeOurs);
        EXPECT_EQ(doubted(MaskLook::kOpen, handled, runnable, got_on), MaskLook::kOpen);
      }
}

TEST(InterruptedWaits, RemembersAThreadUntilItHasEnded) {
  InterruptedWaits waits;
  EXPECT_FALSE(waits.take_fresh());
  EXPECT_EQ(waits.add(100), CutWait::kFirst);
  EXPECT_EQ(waits.add(100), CutWait::kAgain);
  EXPECT_EQ(waits.add(1124), CutWait::kFirst);  // the same place
  EXPECT_TRUE(waits.take_fresh());
  EXPECT_FALSE(waits.take_fresh());
  EXPECT_TRUE(waits.has(100));
  EXPECT_TRUE(waits.has(1124));
  waits.remove(100);
  EXPECT_FALSE(waits.has(100));
  EXPECT_TRUE(waits.has(1124));
}

TEST(InterruptedWaits, KnowsNotWhetherItIsTheFirstWhereNoPlaceIsLeft) {
  InterruptedWaits waits;
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(waits.add(100 + 1024 * i), CutWait::kFirst);
  EXPECT_EQ(waits.add(100 + 1024 * 8), CutWait::kNoPlace);
  EXPECT_EQ(waits.add(100 + 1024 * 8), CutWait::kNoPlace);
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
