// SPDX-License-Identifier: Apache-2.0
//
// The rows of a file (what shares one "pid"): which of them are processes, which are devices, and
// which belong together where several ranks were put into one file.
//
// Context:  cli through analysis/commands
// Owns:     nothing
// Not here: which launch a kernel belongs to (track_owners.hpp)
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gpuprof::importer {

/// What the events of a row are.
enum class TrackRole : std::uint8_t {
  kUnknown,
  kHost,              // a process: operators, ranges, calls
  kApiCalls,          // calls of a process that has another row for its operators
  kDevice,            // streams
  kCommunication,     // a device's collectives, with what they consist of
  kDuplicate,         // sums that the writer drew of the other rows
  kProfilerOverhead,  // waits and what tracing cost, of threads of the process (pid -1)
};

struct PidTrack {
  std::int64_t pid = 0;
  std::string label;                           // of a merged file: "[TP0]" of "[TP0] 10"
  std::string name;                            // "process_name", else the pid where it is no number
  TrackRole named_role = TrackRole::kUnknown;  // by names of the file
  std::uint64_t host_events = 0;               // of the host
  std::uint64_t gpu_events = 0;
  /// Of host records in the file's order.
  std::uint32_t first = std::numeric_limits<std::uint32_t>::max(), last = 0;
  std::map<std::uint32_t, std::string> threads;  // names, by tid

  /// What it was taken for where an event did not tell by itself; none: nobody asked.
  std::optional<TrackRole> assumed_role;
  bool role_changed = false;  // that became something else later
};

/// A pid taken apart: `10`, `[TP0] 10`, `rank3_0`, `CPU functions`.
struct PidLabel {
  std::string_view label;  // empty: no other rank is meant
  std::int64_t pid = 0;
};
PidLabel parse_pid_label(std::string_view text);

/// By "process_name" and "process_labels".
TrackRole role_of_name(std::string_view name);

/// The rank that a label names: 0 of "[TP0]", "rank 0", "Rank0"; none of "[TP0-DP1]", "".
std::optional<std::int64_t> rank_of_label(std::string_view label);

/// Processes as Ascend's tools number their rows: the process, a place, the device.
inline constexpr unsigned kAscendPidShift = 10;
inline constexpr std::int64_t kAscendDevices = 32;

}  // namespace gpuprof::importer
