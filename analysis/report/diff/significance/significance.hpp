// SPDX-License-Identifier: Apache-2.0
//
// Is a difference of times a change, or what steps and machines differ by anyway?
//
// Context:  cli
// Owns:     nothing
// Promises: claims only what is large enough, stands out from what the others did, and from its own
//           steps; all three are reported (Change::threshold, Change::p_value)
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/report/diff/data/diff.hpp"
#include "analysis/report/diff/significance/robust_stats.hpp"

namespace gpuprof::report::diff {

/// The same thing on both sides.
struct PairedValues {
  std::uint32_t id = 0;  // of what it is
  Values before, after;  // by step or slice, without warm-up
  double share_before = 0, share_after = 0;
  // Of the values, by derive(): each pair is compared with all others.
  double log_ratio = 0;
  double spread = 0;  // relative, at least kMinSpread
  double share = 0;

  bool on_both_sides() const { return !before.empty() && !after.empty(); }
  /// To be called once values and shares are there.
  void derive();
};
inline constexpr double kMinSpread = 0.005;

/// What others did meanwhile.
struct ReferenceShift {
  double log_factor = 0;
  double deviation = 0;  // of others from that, in units of their own spreads
  std::size_t names = 0;
};
/// Others count from this share of the step on, and only as many make a reference.
inline constexpr double kReferenceShare = 0.003;
inline constexpr std::size_t kMinReferences = 4;

/// The median of the others' ratios, larger ones weighing more, and how far they lie from it.
ReferenceShift reference_of(const std::vector<const PairedValues*>& others);

struct SignificanceOptions {
  Limits limits;
  ReferenceShift reference;
  std::size_t tests = 1;         // made side by side
  bool unknown_machine = false;  // no reference, and clocks and neighbours may differ
  double least_spread = 0;       // the own one counts as at least this
  double own_spreads = 1.5;      // a change must be larger than so many of its own spreads
};

Change test_significance(const PairedValues& pair, const SignificanceOptions& judging);

}  // namespace gpuprof::report::diff
