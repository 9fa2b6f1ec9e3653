// SPDX-License-Identifier: Apache-2.0
//
// The fault guard: our faults end our reads, the program's faults are the program's.
#include "inject/sample/faults/fault_guard.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "inject/sample/signals/kernel_signal.hpp"
#include "inject/sample/snapshot/phdr_snapshot.hpp"
#include "inject/sample/snapshot/snapshot_build.hpp"

namespace gpuprof::sample {
namespace {

class FaultGuard : public ::testing::Test {
 protected:
  void SetUp() override {
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    publish_snapshot(build_snapshot());
    ASSERT_EQ(arm_guard(), GuardState::kArmed);
    page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  void TearDown() override {
    disarm_guard();
    munmap(page, 4096);
  }
  static KernelAction disposition(int signal) {
    KernelAction now{};
    kernel_action(signal, nullptr, &now);
    return now;
  }
  void* page = nullptr;
};

struct Reading {
  const volatile int* from;
  int steps = 0;
};
void read_it(void* argument) {
  auto* reading = static_cast<Reading*>(argument);
  ++reading->steps;
  reading->steps += *reading->from;
}

TEST_F(FaultGuard, EndsAFaultingReadAndGoesOn) {
  Reading bad{static_cast<int*>(page)};
  const int value = 5;
  Reading good{&value};

  EXPECT_FALSE(guarded(read_it, &bad));
  EXPECT_TRUE(guarded(read_it, &good));

  EXPECT_EQ(bad.steps, 1);
  EXPECT_EQ(good.steps, 6);
  EXPECT_TRUE(guard_in_force());
}

TEST_F(FaultGuard, EndsManyFaultsInARow) {
  for (int i = 0; i < 1000; ++i) {
    Reading bad{static_cast<int*>(page)};
    ASSERT_FALSE(guarded(read_it, &bad));
  }
}

TEST_F(FaultGuard, KeepsTheSignalMaskAcrossAFault) {
  sigset_t before, after;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  Reading bad{static_cast<int*>(page)};

  guarded(read_it, &bad);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);

