// SPDX-License-Identifier: Apache-2.0
//
// Which parts of a recording the timeline shows.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/aggregation/step_tables.hpp"
#include "recording/model/window.hpp"
#include "recording/spool/spool.hpp"

namespace gpuprof::report::page {

struct TimelineInterval {
  std::string title;
  model::Window window;  // cut to the stretch
};

/// First, median and slowest of the steps, each once, in the order of time.
std::vector<TimelineInterval> select_steps(const Steps& steps,
                                           const std::vector<model::Window>& windows);

/// Everything, where that is no more than `events`; else the part of the recording with the most
/// events per time. None: nothing was recorded.
///
/// @param blocks  of the process's spool (spool::block_summaries) in `window`
std::vector<TimelineInterval> select_busiest(const std::vector<spool::BlockSummary>& blocks,
                                             const model::Window& window, std::size_t events);

}  // namespace gpuprof::report::page
