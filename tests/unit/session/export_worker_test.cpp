// SPDX-License-Identifier: Apache-2.0
//
// Jobs of a session: how many at a time, in which order, and behind whom.
#include "daemon/session/export_worker.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
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
  EXPECT_EQ(seen[0], std::max(before, ExportWorker::kBehindPrograms));
  EXPECT_EQ(seen[1], before);
  EXPECT_EQ(niceness(), before);
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
