// SPDX-License-Identifier: Apache-2.0
//
// Names of both sides brought together: their times by step, how often they were called, what is
// in what.
//
// Context:  cli
// Owns:     nothing: the profiles must outlive it
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/report/diff/data/step_profile.hpp"
#include "analysis/report/diff/significance/significance.hpp"

namespace gpuprof::report::diff {

/// A name with its row on each side; null where it does not occur in steps that are compared.
struct JoinedName {
  const NameRow* before = nullptr;
  const NameRow* after = nullptr;

  const NameRow* any_row() const { return before != nullptr ? before : after; }
  const NameRow& any() const { return *any_row(); }
};

class NameJoin {
 public:
  NameJoin(const StepProfile& before, const StepProfile& after);

  const std::vector<JoinedName>& names() const { return names_; }
  /// Of one sum, by step or by call; nothing in it where it took no time.
  PairedValues times(std::uint32_t name, float StepCell::*sum) const;
  PairedValues times(StepMeasure measure) const;
  /// Calls in each step that is compared, also where there were none.
  static Values calls(const StepProfile& profile, const NameRow* row);
  /// Names of whose time a share lies within calls of this one, and that share.
  std::unordered_map<std::uint32_t, double> callers_share(std::uint32_t name) const;
  /// Calls directly in this name whose number is fixed and differs; the change of its time by
  /// that, as a share of the step, goes to `share`.
  std::vector<std::string> changed_calls(std::uint32_t name, double* share) const;

 private:
  struct Edge {
    std::uint32_t child;
    double calls_before, calls_after;  // in each call of the parent
    double ns;                         // on the side that has more of them, in the whole recording
  };
  void add_edges();

  const StepProfile& before_;
  const StepProfile& after_;
  std::vector<JoinedName> names_;
  std::vector<std::vector<Edge>> edges_;  // by parent
  std::vector<double> called_ns_;         // of each child, in any parent
};

/// Whether calls differ for certain: fixed numbers on both sides, or numbers that vary but lie
/// apart.
bool calls_differ(const Values& before, const Values& after, std::size_t tests);
double mean(const Values& values);
/// Calls in a step: what nine of ten steps have (the step that ends an epoch has others), else the
/// mean.
double typical_calls(const Values& values);

}  // namespace gpuprof::report::diff
