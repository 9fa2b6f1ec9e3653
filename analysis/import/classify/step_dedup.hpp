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

class HeldSteps {
 public:
  static constexpr std::size_t kMost = 200'000;

  bool full() const { return steps_.size() >= kMost; }
  void hold(const Record& step, std::string_view category) {
    steps_.push_back({step, std::string(category)});
  }
  /// Those of one process and label that overlap are one step, the longest; the others repeat it.
  void settle(const std::function<void(const Record&)>& step,
              const std::function<void(std::string_view category)>& repeat);

 private:
  struct Held {
    Record record;
    std::string category;
  };
  std::vector<Held> steps_;
};

}  // namespace gpuprof::importer
