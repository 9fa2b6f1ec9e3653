// SPDX-License-Identifier: Apache-2.0
//
// Everything a report says of one process: the sum of its parts, plain data.
//
// Context:  cli
// Owns:     its tables; they are small against the events
// Promises: made from what the files of that process show (daemon/export/shown.hpp), windows added
//           up
// Not here: of several processes (report.hpp), how it is printed (*_text.hpp), advice (advice.hpp)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "daemon/model/window.hpp"
#include "daemon/report/advice/story.hpp"
#include "daemon/report/meta.hpp"
#include "daemon/report/sums/flame.hpp"
#include "daemon/report/sums/gpu_tables.hpp"
#include "daemon/report/sums/host_tables.hpp"
#include "daemon/report/sums/memory.hpp"
#include "daemon/report/sums/operators.hpp"
#include "daemon/report/sums/steps.hpp"
#include "daemon/report/timeline/places.hpp"
#include "daemon/report/wall/wall.hpp"
#include "daemon/spool/spool.hpp"
#include "support/result.hpp"

namespace gpuprof::report {

struct Analysis {
  Meta meta;
  Places places;
  Steps steps;
  Wall wall;
  Operators operators;
  GpuTables gpu;
  HostTables host;
  Flames flames;
  Memory memory;
  advice::Story story;

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

struct AnalysisOptions {
  std::optional<StepRange> steps;  // only what began in these
  bool flames = true;
  bool story = true;                   // what advice looks at
  std::vector<PythonInterval> python;  // where they were recorded as calls, not as samples
  std::function<void(std::uint64_t events)> progress;  // events just read; each is read twice
};

/// Reads one process in the windows given.
///
/// Errors: a spool that cannot be read; steps that are not there.
support::Result<Analysis> analyse(const spool::SessionView& session,
                                  const spool::ProcessEntry& process,
                                  const std::vector<model::Window>& windows,
                                  const AnalysisOptions& options);

}  // namespace gpuprof::report
