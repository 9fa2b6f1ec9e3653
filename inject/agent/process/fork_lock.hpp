// SPDX-License-Identifier: Apache-2.0
//
// Threads that fork at the same time: one after the other prepares and ends, the forks themselves
// overlap.
//
// Context:  boundary
// Owns:     a word that says whose turn it is, and how many forks are under way
// Promises: no thread waits longer than the one before it may take (Patience), nor for one that
//           has ended or for itself, interrupted by a signal whose handler forks
//
// Why: since its release 2.36 the C library holds no lock while handlers of forks run.
#pragma once

#include <atomic>
#include <cstdint>

namespace gpuprof::agent {

/// The calling thread's turn, while it lives.
class Turn {
 public:
  Turn();
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  bool taken_;
};

/// The same for as long as until end_turn(). False: it is this thread's already.
bool take_turn();
/// … while no fork is under way. False: there is one after so long, or it is this thread's already.
bool take_turn_between_forks(std::uint32_t deadline_ms);
void end_turn();
bool is_my_turn();

/// Forks from their prepare handler to the parent's. Changed by whose turn it is.
struct ForksUnderWay {
  std::atomic<std::uint32_t> count{0};
  std::atomic<std::uint64_t> since_ns{0};  // 0: none is

  bool any() const { return count.load(std::memory_order_relaxed) != 0; }
  /// True for the first one.
  bool begins();
  /// True for the last one.
  bool ends();
  /// Where one has followed another for long: waits, 20 ms at most, until none is under way, so
  /// that our thread gets to work in between.
  void leave_a_gap() const;
};
extern ForksUnderWay g_forks;

/// The child is alone, whatever other threads of the parent were doing.
void forget_turns_after_fork();

}  // namespace gpuprof::agent
