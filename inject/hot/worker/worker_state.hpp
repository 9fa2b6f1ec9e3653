// SPDX-License-Identifier: Apache-2.0
//
// State of the worker thread's two files: starting and parking, running and resuming.
//
// Context:  signal
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

namespace gpuprof::hot {

enum class WorkerPhase : std::uint32_t { kNone = 0, kRunning, kParked, kEnded };

struct Worker {
  std::atomic<WorkerPhase> phase{WorkerPhase::kNone};
  std::atomic<bool> park_wanted{false};
  std::atomic<bool> resume_inhibited{false};
  // 0 free, 1 asked to pause, 2 paused; a futex word.
  std::atomic<std::uint32_t> pause{0};
  // Written by the kernel: the id while the thread lives, 0 once it is gone (CLONE_CHILD_CLEARTID).
  std::atomic<std::uint32_t> kernel_tid{0};
  std::atomic<void*> thread_pointer{nullptr};
  // Where glibc keeps the id of the thread it made; null where the kernel does not report it.
  std::atomic<std::uint32_t*> glibc_tid{nullptr};
  std::atomic<std::uint32_t> glibc_tid_offset{0};  // from pthread_self; 0: not known
  std::atomic<std::uint8_t*> resume_stack{nullptr};
  bool (*body)() = nullptr;
  long first_wait_ns = 0;
  std::atomic<bool> timer_armed{false};
  timer_t timer{};
};
extern Worker g_worker;

/// No setuid that begins later finds the worker's thread. Worker.
void hide_from_setuid();

/// Continues the calling thread, made by pthread_create, as one that glibc does not signal. Worker.
[[noreturn]] void continue_as_clone();

}  // namespace gpuprof::hot
