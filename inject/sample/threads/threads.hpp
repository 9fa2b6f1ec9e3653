// SPDX-License-Identifier: Apache-2.0
//
// The list of the program's threads: found by scanning the task directory, each with a trigger.
//
// Context:  worker
// Owns:     the entries, their triggers, one kept-open descriptor of the task directory
// Promises: a thread that blocks the sampling signal, is traced or came under a seccomp filter has
//           no trigger; a dead one leaves the list and gives its ring buffers back; our worker is
//           never in it
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "inject/sample/signals/mask_history.hpp"
#include "inject/sample/threads/wait_tracker.hpp"
#include "inject/sample/triggers/trigger.hpp"

namespace gpuprof::sample {

/// What off_cpu.cpp stores about one thread.
struct OffCpuState {
  WaitTracker wait;
  std::uint64_t cpu_ns = 0;     // thread CPU time at the last look
  std::uint64_t stack_id = 0;   // of the present wait; 0: not known
  std::uint64_t ring_mark = 0;  // through which ring buffer its definition went, and that it did
  std::uint64_t reported_until_ns = 0;  // up to when records cover the wait; 0: no record of it yet
  std::uint64_t taken_ns = 0;           // when its stack was taken
  std::uint64_t over_stack_id = 0,
                over_reported_ns = 0;  // of the wait before, until its end is known
  std::uint64_t stands_for_ns = 0;     // should it be over at the next look
};

struct ThreadEntry {
  pid_t tid = 0;
  std::uint32_t scan = 0;                           // last scan that saw it
  std::uint32_t checks = 0;                         // looks at its status so far, up to a few
  std::uint64_t next_check_ns = 0, overdue_ns = 0;  // first: if it has run; second: in any case
  std::uint64_t checked_cpu_ns = 0;
  bool has_trigger = false;
  bool traced = false, filtered = false;
  MaskHistory mask;
  std::uint32_t handler_runs = 0;  // at the last look
  bool needs_alt_stack = false;    // for signals: hence no trigger (alt_stacks.hpp)
  std::uint64_t lacks_stack_ns = 0;
  bool counted_masked = false, counted_none = false;
  char name[16] = {};
  std::uint32_t reported_flags = ~0u;
  char reported_name[16] = {};
  TriggerSlot slot;
  OffCpuState off_cpu;
};

inline constexpr std::uint32_t kMaxThreads = 4096;

/// Begins with an empty list; `kind` null: no triggers (blocked threads only). False: no memory.
bool open_threads(const TriggerKind* kind, const TriggerPlan& plan);

/// Closes every trigger and forgets the list.
void close_threads();

/// Gives back the list's memory, too.
void release_threads();

/// Looks for new and dead threads, re-checks some of the known ones.
void scan_threads(std::uint64_t now_ns);

/// Lets the worker run on every processor on which one of those threads may. After a scan; checks
/// every 10 s.
void update_affinity(std::uint64_t now_ns);

/// Removes, at once, the triggers of threads that the sampling signal has reached in a waiting
/// call.
void handle_interrupted_waits(std::uint64_t now_ns);

/// Whether somebody traced this process at the last scan; whether the program has put a thread
/// under a filter since we were loaded.
bool was_traced();
bool any_filtered();

/// Whether a thread has gone without a trigger for a while for want of a stack.
bool any_needs_alt_stack();

/// Calls visitor(entry, argument) for each thread.
void for_each_thread(void (*visitor)(ThreadEntry&, void*), void* argument);

/// In the child of a fork: the entries are the parent's.
void reset_threads_after_fork();

}  // namespace gpuprof::sample
