// SPDX-License-Identifier: Apache-2.0
//
// A report as a page for a browser.
//
// Context:  cli
#include "analysis/commands/report_page.hpp"

#include <algorithm>

#include "analysis/report/page/page.hpp"
#include "analysis/report/page/page_file.hpp"
#include "analysis/report/report.hpp"

namespace gpuprof::commands {
namespace {

namespace page = report::page;

struct LoadedPage {
  report::Report report;
  std::vector<page::PageTimeline> timelines;
};

support::Result<std::vector<page::PageTimeline>> timelines_of(
    const RecordingSource& source, const std::vector<model::Window>& windows,
    const report::Report& report, const page::Limits& limits) {
  std::vector<page::PageTimeline> out;
  const page::SliceLimits share = page::slice_limits(limits, report.processes.size());
  for (const report::ProcessReport& analysis : report.processes) {
    const auto entry = std::find_if(
        source.view.processes.begin(), source.view.processes.end(),
        [&analysis](const spool::ProcessEntry& e) { return e.pid == analysis.meta.pid; });
    if (entry == source.view.processes.end()) {
      out.emplace_back();
      continue;
    }
    GPUPROF_TRY(timeline,
                page::collect_slices(source.view, *entry, windows, analysis.steps, share));
    out.push_back(std::move(timeline));
  }
  return out;
}

support::Result<LoadedPage> load(const ReportPageRequest& request, const ReportProgress& progress,
                                 const page::Limits& limits) {
  GPUPROF_TRY(source, open_recording(request.inputs, progress.reading));
  report::ReportOptions options;
  options.rank = request.rank;
  if (request.steps) options.analysis.steps = {request.steps->first, request.steps->second};
  std::vector<model::Window> windows;
  GPUPROF_TRY(report, report_of(source, options, progress, &windows));
  GPUPROF_TRY(timelines, timelines_of(source, windows, report, limits));
  return LoadedPage{std::move(report), std::move(timelines)};
}

}  // namespace

support::Result<std::uint64_t> write_report_page(const ReportPageRequest& request,
                                                 const ReportProgress& progress) {
  page::PageRequest wanted;
  wanted.path = request.page;
  wanted.force = request.force;
  wanted.version = request.version;
  GPUPROF_CHECK(page::check_page_path(wanted.path, wanted.force));
  GPUPROF_CHECK(check_is_no_input(request.page, request.inputs));
  GPUPROF_TRY(loaded, load(request, progress, wanted.limits));
  wanted.source = loaded.report.processes.empty() ? "" : loaded.report.processes[0].meta.source;
  return page::write_page(loaded.report, page::page_advice(loaded.report), loaded.timelines,
                          wanted);
}

}  // namespace gpuprof::commands
