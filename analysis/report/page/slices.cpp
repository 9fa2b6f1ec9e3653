// SPDX-License-Identifier: Apache-2.0
//
// A few short stretches of the recording, event by event, for the page's timeline.
//
// Context:  cli
#include "analysis/report/page/slices.hpp"

#include <fmt/format.h>

#include "analysis/messages/page.hpp"
#include "analysis/report/page/slice_selection.hpp"
#include "analysis/report/page/slice_sink.hpp"

namespace gpuprof::report::page {
namespace {

support::Result<std::vector<TimelineInterval>> select_intervals(
    const spool::ProcessEntry& process, const std::vector<model::Window>& windows,
    const Steps& steps, std::size_t events) {
  std::vector<TimelineInterval> out = select_steps(steps, windows);
  if (!out.empty() || windows.empty()) return out;
  for (const model::Window& window : windows) {
    GPUPROF_TRY(blocks, spool::block_summaries(process, {window.start_ns, window.end_ns}));
    out = select_busiest(blocks, window, events);
    if (!out.empty()) break;
  }
  return out;
}

}  // namespace

support::Result<PageTimeline> collect_slices(const spool::SessionView& session,
                                             const spool::ProcessEntry& process,
                                             const std::vector<model::Window>& windows,
                                             const Steps& steps, const SliceLimits& limits) {
  PageTimeline timeline;
  SliceStrings texts(timeline.strings);
  GPUPROF_TRY(stretches, select_intervals(process, windows, steps, limits.events));
  for (const TimelineInterval& stretch : stretches) {
    // A file of the stretch alone: only its part of the spool is read.
    const exporter::FileRequest request{session, stretch.window, process, {}, {}, true, 0, {}};
    GPUPROF_TRY(shown, exporter::EventResolver::open(request));
    SliceSink sink(shown->prescan(), texts, limits.events);
    GPUPROF_CHECK(shown->replay(sink));
    Slice slice;
    slice.title = stretch.title;
    sink.finish(slice);
    if (!slice.events.empty()) timeline.slices.push_back(std::move(slice));
  }
  const bool by_step = !steps.is_synthetic && !steps.steps.empty();
  if (by_step && steps.steps.size() > timeline.slices.size()) {
    timeline.note =
        fmt::format(messages::page::kStepsShown, timeline.slices.size(), steps.steps.size());
  } else if (!by_step && !stretches.empty() &&
             stretches.front().title != messages::page::kWholeRecording) {
    timeline.note = messages::page::kNoStepsFound;
  }
  return timeline;
}

}  // namespace gpuprof::report::page
