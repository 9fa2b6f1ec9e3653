// SPDX-License-Identifier: Apache-2.0
//
// Two jobs at a time, behind the programs they are about.
//
// Context:  daemon (its own threads, and the ingest thread)
#include "daemon/session/export_worker.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "gpuprof/base/clock.hpp"

namespace gpuprof::session {

ExportWorker::ExportWorker(EventLoop& loop, std::function<bool()> programs_live)
    : loop_(loop),
      programs_live_(std::move(programs_live)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  watch_ = loop.watch(wake_.get(), EPOLLIN, [this](auto) { complete(); });
}

ExportWorker::~ExportWorker() {
  for (auto& [number, thread] : running_) thread.join();
  loop_.unwatch(watch_);
  session_.set(0);
}

void ExportWorker::post(Work work) {
  ++pending_;
  jobs_.push_back(Job{posted_jobs_++, std::move(work)});
  begin_jobs();
}

void ExportWorker::begin_jobs() {
  constexpr std::size_t kAtATime = 2;
  if (running_.empty()) background_until_ns_ = base::mono_ns() + kBackgroundNs;
  while (running_.size() < kAtATime && !jobs_.empty()) {
    const auto job = std::make_shared<Job>(std::move(jobs_.front()));
    jobs_.pop_front();
    try {
      running_.emplace(job->number,
                       std::thread([this, job, behind = programs_live_()] { run(*job, behind); }));
    } catch (const std::system_error&) {
      run(*job, false);  // no thread to be had (ulimit -u): ingest waits for it
    }
  }
  update_niceness();
}

void ExportWorker::tick(bool busy) {
  busy_ = busy;
  update_niceness();
}

void ExportWorker::update_niceness() {
  const bool behind = !busy_ && !running_.empty() && base::mono_ns() < background_until_ns_;
  session_.set(behind && programs_live_() ? kBackgroundNiceness : 0);
}

void ExportWorker::run(const Job& job, bool behind) {
  // Of this thread alone, and of those it makes. Where it fails the file is written all the same;
  // root would get ahead of what it was started with.
  if (behind && ::getpriority(PRIO_PROCESS, 0) < kBackgroundNiceness)
    ::setpriority(PRIO_PROCESS, 0, kBackgroundNiceness);
  Completion completion = job.work();
  {
    const std::lock_guard lock(mutex_);
    completions_.emplace(job.number, std::move(completion));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void ExportWorker::complete() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
  std::vector<Completion> due;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, completion] : completions_) {
      const auto thread = running_.find(number);
      if (thread == running_.end()) continue;
      thread->second.join();
      running_.erase(thread);
    }
    // One that is ready too early waits for those before it.
    for (auto at = completions_.find(completed_jobs_); at != completions_.end();
         at = completions_.find(completed_jobs_)) {
      due.push_back(std::move(at->second));
      completions_.erase(at);
      ++completed_jobs_;
    }
  }
  begin_jobs();
  for (const auto& completion : due) {
    --pending_;
    if (completion) completion();
  }
}

}  // namespace gpuprof::session
