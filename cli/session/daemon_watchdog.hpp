// SPDX-License-Identifier: Apache-2.0
//
// Whether a daemon that says nothing is still at work.
//
// Context:  cli
// Owns:     nothing
// Promises: a daemon that uses the CPU or waits for a disk counts as alive, however long it takes
// Not here: what follows from it (daemon_session.hpp)
#pragma once

#include <cstdint>

namespace gpuprof::cli {

/// Judges a silent daemon by polls, kPollInterval_ns apart. Polls are counted rather than time, so
/// that a pause of our own (Ctrl-Z) is not held against it.
class DaemonWatchdog {
 public:
  enum class State { kAlive, kStopped, kHung };

  /// What one poll found.
  struct Observation {
    bool stopped = false;  // SIGSTOP, or a debugger
    bool busy = false;     // a thread runs or waits for a disk
    std::uint64_t cpu_ticks = 0;
  };

  static constexpr std::uint64_t kPollInterval_ns = 100'000'000;
  static constexpr unsigned kStoppedPolls = 30;  // 3 s
  static constexpr unsigned kHungPolls = 100;    // 10 s: its own longest wait is far below

  /// It said something.
  void reset() { stopped_ = idle_ = 0; }
  /// Another kPollInterval_ns without a word.
  State observe(const Observation& look);

 private:
  unsigned stopped_ = 0, idle_ = 0;
  std::uint64_t cpu_ticks_ = 0;
};

}  // namespace gpuprof::cli
