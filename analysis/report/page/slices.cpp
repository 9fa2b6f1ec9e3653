// SPDX-License-Identifier: Apache-2.0
//
// A few short stretches of the recording, event by event, for the page's timeline.
//
// Context:  cli
#include "analysis/report/page/slices.hpp"

#include <fmt/format.h>

#include "analysis/report/page/slice_selection.hpp"
#include "analysis/report/page/slice_sink.hpp"

namespace gpuprof::report::page {
namespace {

support::Result<std::vector<Stretch>> stretches_of(const spool::ProcessEntry& process,
                                                   const std::vector<model::Window>& windows,
                                                   const Steps& steps, std::size_t events) {
  std::vector<Stretch> out = chosen_steps(steps, windows);
  if (!out.empty() || windows.empty()) return out;
  for (const model::Window& window : windows) {
    GPUPROF_TRY(blocks, spool::block_summaries(process, {window.start_ns, window.end_ns}));
    out = busiest(blocks, window, events);
    if (!out.empty()) break;
  }
  return out;
}

}  // namespace

support::Result<Timeline> collect_slices(const spool::SessionView& session,
                                         const spool::ProcessEntry& process,
                                         const std::vector<model::Window>& windows,
                                         const Steps& steps, const SliceLimits& limits) {
  Timeline timeline;
  SliceTexts texts(timeline.strings);
  GPUPROF_TRY(stretches, stretches_of(process, windows, steps, limits.events));
  for (const Stretch& stretch : stretches) {
    // A file of the stretch alone: only its part of the spool is read.
    const exporter::FileRequest request{session, stretch.window, process, {}, {}, true, 0, {}};
    GPUPROF_TRY(shown, exporter::Shown::open(request));
    SliceSink sink(shown->survey(), texts, limits.events);
    GPUPROF_CHECK(shown->replay(sink));
    Slice slice;
    slice.title = stretch.title;
    sink.finish(slice);
    if (!slice.events.empty()) timeline.slices.push_back(std::move(slice));
  }
  const bool by_step = !steps.made_up && !steps.steps.empty();
  if (by_step && steps.steps.size() > timeline.slices.size()) {
    timeline.note =
        fmt::format("{} of {} steps, event by event.", timeline.slices.size(), steps.steps.size());
  } else if (!by_step && !stretches.empty() && stretches.front().title != "everything") {
    timeline.note =
        "No steps were found: the stretch of the recording with the most events per time.";
  }
  return timeline;
}

}  // namespace gpuprof::report::page
