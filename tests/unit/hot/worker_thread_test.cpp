// SPDX-License-Identifier: Apache-2.0
//
// Park and resume of our one thread, from ordinary code, from a signal handler, across fork.
#include "inject/hot/worker/worker_thread.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "inject/hot/state.hpp"
#include "inject/hot/worker/worker_state.hpp"

namespace gpuprof::hot {
namespace {

std::atomic<int> g_entries{0};
std::atomic<std::uint64_t> g_turns{0};

// A body that uses malloc and errno, as the real one does, until asked to park.
bool body() {
  ++g_entries;
  while (!worker_park_wanted()) {
    worker_pause_point();
    std::string text(1000, 'x');
    g_turns += text.size() != 0;
    poll(nullptr, 0, 1);
  }
  return true;
}

int kernel_threads() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

bool turns_again() {
  const std::uint64_t before = g_turns;
  for (int i = 0; i < 300'000; ++i) {
    if (g_turns > before) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

class WorkerThread : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(worker_start(body));
    worker_wait_for_clone();
  }
  void SetUp() override {
    worker_allow_resume();
    if (worker_parked()) worker_resume();
    ASSERT_TRUE(turns_again());
  }
};

TEST_F(WorkerThread, ParkedThreadIsGoneForTheKernel) {
  const int before = kernel_threads();
  ASSERT_TRUE(worker_park(60'000));
  EXPECT_EQ(kernel_threads(), before - 1);
  EXPECT_TRUE(worker_parked());
}

TEST_F(WorkerThread, ResumesAThousandTimes) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(worker_park(60'000)) << i;
    worker_allow_resume();
    ASSERT_TRUE(worker_resume()) << i;
  }
  EXPECT_TRUE(turns_again());
}

TEST_F(WorkerThread, ResumingTwiceMakesOneThread) {
  ASSERT_TRUE(worker_park(60'000));
  EXPECT_FALSE(worker_resume());  // held
  worker_allow_resume();
  const int parked = kernel_threads();
  EXPECT_TRUE(worker_resume());
  EXPECT_FALSE(worker_resume());
  EXPECT_EQ(kernel_threads(), parked + 1);
}

TEST_F(WorkerThread, IsAnOrdinaryOneWhereARealTimeThreadResumesIt) {
  ASSERT_TRUE(worker_park(60'000));
  worker_allow_resume();
  bool real_time = false;
  std::thread([&] {
    const sched_param lowest{1};
    real_time = sched_setscheduler(0, SCHED_FIFO, &lowest) == 0;
    if (real_time) worker_resume();
  }).join();
  if (!real_time) GTEST_SKIP() << "no real-time scheduling for this user";
  ASSERT_TRUE(turns_again());
  EXPECT_EQ(sched_getscheduler(static_cast<pid_t>(g_state.worker_tid.load())), SCHED_OTHER);
}

TEST_F(WorkerThread, ThatStandsStillIsPausedAtOnce) {
  ASSERT_TRUE(worker_pause(60'000));
  EXPECT_TRUE(worker_pause(0)) << "by a handler that forks, amid a fork";
  const std::uint64_t turns = g_turns;
  worker_unpause();
  EXPECT_TRUE(turns_again());
  EXPECT_GT(g_turns, turns);
}

TEST_F(WorkerThread, HandlerInsideMallocResumesIt) {
  // Given a program that allocates all the time, interrupted at arbitrary places
  struct sigaction action {};
  action.sa_handler = [](int) { worker_resume(); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);  // of those no more than one waits
  std::atomic<bool> stop{false};
  std::thread allocator([&] {
    std::vector<void*> blocks;
    while (!stop) {
      for (int i = 0; i < 64; ++i) blocks.push_back(malloc(static_cast<std::size_t>(i) * 37 + 1));
      for (void* block : blocks) free(block);
      blocks.clear();
    }
  });
  // When it is parked and resumed from the handler
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(worker_park(60'000));
    worker_allow_resume();
    while (worker_parked()) pthread_kill(allocator.native_handle(), SIGUSR1);
  }
  stop = true;
  allocator.join();
  // Then the body has run each time
  EXPECT_TRUE(turns_again());
}

// A process whose other thread changes its groups all the time while the worker begins: glibc waits
// for an answer of every thread it knows.
[[noreturn]] void start_among_setgids(int first_wait_us) {
  alarm(300);
  worker_after_fork_child();
  std::atomic<bool> over{false};
  std::atomic<int> calls{0};
  std::thread other([&] {
    while (!over && setgid(getgid()) == 0) ++calls;
  });
  while (calls == 0) usleep(100);
  usleep(static_cast<useconds_t>(first_wait_us));
  if (!worker_start(body)) _exit(1);
  const std::uint64_t before = g_turns;
  for (int i = 0; i < 300'000 && g_turns == before; ++i) usleep(1000);
  over = true;
  other.join();
  _exit(g_turns > before ? 0 : 2);
}

TEST_F(WorkerThread, ASetgidWhileItBeginsIsAnswered) {
  ASSERT_TRUE(worker_park(60'000));
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      g_worker.phase = WorkerPhase::kNone;
      start_among_setgids(i * 7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0) << "time " << i;
  }
}

TEST_F(WorkerThread, RunsInAForkedChildFromTheParkedState) {
  ASSERT_TRUE(worker_park(60'000));
  const pid_t child = fork();
  if (child == 0) {
    worker_after_fork_child();
    const std::uint64_t before = g_turns;
    if (!worker_resume()) _exit(1);
    for (int i = 0; i < 300'000 && g_turns == before; ++i) usleep(1000);
    _exit(g_turns > before ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(WorkerThread, PausedThreadStandsStillAndGoesOn) {
  const int before = kernel_threads();
  ASSERT_TRUE(worker_pause(60'000));
  const std::uint64_t turns = g_turns;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(g_turns, turns);
  EXPECT_EQ(kernel_threads(), before);
  worker_unpause();
  EXPECT_TRUE(turns_again());
}

TEST_F(WorkerThread, RunsInAForkedChildFromThePausedState) {
  ASSERT_TRUE(worker_pause(60'000));
  const pid_t child = fork();
  if (child == 0) {
    worker_after_fork_child();
    const std::uint64_t before = g_turns;
    if (!worker_resume()) _exit(1);
    for (int i = 0; i < 300'000 && g_turns == before; ++i) usleep(1000);
    _exit(g_turns > before ? 0 : 2);
  }
  worker_unpause();
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(turns_again());
}

void resume_hook() { worker_resume(); }

std::atomic<int> g_fired{0};

void resume_on_the_test_signal() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    ++g_fired;
    resume_if_parked();
  };
  action.sa_flags = SA_RESTART;
  sigaction(SIGRTMIN + 4, &action, nullptr);
  g_resume_hook = resume_hook;
}

template <typename Condition>
void work_while(Condition goes_on) {
  volatile std::uint64_t sum = 0;
  for (int i = 0; i < 2'000'000'000 && goes_on(); ++i) sum = sum + 1;
}

TEST_F(WorkerThread, CpuTimerResumesWithoutInterruptingSleep) {
  resume_on_the_test_signal();
  ASSERT_TRUE(worker_park(60'000));
  worker_allow_resume();
  worker_resume_after_cpu(1'000'000, SIGRTMIN + 4);
  // Sleeping uses no CPU time: nothing fires, the sleep is whole
  timespec left{}, wait{0, 50'000'000};
  EXPECT_EQ(nanosleep(&wait, &left), 0);
  EXPECT_TRUE(worker_parked());
  // Working does
  work_while(worker_parked);
  EXPECT_FALSE(worker_parked());
  worker_clear_resume_timer();
}

TEST_F(WorkerThread, CpuTimerStartsAnewAfterAnotherFork) {
  resume_on_the_test_signal();
  ASSERT_TRUE(worker_park(60'000));
  g_fired = 0;
  worker_resume_after_cpu(1'000'000, SIGRTMIN + 4);
  work_while([] { return g_fired == 0; });
  EXPECT_TRUE(worker_parked()) << "it fired while another fork held the worker";
  worker_resume_after_cpu(1'000'000, SIGRTMIN + 4);
  worker_allow_resume();
  work_while(worker_parked);
  EXPECT_FALSE(worker_parked());
  worker_clear_resume_timer();
}

}  // namespace
}  // namespace gpuprof::hot
