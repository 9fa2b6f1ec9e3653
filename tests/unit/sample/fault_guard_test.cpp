// SPDX-License-Identifier: Apache-2.0
//
// The fault guard: our faults end our reads, the program's faults are the program's.
#include "inject/sample/fault_guard/fault_guard.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "tests/unit/sample/fault_fixture.hpp"

namespace gpuprof::sample {
namespace {

TEST_F(FaultGuardTest, EndsAFaultingReadAndGoesOn) {
  FaultingRead bad{static_cast<int*>(page)};
  const int value = 5;
  FaultingRead good{&value};

  EXPECT_FALSE(call_guarded(run_faulting_read, &bad));
  EXPECT_TRUE(call_guarded(run_faulting_read, &good));

  EXPECT_EQ(bad.steps, 1);
  EXPECT_EQ(good.steps, 6);
  EXPECT_TRUE(is_guard_active());
}

TEST_F(FaultGuardTest, EndsManyFaultsInARow) {
  for (int i = 0; i < 1000; ++i) {
    FaultingRead bad{static_cast<int*>(page)};
    ASSERT_FALSE(call_guarded(run_faulting_read, &bad));
  }
}

TEST_F(FaultGuardTest, KeepsTheSignalMaskAcrossAFault) {
  sigset_t before, after;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  FaultingRead bad{static_cast<int*>(page)};

  call_guarded(run_faulting_read, &bad);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);

  EXPECT_EQ(sigismember(&after, SIGUSR1), 1);
  EXPECT_EQ(sigismember(&after, SIGSEGV), 0);
  sigdelset(&before, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(FaultGuardTest, NestsAndLandsInTheInnerCall) {
  struct Outer {
    void* page;
    bool inner_ended = false, went_on = false;
  } outer{page};

  const bool whole = call_guarded(
      [](void* argument) {
        auto* it = static_cast<Outer*>(argument);
        FaultingRead bad{static_cast<int*>(it->page)};
        it->inner_ended = !call_guarded(run_faulting_read, &bad);
        it->went_on = true;
      },
      &outer);

  EXPECT_TRUE(whole);
  EXPECT_TRUE(outer.inner_ended);
  EXPECT_TRUE(outer.went_on);
}

TEST_F(FaultGuardTest, PutsTheProgramsDispositionBackBitForBit) {
  disarm_guard();
  struct sigaction programs;
  std::memset(&programs, 0, sizeof programs);
  programs.sa_sigaction = [](int, siginfo_t*, void*) { _exit(3); };
  programs.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaddset(&programs.sa_mask, SIGUSR2);
  sigaction(SIGSEGV, &programs, nullptr);
  const KernelAction before = disposition(SIGSEGV);

  arm_guard();
  EXPECT_FALSE(disposition(SIGSEGV) == before);
  disarm_guard();

  EXPECT_TRUE(disposition(SIGSEGV) == before);
}

TEST_F(FaultGuardTest, DoesNotTakeAwayAHandlerInstalledMeanwhile) {
  struct sigaction programs;
  std::memset(&programs, 0, sizeof programs);
  programs.sa_handler = [](int) { _exit(4); };
  sigaction(SIGSEGV, &programs, nullptr);
  const KernelAction theirs = disposition(SIGSEGV);

  disarm_guard();

  EXPECT_TRUE(disposition(SIGSEGV) == theirs);
}

using FaultGuardDeathTest = FaultGuardTest;

TEST_F(FaultGuardDeathTest, LeavesTheProgramsFaultToTheDefaultAction) {
  EXPECT_EXIT(FaultingRead bad{static_cast<int*>(page)};
              run_faulting_read(&bad), ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(FaultGuardDeathTest, LeavesASentSignalToTheDefaultAction) {
  EXPECT_EXIT(kill(getpid(), SIGSEGV), ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(FaultGuardDeathTest, HandsTheProgramsHandlerItsOwnFault) {
  EXPECT_EXIT(
      {
        disarm_guard();
        struct sigaction programs;
        std::memset(&programs, 0, sizeof programs);
        programs.sa_sigaction = [](int, siginfo_t* info, void*) {
          _exit(info->si_code == SEGV_ACCERR ? 21 : 22);
        };
        programs.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &programs, nullptr);
        arm_guard();
        FaultingRead bad{static_cast<int*>(page)};
        run_faulting_read(&bad);
      },
      ::testing::ExitedWithCode(21), "");
}

TEST_F(FaultGuardDeathTest, EndsWhenAHandlerChainsToWhatItFound) {
  // faulthandler's way: keep the previous disposition, put it back in the handler, fault again.
  EXPECT_EXIT(
      {
        static struct sigaction previous;
        struct sigaction programs;
        std::memset(&programs, 0, sizeof programs);
        programs.sa_handler = [](int signal) {
          (void)!write(2, "handled\n", 8);
          sigaction(signal, &previous, nullptr);
        };
        sigaction(SIGSEGV, &programs, &previous);
        arm_guard();  // a second layer, in front of theirs
        FaultingRead bad{static_cast<int*>(page)};
        run_faulting_read(&bad);
      },
      ::testing::KilledBySignal(SIGSEGV), "handled");
}

}  // namespace
}  // namespace gpuprof::sample
