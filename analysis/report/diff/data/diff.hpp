// SPDX-License-Identifier: Apache-2.0
//
// What changed between two recordings: plain data.
//
// Context:  cli
// Owns:     its tables
// Promises: `significant` is only what step-to-step noise, the machine and what one process does
//           for its whole life do not explain (docs/diff.md)
// Not here: how it is found (compare.hpp), how it is printed (diff_text.hpp, output/diff_json.cpp)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/diff/data/step_profile.hpp"
#include "analysis/report/import_summary.hpp"

namespace gpuprof::report::diff {

/// Exit status where no comparison can be made, or a condition not be judged: 1 is one that holds.
inline constexpr int kExitCannotCompare = 2;

/// One thing measured on both sides.
struct Change {
  bool measured = false;
  double before = 0, after = 0;                // medians: ns of a step, or of a call without steps
  double before_spread = 0, after_spread = 0;  // relative, from step to step
  double share_before = 0, share_after = 0;    // of the step
  double relative = 0;                         // after / before - 1
  double adjusted = 0;                         // the same without what is common to all
  double threshold = 0;                        // a smaller change would not be significant
  double p_value = 1;         // by rank, of blocks of steps, what is common taken out
  bool is_separated = false;  // by rank, as measured
  bool significant = false;
  bool is_unconfirmed = false;       // reported, but one process may differ so by itself
  std::size_t confirming_pairs = 0;  // pairs of recordings, where there are several

  bool is_reported() const { return significant || is_unconfirmed; }

  double difference() const { return after - before; }
};

enum class Presence : std::uint8_t { kBoth, kGone, kNew };

/// An operator, range, kernel or copy.
struct NameDiff {
  std::string name;
  NameKind kind = NameKind::kOperator;
  Presence presence = Presence::kBoth;
  double calls_before = 0, calls_after = 0;  // of a step; without steps of the recording
  bool calls_changed = false;                // for certain: they do not vary
  Change self, total, device;                // device: GPU time launched in it, or its own
  std::string shapes_before, shapes_after;   // of inputs, where they differ
  /// Calls in it whose number changed for certain: `aten::mm 20 → 22`.
  std::vector<std::string> inner_calls;
  bool significant = false;
  bool is_unconfirmed = false;       // and not significant
  std::size_t confirming_pairs = 0;  // as in Change

  /// The one of the three that tells most.
  const Change& primary_change() const;
  /// It is seen to do something else, whatever its time.
  bool program_changed() const;
  /// What its changes say of the row.
  void summarize();
  bool is_reported() const { return significant || is_unconfirmed; }
  bool on_gpu() const { return kind >= NameKind::kKernel; }
};

struct MetricDiff {
  std::string_view name;  // of the metric, as in conditions
  Change change;
};

/// Bytes of one device.
struct MemoryDiff {
  std::int32_t device = -1;  // -1: the host
  DeviceMemoryProfile before, after;
  bool significant = false;
  bool is_unconfirmed = false;       // by some pairs only
  std::size_t confirming_pairs = 0;  // as in Change

  bool is_reported() const { return significant || is_unconfirmed; }
};

/// What all operators, or all kernels, have in common between two processes.
struct CommonShift {
  double factor = 1;            // times as long
  std::size_t names = 0;        // of which it was computed
  double spread_deviation = 0;  // of these from it, in units of their own spreads
  double scatter = 0;           // from it, of half of their time; a logarithm
  double spread = 0;            // of half of their time, from step to step, on the side with more
  double detectable_change =
      0;  // relative change of one of them that could just be claimed, middle one
  bool known = false;
};

/// One process and its counterpart.
struct ProcessDiff {
  StepProfile before, after;  // without names and calls
  bool by_step = true;
  bool enough_steps = true;
  bool too_few_steps = false;  // to tell noise from change at all
  CommonShift host, gpu;
  std::vector<MetricDiff> metrics;
  std::vector<NameDiff> names;  // significant ones first, then those seen once, then by time
  std::vector<MemoryDiff> memory;
  // Sentences: what makes them hard to compare; what differs in how they were recorded.
  std::vector<std::string> caveats, notes;

  void sort_names();
  bool any_significant() const;
  const MetricDiff* metric(std::string_view name) const;
};

struct Limits {
  double change = 0.05;  // of what is compared
  double share = 0.01;   // of the step, that the change makes up
};

struct Diff {
  std::string before, after;  // as the person named them
  Limits limits;
  bool simulated = false;  // GPUs of both were
  std::vector<ProcessDiff> processes;
  std::vector<std::string> notes;
  ImportSummary before_reading, after_reading;  // of trace files
  std::vector<Diff> other_pairs;  // the pairs after the first, each as it is by itself

  std::size_t pairs() const { return 1 + other_pairs.size(); }
};

}  // namespace gpuprof::report::diff
