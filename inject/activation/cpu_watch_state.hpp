// SPDX-License-Identifier: Apache-2.0
//
// State shared by the files of this component.
//
// Context:  signal | boundary
// Owns:     everything of the component, in static storage
#pragma once

#include <atomic>
#include <cstdint>

#include "inject/activation/cpu_watch.hpp"

namespace gpuprof::wake {

/// Threads beyond that are not watched: one of the others wakes the agent.
inline constexpr std::uint32_t kMaxTimers = 64;

struct WatchedThread {
  std::atomic<int> timer{0};  // the kernel's number + 1; 0: none
  // For its handler only.
  std::uint32_t looks = 0;
  std::uint64_t mask = 0;
  std::uint32_t looks_with_mask = 0;
};

struct CpuWatch {
  std::atomic<Hook> hook{nullptr};
  std::atomic<int> owner{0};  // process
  std::atomic<std::uint32_t> threads{0};
  bool was_ignored = false;  // set before the handler can be called by a timer
  WatchedThread thread[kMaxTimers];
};
extern CpuWatch g_cpu_watch;

/// Fires once more when its thread has used `cpu_ns`. Signal | boundary.
bool set_timer(const WatchedThread& thread, std::uint64_t cpu_ns);

/// The handler (cpu_watch_handler.cpp).
void on_cpu_watch_signal(int signal, siginfo_t* info, void* context);

}  // namespace gpuprof::wake
