// SPDX-License-Identifier: Apache-2.0
//
// Two threads for the long work of a session.
//
// Context:  daemon (its own threads, and the ingest thread)
// Owns:     see export_worker.hpp
#include "daemon/session/export_worker.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

namespace gpuprof::session {

ExportWorker::ExportWorker(EventLoop& loop)
    : loop_(loop), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  watch_ = loop.watch(wake_.get(), EPOLLIN, [this](auto) { complete(); });
  for (std::thread& thread : threads_) thread = std::thread([this] { run(); });
}

ExportWorker::~ExportWorker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  posted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  loop_.unwatch(watch_);
}

void ExportWorker::post(std::function<std::function<void()>()> work) {
  ++pending_;
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(Job{posted_jobs_++, std::move(work)});
  }
  posted_.notify_one();
}

void ExportWorker::run() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      posted_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
      if (stop_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    std::function<void()> completion = job.work();
    {
      const std::lock_guard lock(mutex_);
      completions_.emplace(job.number, std::move(completion));
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }
}

void ExportWorker::complete() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
  std::vector<std::function<void()>> due;
  {
    const std::lock_guard lock(mutex_);
    // One that is ready too early waits for those before it.
    for (auto at = completions_.find(completed_jobs_); at != completions_.end();
         at = completions_.find(completed_jobs_)) {
      due.push_back(std::move(at->second));
      completions_.erase(at);
      ++completed_jobs_;
    }
  }
  for (const auto& completion : due) {
    --pending_;
    if (completion) completion();
  }
}

}  // namespace gpuprof::session
