// SPDX-License-Identifier: Apache-2.0
//
// All processes of a session.
//
// Context:  cli
#include "analysis/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/export/export.hpp"
#include "analysis/messages/report.hpp"
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
  if (simulated && real) return error(messages::report::kMixedGpus);
  return {};
}

/// @param ranks That there are.
support::Error no_rank(std::uint32_t wanted, const std::vector<std::string>& ranks) {
  if (ranks.empty()) return error(fmt::format(messages::report::kRanksUnknown, wanted));
  return error(fmt::format(messages::report::kNoRank, wanted, support::join_with_and(ranks)));
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
  if (report.processes.empty() && options.rank) return no_rank(*options.rank, ranks);
  if (report.processes.empty()) return error(messages::report::kNoEvents);
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
