// SPDX-License-Identifier: Apache-2.0
//
// Operators as torch's key_averages() counts them, at the finest grain and grouped.
//
// Context:  cli
// Owns:     nothing
// Promises: group() of the rows gives the rows, counts and sums key_averages() gives for the same
//           events
// Not here: the printed table (operator_text.hpp)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/timeline/stack_table.hpp"

namespace gpuprof::report {

enum class OperatorKind : std::uint8_t {
  kOperator,
  kAnnotation,  // user range of PyTorch or NVTX, step
  kApiCall,     // CUDA runtime or driver
  kOverhead,
  kMemory,         // allocations outside of everything else
  kPythonCall,     // a call of Python in one of these: has no row, but its time is not theirs
  kGpuWork,        // kernel, copy, memset
  kGpuAnnotation,  // from the first to the last GPU work of a user range, per stream
};

/// What key_averages() calls a FunctionEventAvg. Memory is signed: freed is negative.
struct OperatorRow {
  std::string name;
  std::string shapes;  // `[[64, 3], []]`; empty where rows were not grouped by them
  StackRef stack = 0;  // of group(): cut to the innermost N frames
  OperatorKind kind = OperatorKind::kOperator;
  std::uint64_t count = 0;
  std::int64_t self_cpu_ns = 0, cpu_ns = 0, self_device_ns = 0, device_ns = 0;
  std::int64_t self_cpu_bytes = 0, cpu_bytes = 0, self_device_bytes = 0, device_bytes = 0;
  std::uint64_t order = 0;  // of first appearance

  bool on_device() const { return kind >= OperatorKind::kGpuWork; }
};

/// Time in each step of what has one name, for spreads over steps. Only names that matter.
struct OperatorSteps {
  std::string name;
  OperatorKind kind = OperatorKind::kOperator;
  std::vector<float> self_cpu_ns, self_device_ns;  // by index in ProcessReport::steps
};

struct Operators {
  std::vector<OperatorRow> rows;  // by name, shapes, stack and kind; in order of appearance
  std::vector<OperatorSteps> by_step;
  std::int64_t self_cpu_ns = 0;     // sum over rows
  std::int64_t self_device_ns = 0;  // sum over rows of GPU work
  bool has_shapes = false, has_stacks = false;
  bool has_memory = false;  // allocations were recorded
};

struct Grouping {
  bool by_shape = false;
  std::uint32_t by_stack = 0;  // innermost frames that count; 0: none
};

/// Adds up rows that are equal under `grouping`, in order of appearance. `places` gets the cut
/// stacks.
std::vector<OperatorRow> group(const std::vector<OperatorRow>& rows, const Grouping& grouping,
                               StackTable& places);

}  // namespace gpuprof::report