  EXPECT_EQ(sigismember(&after, SIGUSR1), 1);
  EXPECT_EQ(sigismember(&after, SIGSEGV), 0);
  sigdelset(&before, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(FaultGuard, NestsAndLandsInTheInnerCall) {
  struct Outer {
    void* page;
    bool inner_ended = false, went_on = false;
  } outer{page};

  const bool whole = guarded(
      [](void* argument) {
        auto* it = static_cast<Outer*>(argument);
        Reading bad{static_cast<int*>(it->page)};
        it->inner_ended = !guarded(read_it, &bad);
        it->went_on = true;
      },
      &outer);

  EXPECT_TRUE(whole);
  EXPECT_TRUE(outer.inner_ended);
  EXPECT_TRUE(outer.went_on);
}

TEST_F(FaultGuard, PutsTheProgramsDispositionBackBitForBit) {
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

TEST_F(FaultGuard, DoesNotTakeAwayAHandlerInstalledMeanwhile) {
  struct sigaction programs;
  std::memset(&programs, 0, sizeof programs);
  programs.sa_handler = [](int) { _exit(4); };
  sigaction(SIGSEGV, &programs, nullptr);
  const KernelAction theirs = disposition(SIGSEGV);

  disarm_guard();

  EXPECT_TRUE(disposition(SIGSEGV) == theirs);
}

// Fault signals that this thread blocks, sent and taken.
class SentFaults : public FaultGuard {
 protected:
  void SetUp() override {
    FaultGuard::SetUp();
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &faults, nullptr);
  }
  void TearDown() override {
    pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
    FaultGuard::TearDown();
  }
  /// The next one that waits, or 0; its si_code, which the C library would change.
  int take(int* code) const {
    const timespec none{0, 0};
    siginfo_t info{};
    const long taken = ::syscall(SYS_rt_sigtimedwait, &faults, &info, &none, 8);
    *code = info.si_code;
    return taken > 0 ? static_cast<int>(taken) : 0;
  }
  sigset_t faults;
};

void send_both(void* argument) {
  pthread_kill(pthread_self(), SIGSEGV);
  pthread_kill(pthread_self(), SIGSEGV);
  kill(getpid(), SIGSEGV);
  pthread_kill(pthread_self(), SIGBUS);
  read_it(argument);
}

TEST_F(SentFaults, AreKeptUntilTheEndOfTheRead) {
  const int value = 5;
  Reading good{&value};
  Reading bad{static_cast<int*>(page)};
  bool sent = false, landed = false, some_wait = false;
  {
    const OpenFaults open(blocked_signals());
    sent = guarded(send_both, &good);
    landed = !guarded(read_it, &bad);
    some_wait = open.some_wait();
  }

  EXPECT_TRUE(sent);
  EXPECT_TRUE(landed);
  EXPECT_TRUE(some_wait);
  EXPECT_EQ(good.steps, 6);
  // The thread's own first, and the lowest of them.
  int code = 1;
  EXPECT_EQ(take(&code), SIGBUS);
  EXPECT_EQ(take(&code), SIGSEGV);
  EXPECT_EQ(code, SI_TKILL);
  EXPECT_EQ(take(&code), SIGSEGV);
  EXPECT_EQ(code, SI_USER);
  EXPECT_EQ(take(&code), 0);
}

TEST_F(SentFaults, OfTheProcessReachItFromAnyThread) {
  int code = 1;
  std::thread([&] {
    const int value = 5;
    Reading good{&value};
    const OpenFaults open(blocked_signals());
    guarded([](void* argument) { kill(getpid(), SIGBUS), read_it(argument); }, &good);
  }).join();

  EXPECT_EQ(take(&code), SIGBUS);
  EXPECT_EQ(code, SI_USER);
}

TEST_F(SentFaults, OfTheProcessAreCountedWhereTheyAreKept) {
  const std::uint64_t segv = signal_bit(SIGSEGV);
  const std::uint32_t before = kept_faults(segv), both = kept_faults(kFaultSignals);
  const int value = 5;
  Reading good{&value};
  {
    const OpenFaults open(blocked_signals());
    EXPECT_FALSE(were_kept_since(segv, before)) << "though one that is open may be about to";
    guarded(send_both, &good);
  }

  EXPECT_EQ(kept_faults(segv), before + 1);
  EXPECT_EQ(kept_faults(kFaultSignals), both + 1) << "SIGBUS was sent to the thread";
  EXPECT_TRUE(were_kept_since(segv, before));
  EXPECT_FALSE(were_kept_since(segv, before + 1));
  for (int code = 0; take(&code) != 0;) continue;
}

TEST_F(SentFaults, OneThatIsAboutToBeKeptIsWaitedFor) {
  const std::uint32_t before = kept_faults(signal_bit(SIGBUS));
  std::atomic<bool> is_open{false};
  std::thread keeper([&] {
    const int value = 5;
    Reading good{&value};
    const OpenFaults open(blocked_signals());
    is_open = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    guarded([](void* argument) { kill(getpid(), SIGBUS), read_it(argument); }, &good);
  });
  while (!is_open) std::this_thread::yield();

  EXPECT_TRUE(were_kept_since(signal_bit(SIGBUS), before));

  keeper.join();
  int code = 0;
  EXPECT_EQ(take(&code), SIGBUS);
}

TEST_F(SentFaults, AreNotLetInWhereTheyWaitOrNoGuardIs) {
  raise(SIGSEGV);
  {
    const OpenFaults open(blocked_signals());
    EXPECT_TRUE(open.some_wait());
    EXPECT_FALSE(guard_in_force());
  }
  EXPECT_TRUE(guard_in_force());
  int code = 0;
  EXPECT_EQ(take(&code), SIGSEGV);
  disarm_guard();
  {
    const OpenFaults open(blocked_signals());
    arm_guard();
    EXPECT_FALSE(guard_in_force());
    raise(SIGBUS);
    EXPECT_FALSE(open.some_wait());
  }
  EXPECT_TRUE(guard_in_force());
  EXPECT_EQ(take(&code), SIGBUS);
}

using FaultGuardDeathTest = FaultGuard;

TEST_F(FaultGuardDeathTest, LeavesTheProgramsFaultToTheDefaultAction) {
  EXPECT_EXIT(Reading bad{static_cast<int*>(page)};
              read_it(&bad), ::testing::KilledBySignal(SIGSEGV), "");
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
        Reading bad{static_cast<int*>(page)};
        read_it(&bad);
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
        Reading bad{static_cast<int*>(page)};
        read_it(&bad);
      },
      ::testing::KilledBySignal(SIGSEGV), "handled");
}

}  // namespace
}  // namespace gpuprof::sample
