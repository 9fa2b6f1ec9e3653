// SPDX-License-Identifier: Apache-2.0
//
// Threads for the long work of a session: writing files while ingest goes on.
//
// Context:  daemon: post() and completions on the ingest thread, work on threads of its own
// Owns:     two threads, the queue, an eventfd in the loop
// Promises: jobs begin in the order they were posted, two at a time; completions run on the ingest
//           thread, in that order
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "daemon/session/event_loop.hpp"
#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::session {

class ExportWorker {
 public:
  explicit ExportWorker(EventLoop& loop);
  /// Waits for the jobs that run; jobs not begun are forgotten.
  ~ExportWorker();
  ExportWorker(const ExportWorker&) = delete;
  ExportWorker& operator=(const ExportWorker&) = delete;

  /// `work` runs on a thread of the worker's and returns what then runs on the ingest thread.
  void post(std::function<std::function<void()>()> work);
  /// Jobs posted whose completion has not run.
  std::size_t pending() const { return pending_; }

 private:
  void run();
  void complete();

  EventLoop& loop_;
  base::UniqueFd wake_;
  EventLoop::Watch watch_ = 0;
  std::size_t pending_ = 0;  // ingest thread
  std::mutex mutex_;
  std::condition_variable posted_;
  struct Job {
    std::uint64_t number;
    std::function<std::function<void()>()> work;
  };
  std::deque<Job> jobs_;
  std::map<std::uint64_t, std::function<void()>> completions_;  // by the job's number
  std::uint64_t posted_jobs_ = 0, completed_jobs_ = 0;          // ingest thread
  bool stop_ = false;
  std::array<std::thread, 2> threads_;
};

}  // namespace gpuprof::session
