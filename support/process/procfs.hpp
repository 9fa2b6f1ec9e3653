// SPDX-License-Identifier: Apache-2.0
//
// What /proc says of other processes.
//
// Context:  daemon | cli
// Owns:     nothing
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuprof::support {

/// A line of /proc/PID/stat, as far as it is asked for.
struct ProcessStat {
  bool exists = false;
  char state = '?';  // R running, S sleeping, D waiting for a disk, T stopped, t traced, Z ended
  pid_t parent = 0;
  std::uint64_t cpu_ticks = 0;  // user and system time of all threads
  std::uint64_t threads = 0;    // with Z: above 1 only the first one has ended

  /// By a signal: it stays so until it is told to continue (SIGCONT).
  bool is_stopped() const { return state == 'T'; }
  bool is_stopped_or_traced() const { return state == 'T' || state == 't'; }
};

/// `there` is false for a line that is none.
ProcessStat parse_process_stat(std::string_view line);
ProcessStat process_stat(pid_t pid);

/// Whether a process is gone, or a zombie with all of its threads: in an exec, and after a
/// pthread_exit, the first one may have ended alone.
bool has_ended(pid_t pid);

/// Differs once a process has started another program by exec; 0 where it cannot be read.
std::uint32_t exec_fingerprint(pid_t pid);
/// Whether it has, since it had this mark. False where either cannot be read.
bool has_execed(pid_t pid, std::uint32_t mark);

/// True if any thread of the process runs, or waits for a disk.
bool any_thread_runnable(pid_t pid);

/// How long a thread has been on a processor, ns; none where the kernel does not say, and for a
/// thread that is in another PID namespace, where it has another number.
std::optional<std::uint64_t> thread_runtime_ns(pid_t pid, pid_t thread);

/// All that can be seen, in no order.
std::vector<std::pair<pid_t, ProcessStat>> all_processes();

/// Children of a process, ended ones that nobody has collected included.
std::vector<pid_t> children_of(pid_t parent);

}  // namespace gpuprof::support
