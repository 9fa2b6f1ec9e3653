// SPDX-License-Identifier: Apache-2.0
//
// Everything a report says of one process: the sum of its parts, plain data.
//
// Context:  cli
// Owns:     its tables; they are small against the events
// Promises: made from what the files of that process show (analysis/export/prescan/prescan.hpp),
//           windows added up
// Not here: of several processes (report.hpp), how it is printed (output/), advice (advice.hpp)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analysis/report/aggregation/flame_tree.hpp"
#include "analysis/report/aggregation/gpu_tables.hpp"
#include "analysis/report/aggregation/host_tables.hpp"
#include "analysis/report/aggregation/memory_tables.hpp"
#include "analysis/report/aggregation/meta.hpp"
#include "analysis/report/aggregation/operator_tables.hpp"
#include "analysis/report/aggregation/step_tables.hpp"
#include "analysis/report/step_thread/step_thread.hpp"
#include "analysis/report/timeline/stack_table.hpp"
#include "analysis/report/wall_time/wall_time.hpp"
#include "recording/model/window.hpp"
#include "recording/spool/spool.hpp"
#include "support/result.hpp"

namespace gpuprof::report {

struct ProcessReport {
  Meta meta;
  StackTable stack_table;
  Steps steps;
  WallTime wall;
  Operators operators;
  GpuTables gpu;
  HostTables host;
  Flames flames;
  Memory memory;
  advice::StepThread step_thread;

  bool has_gpu() const { return !gpu.kernels.empty() || !gpu.copies.empty(); }
};

/// Labels of the first and last step that count.
struct StepRange {
  std::uint64_t first = 0, last = 0;
};

/// A call of Python that lies directly in an operator or range, or in nothing: PyTorch's tables
/// leave its time out of theirs.
struct PythonInterval {
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t start_ns = 0, end_ns = 0;
};

struct ProcessReportOptions {
  std::optional<StepRange> steps;  // only what began in these
  bool flames = true;
  bool step_thread = true;                   // what advice looks at
  std::vector<PythonInterval> python_calls;  // where they were recorded as calls, not as samples
  std::function<void(std::uint64_t events)> progress;  // events just read; each is read twice
};

/// Reads one process in the windows given.
///
/// Errors: a spool that cannot be read; steps that are not there.
support::Result<ProcessReport> analyze_process(const spool::SessionView& session,
                                               const spool::ProcessEntry& process,
                                               const std::vector<model::Window>& windows,
                                               const ProcessReportOptions& options);

}  // namespace gpuprof::report
