// SPDX-License-Identifier: Apache-2.0
//
// Name, signal masks, tracer and filters of one thread, from its status file.
//
// Context:  worker
// Owns:     nothing
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace gpuprof::sample {

struct ThreadStatus {
  char name[16];
  std::uint64_t blocked;  // SigBlk
  std::uint64_t pending;  // SigPnd and ShdPnd
  std::uint64_t tracer;   // its process id, 0: none
  std::uint64_t seccomp_mode, filters;
};

/// Of the text of a status file. What is not in it is 0.
void parse_thread_status(const char* text, ThreadStatus* to);

/// False: the thread is gone.
bool read_thread_status(pid_t tid, ThreadStatus* to);

}  // namespace gpuprof::sample
