// SPDX-License-Identifier: Apache-2.0
//
// Fault signals that somebody sent, to threads that block them and read memory meanwhile.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "inject/sample/triggers/trigger.hpp"
#include "tests/unit/sample/fault_fixture.hpp"

namespace gpuprof::sample {
namespace {

std::uint32_t own_tid() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

std::string status_of(std::uint32_t tid, const std::string& key) {
  std::ifstream status("/proc/self/task/" + std::to_string(tid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":\t")) return line.substr(key.size() + 2);
  return "?";
}
char state_of(std::uint32_t tid) { return status_of(tid, "State")[0]; }
long pauses_of(std::uint32_t tid) {
  return std::atol(status_of(tid, "voluntary_ctxt_switches").c_str());
}

// Fault signals that this thread blocks, sent and taken.
class SentFaults : public FaultGuardTest {
 protected:
  void SetUp() override {
    FaultGuardTest::SetUp();
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &faults, nullptr);
  }
  void TearDown() override {
    pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
    FaultGuardTest::TearDown();
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
  run_faulting_read(argument);
}

TEST_F(SentFaults, AreKeptUntilTheEndOfTheRead) {
  const int value = 5;
  FaultingRead good{&value};
  FaultingRead bad{static_cast<int*>(page)};
  bool sent = false, landed = false, some_wait = false;
  {
    const UnblockFaultSignals open(blocked_signals());
    sent = call_guarded(send_both, &good);
    landed = !call_guarded(run_faulting_read, &bad);
    some_wait = open.has_deferred();
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
    FaultingRead good{&value};
    const UnblockFaultSignals open(blocked_signals());
    call_guarded([](void* argument) { kill(getpid(), SIGBUS), run_faulting_read(argument); },
                 &good);
  }).join();

  EXPECT_EQ(take(&code), SIGBUS);
  EXPECT_EQ(code, SI_USER);
}

TEST_F(SentFaults, OfTheProcessAreCountedWhereTheyAreKept) {
  const std::uint64_t segv = signal_bit(SIGSEGV);
  const std::uint32_t before = deferred_fault_count(segv),
                      both = deferred_fault_count(kFaultSignals);
  const int value = 5;
  FaultingRead good{&value};
  {
    const UnblockFaultSignals open(blocked_signals());
    EXPECT_FALSE(deferred_since(segv, before)) << "though one that is open may be about to";
    call_guarded(send_both, &good);
  }

  EXPECT_EQ(deferred_fault_count(segv), before + 1);
  EXPECT_EQ(deferred_fault_count(kFaultSignals), both + 1) << "SIGBUS was sent to the thread";
  EXPECT_TRUE(deferred_since(segv, before));
  EXPECT_FALSE(deferred_since(segv, before + 1));
  for (int code = 0; take(&code) != 0;) continue;
}

TEST_F(SentFaults, OneThatIsAboutToBeKeptIsWaitedFor) {
  bool kept = false;
  // Not for long, and a busy machine may give the other thread no processor.
  for (int i = 0; i < 20 && !kept; ++i) {
    const std::uint32_t before = deferred_fault_count(signal_bit(SIGBUS));
    std::atomic<bool> is_open{false};
    std::thread keeper([&] {
      const int value = 5;
      FaultingRead good{&value};
      const UnblockFaultSignals open(blocked_signals());
      is_open = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      call_guarded([](void* argument) { kill(getpid(), SIGBUS), run_faulting_read(argument); },
                   &good);
    });
    while (!is_open) std::this_thread::yield();

    kept = deferred_since(signal_bit(SIGBUS), before);

    keeper.join();
    int code = 0;
    EXPECT_EQ(take(&code), SIGBUS);
  }
  EXPECT_TRUE(kept);
}

// Where no turn of the waiting one is long enough: it is in the kernel, as one that waits for a
// processor, until the other one has paused more often than in 20 ms.
TEST_F(SentFaults, OneThatIsAboutToBeKeptIsWaitedForWhileItsThreadGetsNoProcessor) {
  constexpr long kPauses = 210;
  int ends[2];
  ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC));
  const std::uint32_t before = deferred_fault_count(signal_bit(SIGBUS));
  std::atomic<std::uint32_t> tid{0};
  std::thread keeper([&] {
    const int value = 5;
    FaultingRead good{&value};
    const UnblockFaultSignals open(blocked_signals());
    tid = own_tid();
    const long child = ::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
      char byte;
      ::syscall(SYS_read, ends[0], &byte, 1);
      ::syscall(SYS_exit_group, 0);
    }
    call_guarded([](void* argument) { kill(getpid(), SIGBUS), run_faulting_read(argument); },
                 &good);
    ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  });
  while (state_of(tid) != 'D') usleep(1000);
  std::atomic<bool> back{false};
  const std::uint32_t own = own_tid();
  const long paused = pauses_of(own);
  std::thread processor([&] {
    while (!back && pauses_of(own) < paused + kPauses) usleep(1000);
    EXPECT_EQ(1, ::write(ends[1], "", 1));
  });

  const bool kept = deferred_since(signal_bit(SIGBUS), before);
  back = true;

  processor.join();
  keeper.join();
  EXPECT_TRUE(kept);
  int code = 0;
  EXPECT_EQ(take(&code), SIGBUS);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(SentFaults, OneThatHasAProcessorOrStandsStillIsNotWaitedForLong) {
  const std::uint32_t before = deferred_fault_count(signal_bit(SIGBUS));
  for (const bool busy : {true, false}) {
    std::atomic<std::uint32_t> tid{0};
    std::atomic<bool> done{false};
    std::thread reader([&] {
      const UnblockFaultSignals open(blocked_signals());
      tid = own_tid();
      while (busy && !done) continue;
      done.wait(false);
    });
    while (tid == 0 || (!busy && state_of(tid) != 'S')) usleep(1000);
    EXPECT_FALSE(deferred_since(signal_bit(SIGBUS), before));
    timespec used{};
    clock_gettime(cpu_clock_of(static_cast<pid_t>(tid)), &used);
    EXPECT_LT(used.tv_sec, 5) << "of the ten seconds for which it would wait for a processor";
    done = true;
    done.notify_one();
    reader.join();
  }
}

TEST_F(SentFaults, AreNotLetInWhereTheyWaitOrNoGuardIs) {
  raise(SIGSEGV);
  {
    const UnblockFaultSignals open(blocked_signals());
    EXPECT_TRUE(open.has_deferred());
    EXPECT_FALSE(is_guard_active());
  }
  EXPECT_TRUE(is_guard_active());
  int code = 0;
  EXPECT_EQ(take(&code), SIGSEGV);
  disarm_guard();
  {
    const UnblockFaultSignals open(blocked_signals());
    arm_guard();
    EXPECT_FALSE(is_guard_active());
    raise(SIGBUS);
    EXPECT_FALSE(open.has_deferred());
  }
  EXPECT_TRUE(is_guard_active());
  EXPECT_EQ(take(&code), SIGBUS);
}

}  // namespace
}  // namespace gpuprof::sample
