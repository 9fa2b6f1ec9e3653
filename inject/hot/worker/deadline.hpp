// SPDX-License-Identifier: Apache-2.0
//
// The deadline up to which a thread of the program waits for the worker.
//
// Context:  boundary
// Promises: a machine that gives the worker thread no processor is not mistaken for a thread that
//           does not respond
#pragma once

#include <cstdint>

namespace gpuprof::hot {

/// Whether a thread of this process runs, waits for a processor, or is inside the kernel where
/// nothing interrupts it: membarrier(2) and perf events wait there for each processor, longer the
/// busier those are. False where that cannot be found out.
bool is_runnable_or_blocked(std::uint32_t tid);

class Deadline {
 public:
  /// @param starved_ms  In addition to `deadline_ms`, for the time in which the awaited thread is
  ///                    at work; 0: there is no difference.
  Deadline(std::uint32_t deadline_ms, std::uint32_t starved_ms);

  /// To be called every now and then: counts the time since the last call.
  bool expired(std::uint32_t tid) {
    return counted(starved_left_ns_ != 0 && is_runnable_or_blocked(tid));
  }
  /// For a thread that has not begun yet: it waits for a processor.
  bool expired_before_start() { return counted(starved_left_ns_ != 0); }

 private:
  bool counted(bool starved);

  std::uint64_t left_ns_, starved_left_ns_, asked_ns_;
};

}  // namespace gpuprof::hot
