// SPDX-License-Identifier: Apache-2.0
//
// Threads for the long work of a session: writing files while ingest goes on.
//
// Context:  daemon: all functions and completions on the ingest thread, work on threads of its own
// Owns:     a thread for each job that runs, the queue, an eventfd in the loop
// Promises: jobs begin in the order they were posted, two at a time; completions run on the ingest
//           thread, in that order; while a program of the session lives, jobs stand behind it
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "daemon/session/io/event_loop.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "support/process/autogroup.hpp"

namespace gpuprof::session {

class ExportWorker {
 public:
  using Completion = std::function<void()>;
  using Work = std::function<Completion()>;

  /// Niceness of jobs that begin while a program lives. A program that keeps every processor busy
  /// keeps nine tenths of them, and its step is not held up by a file of the step before; a file of
  /// a million events is written within the promised time all the same.
  static constexpr int kBackgroundNiceness = 10;
  /// For so long jobs hold back all of our session. Files of windows of usual size are written by
  /// then; who waits for a big one is not to wait ten times as long.
  static constexpr std::uint64_t kBackgroundNs = 1'500'000'000;

  /// @param programs_live Whether a program of the session still runs; asked as each job begins.
  ExportWorker(EventLoop& loop, std::function<bool()> programs_live);
  /// Waits for the jobs that run; jobs not begun are forgotten.
  ~ExportWorker();
  ExportWorker(const ExportWorker&) = delete;
  ExportWorker& operator=(const ExportWorker&) = delete;

  /// `work` runs on a thread of the worker's and returns what then runs on the ingest thread.
  void post(Work work);
  /// Now and then, and soon after `busy` changed. busy: Records come in, so that the thread that
  /// takes them, which is of our session, must not stand behind the programs. While none come, all
  /// of our session does while programs live, for the first kBackgroundNs of jobs.
  void tick(bool busy);
  /// Jobs posted whose completion has not run.
  std::size_t pending() const { return pending_; }

 private:
  struct Job {
    std::uint64_t number;
    Work work;
  };

  void begin_jobs();
  void update_niceness();
  void run(const Job& job, bool behind);
  void complete();

  EventLoop& loop_;
  std::function<bool()> programs_live_;
  base::UniqueFd wake_;
  EventLoop::Watch watch_ = 0;
  std::size_t pending_ = 0;
  std::deque<Job> jobs_;
  // A thread per job: without privileges none becomes as quick again as it was.
  std::map<std::uint64_t, std::thread> running_;  // by the job's number
  std::uint64_t background_until_ns_ = 0;
  bool busy_ = true;
  support::AutogroupNice session_;
  std::uint64_t posted_jobs_ = 0, completed_jobs_ = 0;
  std::mutex mutex_;                                 // guards what follows
  std::map<std::uint64_t, Completion> completions_;  // by the job's number
};

}  // namespace gpuprof::session
