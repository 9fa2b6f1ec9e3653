// SPDX-License-Identifier: Apache-2.0
//
// What the worker and the signal handler share.
//
// Context:  signal (read), worker (write)
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

#include "inject/sample/signals/handler.hpp"

namespace gpuprof::sample {

struct HandlerState {
  std::atomic<int> signal{0};
  std::atomic<std::uint64_t> retired{0};  // signals of which only the handler is still ours
  std::atomic<bool> enabled{false};
  std::atomic<bool> suspended{false};
  std::atomic<std::uint32_t> run{0};
  HandlerSettings settings;
};

/// How often our handler has returned on a thread, or on another whose id shares its place.
class HandlerRuns {
 public:
  void add(std::uint32_t tid) { place(tid).fetch_add(1, std::memory_order_relaxed); }
  std::uint32_t of(pid_t tid) {
    return place(static_cast<std::uint32_t>(tid)).load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kPlaces = 1024;
  std::atomic<std::uint32_t>& place(std::uint32_t tid) { return runs_[tid % kPlaces]; }
  std::atomic<std::uint32_t> runs_[kPlaces] = {};
};
extern HandlerRuns g_handler_runs;

extern HandlerState g_handler;

/// A cookie is made of the address of g_handler and a thread's id, which has 22 bits at most
/// (PID_MAX_LIMIT).
inline constexpr std::uint32_t kTidBits = 22;
inline std::uint64_t cookie_base() {
  return reinterpret_cast<std::uintptr_t>(&g_handler) >> 6 << kTidBits;
}

/// The thread that a signal with this cookie was sent to; 0: it is not ours.
inline std::uint32_t tid_of_cookie(const void* cookie) {
  const std::uint64_t tid = reinterpret_cast<std::uintptr_t>(cookie) ^ cookie_base();
  return tid >> kTidBits == 0 ? static_cast<std::uint32_t>(tid) : 0;
}

void on_sample_signal(int signal, siginfo_t* info, void* context);

}  // namespace gpuprof::sample
