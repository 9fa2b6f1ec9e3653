// SPDX-License-Identifier: Apache-2.0
//
// In which step of the file an instant lies.
//
// Context:  daemon (export thread) | cli
// Owns:     nothing: the steps are the prescan's
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "recording/model/events.hpp"

namespace gpuprof::exporter {

/// The one of `steps` that holds an instant; null: none.
///
/// @param steps A vector of what has start_ns and end_ns, sorted by start.
template <typename Steps>
auto* step_at(Steps& steps, std::uint64_t ns) {
  const auto next =
      std::upper_bound(steps.begin(), steps.end(), ns,
                       [](std::uint64_t when, const auto& step) { return when < step.start_ns; });
  return next == steps.begin() || (next - 1)->end_ns <= ns ? nullptr : &*(next - 1);
}

}  // namespace gpuprof::exporter
