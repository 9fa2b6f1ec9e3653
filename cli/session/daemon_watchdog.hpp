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

/// Judges a silent daemon by looks at it, kLook_ns apart. Looks are counted rather than time, so
/// that a pause of our own (Ctrl-Z) is not held against it.
class DaemonPulse {
 public:
  enum class State { kAlive, kStopped, kStuck };

  /// What one look found.
  struct Look {
    bool stopped = false;  // SIGSTOP, or a debugger
    bool busy = false;     // a thread runs or waits for a disk
    std::uint64_t cpu_ticks = 0;
  };

  static constexpr std::uint64_t kLook_ns = 100'000'000;
  static constexpr unsigned kLooksStopped = 30;  // 3 s
  static constexpr unsigned kLooksStuck = 100;   // 10 s: its own longest wait is far below

  /// It said something.
  void spoke() { stopped_ = idle_ = 0; }
  /// Another kLook_ns without a word.
  State see(const Look& look);

 private:
  unsigned stopped_ = 0, idle_ = 0;
  std::uint64_t cpu_ticks_ = 0;
};

}  // namespace gpuprof::cli
