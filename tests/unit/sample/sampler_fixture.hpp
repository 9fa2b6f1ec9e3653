// SPDX-License-Identifier: Apache-2.0
//
// The sampler at work in the test's own process: a segment, and a worker thread as the agent has.
//
// Context:  tests
// Owns:     the worker, until destroyed
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gpuprof/base/clock.hpp"
#include "inject/sample/sampler.hpp"
#include "tests/fakes/in_process_segment.hpp"

namespace gpuprof::sample {

struct SeenModule {
  wire::Module module;
  std::string build_id, path;
};
inline std::mutex g_seen_mutex;
inline std::vector<SeenModule> g_seen_modules;
inline std::vector<wire::ModuleUnloaded> g_gone_modules;
inline std::vector<wire::Thread> g_seen_threads;

class SamplerFixture {
 public:
  SamplerFixture() {
    hot::g_outbox.module = [](const wire::Module& module, const void* id, const char* path) {
      const std::lock_guard<std::mutex> lock(g_seen_mutex);
      g_seen_modules.push_back(
          {module, std::string(static_cast<const char*>(id), module.build_id_bytes), path});
    };
    hot::g_outbox.module_unloaded = [](const wire::ModuleUnloaded& gone) {
      const std::lock_guard<std::mutex> lock(g_seen_mutex);
      g_gone_modules.push_back(gone);
    };
    hot::g_outbox.thread = [](const wire::Thread& thread, const char*) {
      const std::lock_guard<std::mutex> lock(g_seen_mutex);
      g_seen_threads.push_back(thread);
    };
    hot::g_state.on.store(hot::kOnSamples | hot::kOnLaunchStacks);
    segment.start_drainer();
    on_worker([] { prepare(); });
  }
  ~SamplerFixture() { stop_sampling(); }

  /// Starts sampling and keeps taking turns until stop_sampling.
  bool start_sampling(const Settings& settings) {
    running_ = true;
    std::atomic<int> started{-1};
    worker_ = std::thread([this, settings, &started] {
      become_worker();
      started = start(settings) ? 1 : 0;
      while (running_) {
        while (starved_ && running_) {
          worker_paused_ = true;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        const std::uint32_t ms = tick(base::mono_ns());
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
      }
      stop();
    });
    while (started == -1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return started == 1;
  }
  /// From now on the worker takes no turn, as where it gets no processor, until stop_sampling.
  void starve_worker() {
    starved_ = true;
    while (!worker_paused_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void stop_sampling() {
    running_ = false;
    if (worker_.joinable()) worker_.join();
  }

  /// Runs body on a thread that is to the sampler what the agent's worker is.
  template <typename Body>
  void on_worker(Body&& body) {
    std::thread([&] {
      become_worker();
      body();
    }).join();
  }

  /// Samples of one thread.
  std::vector<wire::Sample> samples_of(std::uint32_t tid) {
    std::vector<wire::Sample> found;
    for (const auto& sample : segment.all<wire::Sample>())
      if (sample.body.tid == tid) found.push_back(sample.body);
    return found;
  }

  /// Native frames behind a stack id; empty if the definition never came.
  std::vector<std::uint64_t> native_of(std::uint64_t stack_id, std::uint32_t* flags = nullptr) {
    for (const auto& def : segment.all<wire::StackDef>()) {
      if (def.body.id != stack_id) continue;
      std::vector<std::uint64_t> frames(def.body.native_count);
      std::memcpy(frames.data(), def.tail.data(), frames.size() * 8);
      if (flags != nullptr) *flags = def.body.flags;
      return frames;
    }
    return {};
  }

  fakes::InProcessSegment segment{8, 120};

 private:
  static void become_worker() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    hot::g_state.worker_tid.store(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
  }
  std::atomic<bool> running_{false}, starved_{false}, worker_paused_{false};
  std::thread worker_;
};

inline std::uint32_t own_tid() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

/// CPU time of the calling thread.
inline double own_cpu_s() {
  return static_cast<double>(base::clock_ns(CLOCK_THREAD_CPUTIME_ID)) * 1e-9;
}

}  // namespace gpuprof::sample
