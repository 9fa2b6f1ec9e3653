// SPDX-License-Identifier: Apache-2.0
//
// Everything a session is asked for: made by the CLI's options, carried as text, obeyed by the
// daemon, kept in the spool so that an export knows it.
//
// Context:  cli | daemon
// Promises: to_text and from_text are inverse; from_text refuses unknown keys and bad values
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/result.hpp"

namespace gpuprof::recording {

/// A span in steps or in time; never both.
struct Extent {
  enum class Unit { kNone, kSteps, kTime };
  Unit unit = Unit::kNone;
  std::uint64_t value = 0;  // steps, or ns
};

struct ScheduleOptions {
  Extent skip_first, wait, warmup, active;  // all in one unit
  std::uint64_t repeat = 0;                 // 0: until the end
  /// True if any of them was given: otherwise the whole run is recorded.
  bool given = false;

  /// Windows are counted in steps.
  bool in_steps() const {
    for (const Extent& part : {skip_first, wait, warmup, active})
      if (part.unit == Extent::Unit::kSteps) return true;
    return false;
  }
};

/// Longest --name; what the library keeps of it.
inline constexpr std::size_t kMaxNameBytes = 63;

struct SessionOptions {
  // output
  std::string output;  // absolute folder, or pattern (see is_pattern)
  bool output_is_pattern = false;
  bool force = false;
  std::vector<std::string> formats = {"tensorboard"};
  std::uint64_t span_size_events = 200'000;
  std::uint64_t max_size_bytes = 4ULL << 30;
  std::string keep = "all";  // all | first:N | last:N
  bool all_processes = false;
  // what
  std::uint32_t trace = 31;  // wire::kTrace… bits
  bool trace_given = false;
  std::uint32_t rate_hz = 100;
  std::string sampler = "auto";  // auto | perf | cpu-timer | tgkill | wall-test-only
  bool blocked_threads = true;
  bool record_shapes = true, with_stack = true, with_modules = true, profile_memory = true;
  std::string cuda_graph;               // node | graph | "" = node
  std::uint64_t buffer_size_bytes = 0;  // 0: default
  // when
  ScheduleOptions schedule;
  std::string step = "auto";  // --step as typed
  std::string on_no_step = "time";
  std::uint64_t step_timeout_ns = 30'000'000'000ULL;
  bool armed = false;
  bool running_processes = false;  // of processes that run already: ends with the schedule
  // who
  std::string name;  // --name
  std::string wait_for = "primary";
  std::string command_line;  // for people, joined by blanks
  std::string working_directory;
  std::string version;  // of the CLI
  std::string max_overhead = "off";

  /// Stacks are sampled unless -r or -t says otherwise.
  bool wants_samples() const;
};

/// `key=value` lines; newlines and backslashes in values are escaped as \n and \\.
std::string to_text(const SessionOptions& options);
support::Result<SessionOptions> from_text(const std::string& text);

}  // namespace gpuprof::recording
