// SPDX-License-Identifier: Apache-2.0
//
// What is compared apart from names: one row each; tables, conditions and docs/diff.md are made
// from it.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <span>
#include <string_view>

#include "analysis/report/diff/data/step_profile.hpp"

namespace gpuprof::report::diff {

enum class Unit : std::uint8_t { kTime, kBytes, kCount, kFactor };

/// A metric by step.
struct StepMetric {
  std::string_view name;   // in conditions and JSON
  std::string_view title;  // in tables
  Unit unit;
  StepMeasure measure;
  std::string_view about;  // a half sentence
};
std::span<const StepMetric> step_metrics();

}  // namespace gpuprof::report::diff
