// SPDX-License-Identifier: Apache-2.0
//
// Threads that fork at the same time prepare and finish one after the other; the forks themselves
// overlap.
//
// Context:  boundary
// Owns:     a word that says whose turn it is, and how many forks are under way
// Promises: no thread waits longer than the one before it may take (Deadline), nor for one that
//           has ended, nor for itself when interrupted by a signal whose handler forks
//
// Why: since release 2.36 the C library holds no lock while fork handlers run.
#pragma once

#include <atomic>
#include <cstdint>

namespace gpuprof::agent {

/// The calling thread's turn, for the lifetime of the object.
class ForkLock {
 public:
  ForkLock();
  ~ForkLock();
  ForkLock(const ForkLock&) = delete;
  ForkLock& operator=(const ForkLock&) = delete;

 private:
  bool taken_;
};

/// The same until unlock_fork(). False: this thread already has the turn.
bool lock_fork();
/// … while no fork is under way. False: one still is after that time, or this thread already has
/// the turn.
bool lock_when_no_fork(std::uint32_t deadline_ms);
void unlock_fork();
bool holds_fork_lock();

/// Forks from their prepare handler to the parent's handler. Changed by whoever has the turn.
struct PendingForks {
  std::atomic<std::uint32_t> count{0};
  std::atomic<std::uint64_t> since_ns{0};  // 0: there is none

  bool any() const { return count.load(std::memory_order_relaxed) != 0; }
  /// True for the first one.
  bool begin();
  /// True for the last one.
  bool end();
  /// Where one has followed another for a long time: waits, 20 ms at most, until none is under way,
  /// so that the worker thread gets to work in between.
  void wait_for_gap() const;
};
extern PendingForks g_pending_forks;

/// The child has this thread only, whatever other threads of the parent were doing.
void reset_fork_lock_after_fork();

}  // namespace gpuprof::agent
