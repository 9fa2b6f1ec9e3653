// SPDX-License-Identifier: Apache-2.0
//
// Loading and printing a report.
//
// Context:  cli
#include "analysis/commands/report_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analysis/commands/import_report.hpp"
#include "analysis/commands/resolve_session.hpp"
#include "analysis/import/import.hpp"
#include "analysis/messages/analysis_commands.hpp"
#include "analysis/report/advice/advice.hpp"
#include "analysis/report/advice/advice_text.hpp"
#include "analysis/report/output/render.hpp"
#include "analysis/report/output/tables.hpp"
#include "analysis/report/report.hpp"
#include "support/text/json.hpp"
#include "support/text/text.hpp"

namespace gpuprof::commands {

std::vector<std::string> report_tables() { return report::table_names(); }

support::Result<report::Report> report_of(RecordingSource& source,
                                          const report::ReportOptions& options,
                                          const ReportProgress& progress,
                                          std::vector<model::Window>* windows) {
  std::vector<std::string> missing;
  auto settled = resolved_windows(&source.view, &missing);
  if (!settled)
    return support::error(fmt::format(messages::analysis_commands::kCannotReport, source.named,
                                      settled.error().message));
  *windows = settled.take();
  report::ReportOptions wanted = options;
  wanted.analysis.progress = progress.counting;
  if (source.imported != nullptr)
    for (const importer::PythonCall& call : source.imported->python_calls)
      wanted.analysis.python_calls.push_back({call.pid, call.tid, call.start_ns, call.end_ns});
  auto made = report::make_report(source.view, *windows, wanted);
  if (!made) return with_import_notes(made.error(), source);
  report::Report report = made.take();
  for (report::ProcessReport& process : report.processes) {
    process.meta.source = source.named;
    process.meta.imported = source.is_imported();
  }
  for (const std::string& message : missing) report.missing.push_back(message);
  report.import_summary = import_report_of(source);
  return report;
}

support::Result<report::Report> load_report(const std::vector<std::string>& inputs,
                                            const report::ReportOptions& options,
                                            const ReportProgress& progress) {
  GPUPROF_TRY(source, open_recording(inputs, progress.reading));
  std::vector<model::Window> windows;
  return report_of(source, options, progress, &windows);
}

std::vector<std::string> advice_rules() {
  std::vector<std::string> names;
  for (const report::advice::Rule& rule : report::advice::rules()) names.emplace_back(rule.id);
  return names;
}

namespace {

constexpr std::string_view kAnyRule = "any";
constexpr std::size_t kAdviceWidth = 100;

support::Result<void> check_advice(const ReportRequest& request) {
  for (const std::string& name : request.fail_on) {
    if (name == kAnyRule || report::advice::find_rule(name) != nullptr) continue;
    return support::error(fmt::format(
        messages::analysis_commands::kUnknownRule, support::in_quotes(name),
        support::did_you_mean(name, advice_rules()), support::join_with_and(advice_rules())));
  }
  if (!request.advice_only) return {};
  if (request.csv) return support::error(messages::analysis_commands::kAdviceAsCsv);
  if (!request.by.empty()) return support::error(messages::analysis_commands::kAdviceAsTable);
  return {};
}

std::vector<std::string> failed_rules(const ReportRequest& request,
                                      const std::vector<report::advice::Advice>& advice) {
  std::vector<std::string> failed;
  const auto among = [](const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const report::advice::Advice& one : advice) {
    const bool asked = among(request.fail_on, one.rule) || among(request.fail_on, kAnyRule);
    if (asked && !among(failed, one.rule)) failed.emplace_back(one.rule);
  }
  return failed;
}

std::string advice_as(const ReportRequest& request, const report::Report& report,
                      const std::vector<report::advice::Advice>& advice,
                      const std::vector<std::string>& failed) {
  if (!request.json)
    return (report.simulated ? messages::analysis_commands::kSimulatedGpu : "") +
           report::advice::advice_text(advice, request.width == 0 ? kAdviceWidth : request.width);
  support::JsonWriter json;
  json.begin_object().member("simulated", report.simulated).key("advice");
  report::advice::write_advice(advice, json);
  json.member("failed_on", failed);
  if (!report.import_summary.files.empty())
    report::write_import_summary(json.key("reading"), report.import_summary);
  json.end_object();
  return json.text() + "\n";
}

}  // namespace

support::Result<PrintedReport> report_text(const ReportRequest& request,
                                           const ReportProgress& progress) {
  GPUPROF_CHECK(check_advice(request));
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
  const std::vector<report::advice::Advice> advice = report::advice::run_rules(report);
  PrintedReport printed;
  printed.failed = failed_rules(request, advice);
  const bool tells = request.json || (request.by.empty() && !request.advice_only && !request.csv);
  if (!tells) printed.notes = report.import_summary.messages;
  if (request.advice_only) {
    printed.text = advice_as(request, report, advice, printed.failed);
    return printed;
  }
  GPUPROF_TRY(text, report::render(report, render));
  printed.text = std::move(text);
  return printed;
}

}  // namespace gpuprof::commands
