// SPDX-License-Identifier: Apache-2.0
//
// What every CUPTI entry point does first and last: error rules, driver check, call log.
//
// Context:  any
// Owns:     one leaked LineLog
// Promises: with GPUSIM_LOG every call is one JSON line with arguments, result, thread, time and
//           client
// Not here: the truth log (core/truth.hpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <cupti.h>

#include "cupti/clients.hpp"

namespace gpusim {

/// Whether a call works without a driver.
enum class Requirement : std::uint8_t { kNothing, kDriver };
/// Whether a call is logged only with GPUSIM_LOG_ALL.
enum class LogLevel : std::uint8_t { kNormal, kFrequent };

/// Who called the entry point this stands in.
#define GPUSIM_CALLER __builtin_return_address(0)

/// One CUPTI call in progress. The caller's client is the current one until it ends.
class ApiEntry {
 public:
  /// @param caller GPUSIM_CALLER.
  /// @param format printf format for the arguments as shown in the log.
  ApiEntry(const void* caller, const char* function, Requirement need, LogLevel noise,
           const char* format, ...) __attribute__((format(printf, 6, 7)));
  ApiEntry(const ApiEntry&) = delete;
  ApiEntry& operator=(const ApiEntry&) = delete;

  /// Runs `body` unless a rule or the missing driver answers first.
  template <typename Body>
  CUptiResult run(Body&& body) {
    const int early = early_result();
    return done(early >= 0 ? static_cast<CUptiResult>(early) : std::forward<Body>(body)());
  }

 private:
  int early_result();
  CUptiResult done(CUptiResult result);

  ClientScope client_;
  const char* function_;
  Requirement need_;
  bool logged_;
  std::uint64_t start_ns_ = 0;
  char arguments_[256];
};

/// Logs a client callback.
void log_callback(const char* name, const void* data, std::size_t size, std::size_t valid);

/// Cuts the log to its real length.
void close_call_log();

}  // namespace gpusim
