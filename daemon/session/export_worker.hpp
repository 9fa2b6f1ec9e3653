// SPDX-License-Identifier: Apache-2.0
//
// One thread for the long work of a session: writing files while ingest goes on.
//
// Context:  daemon: post() and completions on the ingest thread, work on its own thread
// Owns:     the thread, the queue, an eventfd in the loop
// Promises: jobs run one after the other; a completion runs on the ingest thread
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/session/event_loop.hpp"
#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::session {

class ExportWorker {
 public:
  explicit ExportWorker(EventLoop& loop);
  /// Waits for the job that runs; jobs not begun are forgotten.
  ~ExportWorker();
  ExportWorker(const ExportWorker&) = delete;
  ExportWorker& operator=(const ExportWorker&) = delete;

  /// `work` runs on the worker's thread and returns what then runs on the ingest thread.
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
  std::deque<std::function<std::function<void()>()>> jobs_;
  std::vector<std::function<void()>> completions_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace gpuprof::session
