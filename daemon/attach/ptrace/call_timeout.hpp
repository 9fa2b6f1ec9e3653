// SPDX-License-Identifier: Apache-2.0
//
// Ends a blocking call of this thread at a time.
//
// Context:  daemon | cli
// Owns:     one POSIX timer, and its signal in this process from the first use on
#pragma once

#include <time.h>

#include <cstdint>

namespace gpuprof::attach {

/// Used by the thread that made it.
class CallTimeout {
 public:
  CallTimeout();
  CallTimeout(const CallTimeout&) = delete;
  CallTimeout& operator=(const CallTimeout&) = delete;
  ~CallTimeout();

  /// System calls of this thread fail with EINTR from the time on at which CLOCK_MONOTONIC reads
  /// `until_ns`, every millisecond, until off(). False: they will not; there is no timer.
  bool set(std::uint64_t until_ns);
  void off();

 private:
  timer_t timer_{};
  bool made_ = false;
};

}  // namespace gpuprof::attach
