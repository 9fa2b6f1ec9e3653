// SPDX-License-Identifier: Apache-2.0
//
// Rows of operators from timelines.
//
// Context:  cli
// Owns:     the rows so far
#pragma once

#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/report/timeline/timeline.hpp"

namespace gpuprof::report {

class OperatorAggregator {
 public:
  explicit OperatorAggregator(Dictionary& dictionary) : d_(dictionary) {}

  void add(const Timeline& timeline);
  Operators take();

 private:
  struct Costs;
  struct StepTimes {
    StringRef name;
    OperatorKind kind;
    std::vector<float> cpu, device;
  };

  OperatorRow& row(StringRef name, StringRef shapes, StackRef stack, OperatorKind kind,
                   std::uint64_t start_ns);
  void host_rows(const Timeline& t, const Costs& costs);
  void gpu_rows(const Timeline& t);
  void annotation_rows(const Timeline& t);
  void memory_rows(const Timeline& t, const Costs& costs);
  void in_step(std::size_t row, Index step, std::int64_t cpu_ns, std::int64_t device_ns);

  Dictionary& d_;
  Operators all_;
  std::unordered_map<std::uint64_t, std::vector<Index>> index_;  // rows by hash
  std::vector<std::array<std::uint32_t, 3>> keys_;               // of rows: name, shapes, stack
  std::vector<Index> steps_of_;                                  // of rows, in by_step_
  std::map<std::pair<StringRef, OperatorKind>, Index> by_name_;
  std::vector<StepTimes> by_step_;
  std::size_t steps_before_ = 0, steps_ = 0;
};

}  // namespace gpuprof::report
