// SPDX-License-Identifier: Apache-2.0
//
// Which thread of a process is stopped for an injection.
//
// Context:  daemon | cli
// Owns:     nothing
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace gpuprof::attach {

struct ThreadCandidate {
  pid_t tid = 0;
  std::uint64_t stack_pointer = 0;  // of a thread that sleeps; 0: it runs
  bool in_transfer = false;         // a stop may make its call return less than was asked for
};

/// Threads of a process, the one that loses least by a stop first: those that sleep in a call that
/// the kernel continues, then other sleepers, then running ones, the main thread last among those,
/// then those amid a transfer. The worker thread there and ended ones are not in it.
std::vector<ThreadCandidate> threads_by_stop_cost(pid_t pid);

/// Whether a thread waits until a child that it made by vfork (posix_spawn, system) has started its
/// program or ended: it cannot be stopped before.
bool waits_for_child(pid_t pid, pid_t tid);
/// Whether any of its threads does.
bool any_waits_for_child(pid_t pid);

/// A row of /proc/PID/task/TID/syscall.
struct BlockedSyscall {
  long number = -1;  // -1: the thread runs, or sleeps in no call
  std::uint64_t stack_pointer = 0;
  /// It waits for room in a pipe, a socket or a terminal, or for all of what it wants to receive.
  /// What it has moved so far is then what the call returns, if the thread is stopped.
  bool in_transfer = false;
};
BlockedSyscall parse_syscall(std::string_view line);

}  // namespace gpuprof::attach
