// SPDX-License-Identifier: Apache-2.0
//
// Baseline or candidate of a comparison: what a process did in each of its steps.
//
// Context:  cli
// Owns:     at most kMaxCells sums for each of at most kMaxNames names and one "(other)" a kind
// Promises: made from what files show (analysis/export/prescan); GPU work counts to the step of its
//           launch, host work to the step it began in
// Not here: what a difference means (compare.hpp)
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::report::diff {

/// Steps beyond these are added up by twos, fours, …
inline constexpr std::size_t kMaxCells = 1024;
inline constexpr std::size_t kMaxNames = 20'000;
/// Of one operator, kept to tell whether they are the same on both sides.
inline constexpr std::size_t kMaxShapes = 4;
/// Parts of a recording without steps.
inline constexpr std::size_t kSliceCount = 40;

enum class NameKind : std::uint8_t { kOperator, kRange, kKernel, kCopy };
std::string_view name_of(NameKind kind);

/// Sums over one cell: a step or several.
struct StepCell {
  std::uint32_t index = 0;
  float calls = 0;
  float self_ns = 0, total_ns = 0;                // on the host; 0 for GPU work
  float self_device_ns = 0, total_device_ns = 0;  // of GPU work, or what was launched
};

struct NameRow {
  std::string name;
  NameKind kind = NameKind::kOperator;
  std::vector<StepCell> cells;   // by index, only those it occurs in
  std::set<std::string> shapes;  // of inputs, at most kMaxShapes + 1
  double calls = 0;              // in the whole recording
};

/// Calls of `child` directly in calls of `parent` (indexes of names), in the whole recording.
struct CallEdge {
  std::uint32_t parent = 0, child = 0;
  double calls = 0, ns = 0;  // ns: on the host
};

/// What is known of each step, apart from names.
enum class StepMeasure : std::uint8_t {
  kLength,   // ns
  kGpuBusy,  // ns in which some GPU did something
  kKernel,   // ns, sum over kernels
  kCopy,     // ns, sum over copies and sets
  kKernels,  // launched
  kWait,     // ns the host waited for a GPU, by CUPTI
  kCount
};
inline constexpr std::size_t kMeasures = static_cast<std::size_t>(StepMeasure::kCount);

/// PyTorch's memory on one device.
struct DeviceMemoryProfile {
  std::uint64_t peak_allocated_bytes = 0, peak_reserved_bytes = 0;
  std::uint64_t allocations = 0, allocated_bytes = 0;
  std::map<std::uint32_t, std::uint64_t> peak_by_cell;  // allocated
};

struct StepProfile {
  std::string given_name;  // as the person did
  std::string host, program, command;
  std::uint32_t pid = 0;
  std::int64_t rank = -1;
  std::uint32_t world_size = 0;
  bool simulated = false;
  std::map<std::string, std::string> facts;
  std::vector<std::string> gpus;     // names of devices in use
  std::vector<std::string> missing;  // sentences

  /// False: cells are equal slices of the recording, and times are compared by call.
  bool has_steps = false;
  std::size_t steps = 0;  // in the files
  std::uint32_t steps_per_cell = 1;
  std::size_t warm_up = 0;        // cells at the begin that are not compared
  std::uint64_t recorded_ns = 0;  // length of its windows
  /// By cell, of one step.
  std::array<std::vector<double>, kMeasures> by_cell;
  std::vector<NameRow> names;
  std::size_t other_names = 0;  // beyond kMaxNames, in a row "(other)" of each kind
  std::vector<CallEdge> calls;  // by parent
  std::map<std::int32_t, DeviceMemoryProfile> memory;  // by device, -1: the host

  std::size_t cells() const { return by_cell[0].size(); }
  const std::vector<double>& of(StepMeasure measure) const {
    return by_cell[static_cast<std::size_t>(measure)];
  }
};

}  // namespace gpuprof::report::diff
