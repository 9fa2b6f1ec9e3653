// SPDX-License-Identifier: Apache-2.0
//
// Name and signal masks of one thread, from its status file.
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
};

/// False: the thread is gone.
bool read_thread_status(pid_t tid, ThreadStatus* to);

}  // namespace gpuprof::sample
