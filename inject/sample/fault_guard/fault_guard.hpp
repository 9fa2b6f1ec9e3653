// SPDX-License-Identifier: Apache-2.0
//
// Reads of memory that may vanish: a fault inside call_guarded() ends it, any other fault is the
// program's.
//
// Context:  signal | callback (call_guarded, is_guard_active), worker (the rest)
// Owns:     the dispositions of SIGSEGV and SIGBUS while armed
// Promises: a fault of the program itself finds the program's disposition, bit for bit, and
//           repeats under it; a signal sent by someone is sent again unchanged
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

namespace gpuprof::sample {

/// Runs body(argument). False if it faulted: nothing after the faulting read has happened. The
/// two fault signals must not be blocked (UnblockFaultSignals).
bool call_guarded(void (*body)(void*), void* argument);

struct RecoveryPoint;
class UnblockFaultSignals;

/// What protects a thread's reads, one inside the other. Only a fault makes use of it.
struct FaultScope {
  RecoveryPoint* recovery_point;  // one of the two is null
  UnblockFaultSignals* open;
  std::uintptr_t outer;
};

/// Lets through fault signals that this thread blocks, until its end. One that somebody sent is
/// the program's: while one waits none is let through, and one that arrives meanwhile is kept, and
/// sent again at the end. Nor is one let through where no guard is in force.
class UnblockFaultSignals {
 public:
  /// @param blocked  The signals this thread blocks.
  explicit UnblockFaultSignals(std::uint64_t blocked);
  ~UnblockFaultSignals();
  UnblockFaultSignals(const UnblockFaultSignals&) = delete;
  UnblockFaultSignals& operator=(const UnblockFaultSignals&) = delete;
  /// Whether one of the program's waits for this to end.
  bool has_deferred() const;
  /// In the handler of `signal`. False: it was not blocked.
  bool defer(int signal, const siginfo_t* info);

 private:
  struct Deferred {
    bool here, process;  // one that was sent to the thread, one to the process
    siginfo_t to_thread, to_process;
  };
  void resend_deferred(int signal, const Deferred& kept) const;

  std::uint64_t opened_ = 0;
  bool waiting_ = false;
  std::atomic<std::uint64_t>* place_ = nullptr;  // unblocked_threads.hpp
  Deferred segv_, bus_;
  alignas(8) const FaultScope protection_;
};

/// How many of these signals that were sent to the process were kept so far, by all threads. Any
/// thread.
std::uint32_t deferred_fault_count(std::uint64_t signals);

/// Whether more than `before` were kept. A thread that waits for such a signal may be woken by it
/// and find that another thread has taken it and is about to keep it: waits for that, 20 ms at
/// most, plus the time in which that thread gets no processor (hot::kStarvationLimitMs). Boundary.
bool deferred_since(std::uint64_t signals, std::uint32_t before);

/// Whether faults of this thread would reach us. If not, memory that may vanish must not be read.
bool is_guard_active();

enum class GuardState { kArmed, kAbandoned, kIgnored };

/// Puts our handler in front of the program's where it is not yet. Again at each tick: the
/// program may have installed its own since, or had a fault of its own. kAbandoned: it handles
/// faults itself too often, or layers ran out. kIgnored: it ignores one of the two; a handler would
/// hide that from the programs it starts, and an ignored signal interrupts no wait.
GuardState arm_guard();

/// From now on no read begins under the guard's protection (is_guard_active); those under way
/// continue.
void deactivate_guard();

/// Restores the program's dispositions where ours are still in force. No read may be under way.
void disarm_guard();

}  // namespace gpuprof::sample
