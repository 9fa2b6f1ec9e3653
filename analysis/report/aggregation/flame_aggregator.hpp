// SPDX-License-Identifier: Apache-2.0
//
// Flame graphs from timelines.
//
// Context:  cli
// Owns:     the trees so far
#pragma once

#include "analysis/report/timeline/timeline.hpp"

namespace gpuprof::report {

class FlameAggregator {
 public:
  explicit FlameAggregator(const Dictionary& dictionary) : d_(dictionary) {}

  /// @param prescan Of the same window.
  void add(const Timeline& timeline, const exporter::Prescan& prescan);
  Flames take();

 private:
  void samples(const Timeline& t, const exporter::Prescan& prescan);
  void gpu(const Timeline& t);
  std::uint32_t under(FlameTree& tree, std::uint32_t node, StackRef stack) const;

  const Dictionary& d_;
  Flames all_;
};

}  // namespace gpuprof::report
