// SPDX-License-Identifier: Apache-2.0
//
// One window, read into a timeline.
//
// Context:  cli
#include "analysis/report/timeline/timeline.hpp"

#include "analysis/report/timeline/link_events.hpp"
#include "analysis/report/timeline/tee_sink.hpp"
#include "analysis/report/timeline/timeline_builder.hpp"

namespace gpuprof::report {

support::Result<Timeline> build_timeline(exporter::EventResolver& shown,
                                         const ProcessReportOptions& options,
                                         Dictionary& dictionary, exporter::ResolvedSink* also) {
  Timeline timeline;
  timeline.window = shown.request().window.index;
  TimelineBuilder gatherer(shown, options, dictionary, timeline);
  if (also == nullptr) {
    GPUPROF_CHECK(shown.replay(gatherer));
  } else {
    TeeSink both(gatherer, *also);
    GPUPROF_CHECK(shown.replay(both));
  }
  const Index key = dictionary.host_key({0, 0, 0, 0, OperatorKind::kPythonCall});
  for (const PythonInterval& call : options.python_calls)
    if (call.pid == shown.prescan().pid) gatherer.python(call, key);
  link_events(timeline, dictionary, options.steps.has_value());
  return timeline;
}

}  // namespace gpuprof::report
