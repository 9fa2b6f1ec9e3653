// SPDX-License-Identifier: Apache-2.0
//
// Name, signal masks, tracer and filters of one thread, from its status file.
//
// Context:  worker
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace gpuprof::sample {

struct ThreadStatus {
  char name[16];
  bool runnable;          // it runs, or waits for a processor
  std::uint64_t blocked;  // SigBlk
  std::uint64_t pending;  // SigPnd: sent to this thread
  std::uint64_t shared;   // ShdPnd: sent to the process
  std::uint64_t tracer;   // its process id, 0: none
  std::uint64_t seccomp_mode, filters;
};

/// Of the text of a status file. What is not in it is 0.
void parse_thread_status(const char* text, ThreadStatus* to);

/// False: the thread is gone.
bool read_thread_status(pid_t tid, ThreadStatus* to);

/// The calling thread's.
bool read_own_status(ThreadStatus* to);

/// Whether a signal is pending that was sent to the process as a whole: none of ours is.
bool is_pending_for_process(int signal);

/// Whether one is pending that was sent to a thread, as all of ours are. True where that is
/// unknown.
bool is_pending_for_a_thread(int signal);

}  // namespace gpuprof::sample
