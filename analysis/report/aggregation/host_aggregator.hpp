// SPDX-License-Identifier: Apache-2.0
//
// Threads, modules and lines from timelines.
//
// Context:  cli
// Owns:     the sums so far
#pragma once

#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/report/timeline/timeline.hpp"

namespace gpuprof::report {

class HostAggregator {
 public:
  explicit HostAggregator(const Dictionary& dictionary) : d_(dictionary) {}

  /// @param prescan Of the same window.
  void add(const Timeline& timeline, const exporter::Prescan& prescan);
  HostTables take();

 private:
  struct LineAggregate {
    LineCosts costs;
    Index last_step = kNoIndex;
  };
  using SiteKey = std::uint64_t;  // line and name

  void threads(const Timeline& t, const exporter::Prescan& prescan);
  void samples(const Timeline& t);
  void operators(const Timeline& t);
  void modules(const Timeline& t);
  template <typename Add>
  void both(const Timeline& t, Index host, FrameId line, const Add& add);
  static void in_step(LineAggregate& line, Index step) {
    if (step == kNoIndex || line.last_step == step) return;
    line.last_step = step;
    ++line.costs.steps;
  }

  const Dictionary& d_;
  HostTables all_;
  std::map<std::uint32_t, ThreadRow> threads_;
  std::unordered_map<FrameId, LineAggregate> lines_;
  std::unordered_map<SiteKey, LineAggregate> sites_;
  std::vector<ModuleRow> modules_;  // by Dictionary::modules
};

}  // namespace gpuprof::report
