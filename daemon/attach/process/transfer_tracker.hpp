// SPDX-License-Identifier: Apache-2.0
//
// Threads that were seen amid a transfer, and whether they have come out of it.
//
// Context:  the tracing thread
// Owns:     what was seen of them
// Promises: nothing is touched; a thread that only woke to move the next part is not taken for one
//           that is done
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "daemon/attach/process/thread_candidates.hpp"

namespace gpuprof::attach {

class TransferTracker {
 public:
  explicit TransferTracker(pid_t pid) : pid_(pid) {}

  /// Whether a stop may now cut a call of the thread short. Which call a running thread is in, the
  /// kernel does not tell: one that was amid a transfer has come out of it when it sleeps in
  /// another call, or has run for 5 ms without waiting for room again.
  bool in_transfer(const ThreadCandidate& thread);

 private:
  std::uint64_t ran_ns(pid_t tid) const;

  pid_t pid_;
  std::map<pid_t, std::uint64_t> ran_ns_;  // of threads that are amid one, when that was last seen
};

}  // namespace gpuprof::attach
