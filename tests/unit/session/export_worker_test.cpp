// SPDX-License-Identifier: Apache-2.0
//
// Jobs of a session: how many at a time, in which order, and behind whom.
#include "daemon/session/export_worker.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace gpuprof::session {
namespace {

using namespace std::chrono_literals;

int niceness() { return ::getpriority(PRIO_PROCESS, 0); }

void run_until_done(EventLoop& loop, const ExportWorker& worker) {
  while (worker.pending() != 0) loop.run_once(100);
}

TEST(ExportWorker, CompletionsComeInTheOrderOfTheJobsOnTheCallersThread) {
  EventLoop loop;
  ExportWorker worker(loop, [] { return false; });
  const std::thread::id here = std::this_thread::get_id();
  std::vector<int> order;
  for (int i = 0; i < 8; ++i)
    worker.post([&, i] {
      EXPECT_NE(std::this_thread::get_id(), here);
      std::this_thread::sleep_for(i % 2 == 0 ? 5ms : 0ms);
      return [&, i] {
        EXPECT_EQ(std::this_thread::get_id(), here);
        order.push_back(i);
      };
    });
  EXPECT_EQ(worker.pending(), 8u);
  run_until_done(loop, worker);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(ExportWorker, TwoJobsRunAtATime) {
  EventLoop loop;
  ExportWorker worker(loop, [] { return false; });
  std::atomic<int> inside{0}, most{0};
  for (int i = 0; i < 6; ++i)
    worker.post([&] {
      const int now = ++inside;
      int known = most.load();
      while (known < now && !most.compare_exchange_weak(known, now)) {
      }
      // Until there is one beside it: a thread may get no processor for a while.
      for (int look = 0; look < 30'000 && most < 2; ++look) std::this_thread::sleep_for(2ms);
      std::this_thread::sleep_for(20ms);
      --inside;
      return ExportWorker::Completion();
    });
  run_until_done(loop, worker);
  EXPECT_EQ(most, 2);
}

TEST(ExportWorker, AJobStandsBehindProgramsThatLiveAsItBegins) {
  EventLoop loop;
  bool live = true;
  ExportWorker worker(loop, [&] { return live; });
  const int before = niceness();
  std::vector<int> seen(2, -100);
  for (int& nice : seen) {
    worker.post([&nice] {
      nice = niceness();
      return ExportWorker::Completion();
    });
    run_until_done(loop, worker);
    live = false;
  }
  EXPECT_EQ(seen[0], std::max(before, ExportWorker::kBackgroundNiceness));
  EXPECT_EQ(seen[1], before);
  EXPECT_EQ(niceness(), before);
}

// "/autogroup-123 nice 0"; -100: this kernel has none.
int niceness_of_session() {
  std::ifstream file("/proc/self/autogroup");
  std::string group, word;
  int niceness = -100;
  file >> group >> word >> niceness;
  return niceness;
}

/// What a job sees that runs until it sees `wanted`, where records come or not: for 2 s at most
/// where they do, and it is not to see it.
int seen_by_a_job(bool busy, int wanted) {
  EventLoop loop;
  ExportWorker worker(loop, [] { return true; });
  worker.tick(busy);
  std::atomic<int> seen{-100};
  worker.post([&] {
    for (int i = 0; i < (busy ? 200 : 30'000) && seen != wanted; ++i) {
      std::this_thread::sleep_for(10ms);
      seen = niceness_of_session();
    }
    return ExportWorker::Completion();
  });
  while (worker.pending() != 0) {
    loop.run_once(10);
    worker.tick(busy);
  }
  return seen;
}

/// In a session of its own, which the kernel gives one change in 100 ms.
template <typename F>
int in_session(F what) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setsid() > 0 ? what() : 99);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(ExportWorker, TheWholeSessionStandsBehindWhileNoRecordsCome) {
  if (niceness_of_session() == -100) GTEST_SKIP() << "this kernel has no autogroups";
  EXPECT_EQ(in_session([] { return seen_by_a_job(false, ExportWorker::kBackgroundNiceness); }),
            ExportWorker::kBackgroundNiceness);
  EXPECT_EQ(in_session([] {
              std::this_thread::sleep_for(200ms);
              return seen_by_a_job(true, ExportWorker::kBackgroundNiceness);
            }),
            0);
}

TEST(ExportWorker, ItsEndWaitsForWhatRunsAndForgetsTheRest) {
  EventLoop loop;
  std::atomic<int> ended{0};
  {
    ExportWorker worker(loop, [] { return false; });
    for (int i = 0; i < 5; ++i)
      worker.post([&] {
        std::this_thread::sleep_for(20ms);
        ++ended;
        return ExportWorker::Completion();
      });
  }
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace gpuprof::session
