// SPDX-License-Identifier: Apache-2.0
//
// All of the time that was recorded: what is before the first step, in steps, between them and
// after the last one, and what ran where no step tells.
//
// Context:  cli
// Owns:     nothing
// Promises: the rows add up to what was recorded, to the nanosecond; of steps to what the table of
//           steps holds
// Not here: how a stretch of time finds its line (time_attribution.hpp), steps that stall
//           (stalls.hpp)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/aggregation/meta.hpp"
#include "analysis/report/aggregation/step_tables.hpp"
#include "analysis/report/step_thread/step_thread.hpp"

namespace gpuprof::report {

enum class WallPhase : std::uint8_t {
  kNoStepsAtAll,        // no step was recorded: everything
  kStart,               // before the first step
  kWarmUp,              // the program's first steps, which take longer than the others
  kSteps,               // those that count
  kTruncated,           // the last ones, incomplete at the recording's end
  kBetween,             // steps
  kEnd,                 // after the last step
  kWindowWithoutSteps,  // windows without a step, where others have some
  kCount
};
/// `first_step`: in JSON. `First step`: for a person.
std::string_view key_of(WallPhase part);
std::string_view title_of(WallPhase part);

/// What a thread did for a while.
enum class HostActivityKind : std::uint8_t {
  kUnknown,  // neither an operator nor a sample
  kImport,
  kCudaInit,
  kCompile,
  kSaving,
  kEvaluation,  // operators without a backward pass, or a function called so
  kLoading,     // of data
  kGpuWait,
  kGilWait,  // Python's, which another thread holds
  kWaiting,  // asleep, for whatever
  kOperators,
  kUserCode,  // the program's own
  kCount
};
/// "importing", "saving", "waiting"; in JSON "import", "saving", "waiting".
std::string_view label_of(HostActivityKind kind);
std::string_view key_of(HostActivityKind kind);

/// What ran in some stretch of time, as far as operators and samples tell.
struct HostActivity {
  HostActivityKind kind = HostActivityKind::kUnknown;
  std::string what;  // function that was called, operator or call with most time; empty: not known
  std::string file, function;  // of the program's own line; empty: not known
  int line = 0, last_line = 0;
  std::string line_source;    // who knew it: a kLineBy... of messages::report_shared
  std::uint64_t ns = 0;       // that it took of the stretch
  double observed_share = 0;  // 0..1, of `ns`: by samples or operators, not by what lies around it
  double sampled_share = 0;   // 0..1, of `ns`: what the samples in it weigh

  /// `train.py:41`, `train.py:41-44` or "".
  std::string place() const;
  /// `saving (save) at train.py:88`: for a table.
  std::string text() const;
};

struct WallTimeRow {
  WallPhase part = WallPhase::kNoStepsAtAll;
  std::uint64_t ns = 0;
  std::uint64_t count = 0;  // of steps, or of stretches
  HostActivity activity;    // what took most of it; of kSteps none
};

/// What took long at one line, apart from what steps usually do.
struct SlowSpot {
  WallPhase part = WallPhase::kNoStepsAtAll;
  HostActivity activity;    // `ns` is the sum
  std::uint64_t count = 0;  // in how many steps or pauses
  std::uint64_t longest_ns = 0;
  std::vector<std::uint64_t> labels;  // of the first kMaxLabels steps, or those before pauses
  static constexpr std::size_t kMaxLabels = 8;
};

struct WallTime {
  std::uint64_t recorded_ns = 0;
  std::vector<WallTimeRow> rows;     // in order of time; only those with time in them
  std::vector<SlowSpot> slow_spots;  // by part, most time first
  std::uint64_t usual_step_ns = 0;   // the steps that count, their median, on the host
};

/// @param windows    Those the steps are of.
/// @param only_steps Of each window from its first step to its last one: only some were asked for.
WallTime compute_wall_time(const Steps& steps, const std::vector<WindowMeta>& windows,
                           const advice::StepThread& step_thread, bool only_steps);

}  // namespace gpuprof::report
