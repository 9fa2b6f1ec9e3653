// SPDX-License-Identifier: Apache-2.0
//
// All processes of a session.
//
// Context:  cli
#include "analysis/report/report.hpp"

#include <algorithm>

#include "analysis/export/export.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report {
namespace {

using support::error;

bool is_selected(const spool::SessionView& session, const spool::ProcessEntry& process) {
  return session.selected.empty() || std::find(session.selected.begin(), session.selected.end(),
                                               process.pid) != session.selected.end();
}

/// Two kinds of GPU in one table would be a lie.
support::Result<void> check_same_kind(const Report& report) {
  const auto with_gpu = [](const ProcessReport& a) { return a.has_gpu(); };
  const bool simulated =
      std::any_of(report.processes.begin(), report.processes.end(),
                  [&](const ProcessReport& a) { return with_gpu(a) && a.meta.simulated; });
  const bool real =
      std::any_of(report.processes.begin(), report.processes.end(),
                  [&](const ProcessReport& a) { return with_gpu(a) && !a.meta.simulated; });
  if (simulated && real)
    return error(
        "some of these processes ran on a simulated GPU and some on a real one: their figures do "
        "not belong into one report; name them one at a time");
  return {};
}

}  // namespace

support::Result<Report> make_report(const spool::SessionView& session,
                                    const std::vector<model::Window>& windows,
                                    const ReportOptions& options) {
  Report report;
  std::vector<std::string> ranks;
  for (const spool::ProcessEntry& process : session.processes) {
    if (!is_selected(session, process)) continue;
    GPUPROF_TRY(analysis, analyze_process(session, process, windows, options.analysis));
    if (analysis.meta.events.empty()) continue;
    if (analysis.meta.rank >= 0) ranks.push_back(std::to_string(analysis.meta.rank));
    if (options.rank && analysis.meta.rank != static_cast<std::int64_t>(*options.rank)) continue;
    report.processes.push_back(std::move(analysis));
  }
  if (report.processes.empty() && options.rank)
    return error("there is no rank " + std::to_string(*options.rank) + " in it" +
                 (ranks.empty() ? "; no process told its rank"
                                : "; there are " + support::join_with_and(ranks)));
  if (report.processes.empty()) return error("nothing was recorded: there is no event in it");
  GPUPROF_CHECK(check_same_kind(report));
  std::stable_sort(
      report.processes.begin(), report.processes.end(),
      [](const ProcessReport& a, const ProcessReport& b) { return a.meta.rank < b.meta.rank; });
  for (const ProcessReport& process : report.processes) {
    report.simulated = report.simulated || (process.meta.simulated && process.has_gpu());
    for (const std::string& message : process.meta.missing)
      exporter::merge_message(report.missing, message);
  }
  return report;
}

}  // namespace gpuprof::report
