// SPDX-License-Identifier: Apache-2.0
//
// Steps of a file until all are known: one may be marked twice, by two threads or in two kinds.
//
// Context:  cli through analysis/commands
// Owns:     the steps so far; bounded
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/import/store/parsed_event.hpp"

namespace gpuprof::importer {

class StepDeduplicator {
 public:
  static constexpr std::size_t kMaxSteps = 200'000;

  bool full() const { return steps_.size() >= kMaxSteps; }
  void add(const ParsedEvent& step, std::string_view category) {
    steps_.push_back({step, std::string(category)});
  }
  /// Those of one process and label that overlap are one step, the longest; the others repeat it.
  void deduplicate(const std::function<void(const ParsedEvent&)>& step,
                   const std::function<void(std::string_view category)>& repeat);

 private:
  struct PendingStep {
    ParsedEvent record;
    std::string category;
  };
  std::vector<PendingStep> steps_;
};

}  // namespace gpuprof::importer
