// SPDX-License-Identifier: Apache-2.0
//
// Steps and GPU summary from timelines.
//
// Context:  cli
// Owns:     the sums so far
#pragma once

#include <map>
#include <vector>

#include "analysis/export/containers/intervals.hpp"
#include "analysis/report/timeline/timeline.hpp"

namespace gpuprof::report {

using exporter::Interval;
using exporter::Intervals;

/// The steps of a window as they were recorded, cut again where their GPU work ends later: a step
/// lasts until then, and the next begins. None where no step was recorded.
std::vector<StepRow> step_rows(const Timeline& timeline);

class StepAggregator {
 public:
  explicit StepAggregator(const Dictionary& dictionary) : d_(dictionary) {}

  /// @param prescan Of the same window.
  void add(const Timeline& timeline, const exporter::Prescan& prescan);
  Steps take();

 private:
  struct GpuAggregate {
    GpuSummary summary;
    double weighted_sm_ns = 0, occupancy_ns = 0;
    std::uint64_t attributed_ns = 0, tensor_ns = 0, in_steps_ns = 0;
  };

  void break_down(const Timeline& t, std::vector<StepRow>& steps) const;
  void count(const Timeline& t, std::vector<StepRow>& steps) const;
  void memory(const Timeline& t, std::vector<StepRow>& steps);
  void gpus(const Timeline& t, const exporter::Prescan& prescan, const std::vector<StepRow>& steps,
            Interval span);
  void one_gpu(const Timeline& t, const std::vector<StepRow>& steps, Interval span,
               GpuAggregate& gpu) const;
  void keep(const Timeline& t, std::vector<StepRow>& steps) const;

  const Dictionary& d_;
  Steps all_;
  std::map<std::uint32_t, GpuAggregate> gpus_;
};

}  // namespace gpuprof::report
