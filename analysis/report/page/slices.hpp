// SPDX-License-Identifier: Apache-2.0
//
// A few short stretches of the recording, event by event, for the page's timeline.
//
// Context:  cli
// Owns:     the events kept, at most SliceLimits::events a stretch
// Promises: reads only the parts of a spool that hold the stretches; says what it left out
// Not here: which stretches (slice_selection.hpp), tables of the whole (analysis/report)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/aggregation/step_tables.hpp"
#include "recording/model/window.hpp"
#include "recording/spool/spool.hpp"
#include "support/result.hpp"

namespace gpuprof::report::page {

/// In the order of the page's page.timeline_kinds.
enum class SliceKind : std::uint8_t {
  kOperator,
  kAnnotation,
  kCall,
  kKernel,
  kCopy,
  kSet,
  kSync,
  kStep,
  kModule,
};

struct SliceEvent {
  std::int64_t start_ns = 0;  // from the beginning of the slice; earlier: negative
  std::uint64_t length_ns = 0;
  std::uint32_t track = 0, row = 0;
  std::uint32_t name = 0, detail = 0;  // in PageTimeline::strings; detail 0: none
  std::uint32_t flow = 0;              // equal for a call and what it launched; 0: none
  SliceKind kind = SliceKind::kOperator;
};

struct SliceTrack {
  std::string title;
  std::uint32_t rows = 0;
};

struct Slice {
  std::string title, note;
  std::uint64_t length_ns = 0;
  std::vector<SliceTrack> tracks;
  std::vector<SliceEvent> events;  // by track, row and start
};

struct PageTimeline {
  std::vector<std::string> strings;  // the first is empty
  std::vector<Slice> slices;
  std::string note;  // what these are of the whole
};

struct SliceLimits {
  std::size_t events = 20'000;  // of one slice
};

/// The first step, the median and the slowest one, or where no step is known the busiest stretch.
///
/// Errors: a spool that cannot be read.
support::Result<PageTimeline> collect_slices(const spool::SessionView& session,
                                             const spool::ProcessEntry& process,
                                             const std::vector<model::Window>& windows,
                                             const Steps& steps, const SliceLimits& limits);

}  // namespace gpuprof::report::page
