// SPDX-License-Identifier: Apache-2.0
//
// In which step of the file an instant lies.
//
// Context:  daemon (export thread) | cli
// Owns:     pointers to the survey's steps, by time
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "daemon/model/events.hpp"

namespace gpuprof::exporter {

class StepIndex {
 public:
  explicit StepIndex(const std::vector<model::Step>& steps) {
    for (const model::Step& step : steps) steps_.push_back(&step);
    std::sort(steps_.begin(), steps_.end(),
              [](const model::Step* a, const model::Step* b) { return a->start_ns < b->start_ns; });
  }

  /// Null: in none.
  const model::Step* at(std::uint64_t ns) const {
    const auto next = std::upper_bound(
        steps_.begin(), steps_.end(), ns,
        [](std::uint64_t when, const model::Step* step) { return when < step->start_ns; });
    if (next == steps_.begin() || (*(next - 1))->end_ns <= ns) return nullptr;
    return *(next - 1);
  }

 private:
  std::vector<const model::Step*> steps_;
};

}  // namespace gpuprof::exporter
