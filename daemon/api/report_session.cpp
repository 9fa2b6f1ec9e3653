// SPDX-License-Identifier: Apache-2.0
//
// Loading and printing a report.
//
// Context:  cli
#include "daemon/api/report_session.hpp"

#include <fmt/format.h>

#include "daemon/api/settled.hpp"
#include "daemon/import/import.hpp"
#include "daemon/report/render.hpp"
#include "daemon/report/report.hpp"
#include "daemon/report/tables.hpp"

namespace gpuprof::api {

std::vector<std::string> report_tables() { return report::table_names(); }

support::Result<report::Report> report_of(Source& source, const report::ReportOptions& options,
                                          const ReportProgress& progress,
                                          std::vector<model::Window>* windows) {
  std::vector<std::string> missing;
  auto settled = settled_windows(&source.view, &missing);
  if (!settled)
    return support::error(fmt::format("there is nothing to report of {}: {}", source.named,
                                      settled.error().sentence));
  *windows = settled.take();
  report::ReportOptions wanted = options;
  wanted.analysis.progress = progress.counting;
  if (source.imported != nullptr)
    for (const importer::PythonCall& call : source.imported->python)
      wanted.analysis.python.push_back({call.pid, call.tid, call.start_ns, call.end_ns});
  GPUPROF_TRY(report, report::make_report(source.view, *windows, wanted));
  for (report::Analysis& process : report.processes) {
    process.meta.source = source.named;
    process.meta.imported = source.is_imported();
  }
  for (const std::string& sentence : missing) report.missing.push_back(sentence);
  return report;
}

support::Result<report::Report> load_report(const std::vector<std::string>& inputs,
                                            const report::ReportOptions& options,
                                            const ReportProgress& progress) {
  GPUPROF_TRY(source, open_source(inputs, progress.reading));
  std::vector<model::Window> windows;
  return report_of(source, options, progress, &windows);
}

support::Result<std::string> report_text(const ReportRequest& request,
                                         const ReportProgress& progress) {
  report::RenderOptions render;
  render.by = request.by;
  render.grouping = {request.by_input_shape, request.by_stack};
  render.sort_by = request.sort_by;
  render.columns = request.columns;
  render.row_limit = request.row_limit;
  render.json = request.json;
  render.csv = request.csv;
  render.width = request.width;
  GPUPROF_CHECK(report::check(render));
  report::ReportOptions options;
  options.rank = request.rank;
  options.analysis.flames = false;
  if (request.steps) options.analysis.steps = {request.steps->first, request.steps->second};
  GPUPROF_TRY(report, load_report(request.inputs, options, progress));
  return report::render(report, render);
}

}  // namespace gpuprof::api
