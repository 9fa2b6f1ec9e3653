// SPDX-License-Identifier: Apache-2.0
//
// Loading, comparing and printing recordings in pairs.
//
// Context:  cli
#include "analysis/commands/diff_sessions.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "analysis/commands/import_report.hpp"
#include "analysis/commands/recording_source.hpp"
#include "analysis/commands/resolve_session.hpp"
#include "analysis/import/import.hpp"
#include "analysis/messages/analysis_commands.hpp"
#include "analysis/report/diff/condition.hpp"
#include "analysis/report/diff/make_diff.hpp"
#include "analysis/report/diff/output/diff_text.hpp"
#include "analysis/report/diff/significance/repeated_pairs.hpp"
#include "analysis/report/diff_page/diff_page.hpp"
#include "analysis/report/page/page_file.hpp"
#include "support/text/text.hpp"

namespace gpuprof::commands {
namespace {

constexpr int kErrorExitStatus = 2;

struct Loaded {
  RecordingSource source;
  std::vector<model::Window> windows;
};

support::Error trouble(const support::Error& failure) {
  return support::error(failure.message, kErrorExitStatus, failure.file, failure.line);
}

support::Result<Loaded> load(const std::string& path, const ReportProgress& progress) {
  Loaded loaded;
  GPUPROF_TRY(source, open_recording(path, progress.reading));
  loaded.source = std::move(source);
  std::vector<std::string> missing;
  auto windows = resolved_windows(&loaded.source.view, &missing);
  if (!windows)
    return support::error(fmt::format(messages::analysis_commands::kCannotCompare,
                                      loaded.source.named, windows.error().message));
  loaded.windows = windows.take();
  return loaded;
}

/// A process that is in two pairs would be seen twice and prove nothing.
support::Result<void> check_pairs(const std::vector<std::string>& recordings) {
  if (recordings.empty() || recordings.size() % 2 != 0)
    return support::error(
        fmt::format(messages::analysis_commands::kNotPairs,
                    support::count_with_unit(recordings.size(), "recording", "recordings")),
        kErrorExitStatus);
  std::set<std::string> known;
  for (const std::string& path : recordings) {
    std::error_code none;
    const std::string real = std::filesystem::weakly_canonical(path, none).string();
    if (!known.insert(real).second && recordings.size() > 2)
      return support::error(
          fmt::format(messages::analysis_commands::kNamedTwice, support::in_quotes(path)),
          kErrorExitStatus);
  }
  return {};
}

/// @param at Of the recording before.
support::Result<report::diff::Diff> load_pair(const DiffRequest& request, std::size_t at,
                                              const ReportProgress& progress) {
  GPUPROF_TRY(before, load(request.recordings[at], progress));
  GPUPROF_TRY(after, load(request.recordings[at + 1], progress));
  report::diff::DiffOptions options;
  options.limits = {request.min_change, request.min_share};
  options.rank = request.rank;
  options.progress = progress.counting;
  const auto input = [](const Loaded& one) {
    return report::diff::DiffInput{one.source.view, one.windows, one.source.named,
                                   import_report_of(one.source)};
  };
  auto diff = report::diff::make_diff(input(before), input(after), options);
  if (!diff) return with_import_notes(with_import_notes(diff.error(), before.source), after.source);
  return diff;
}

struct Compared {
  report::diff::Diff diff;
  std::vector<std::string> met_conditions;
};

/// Conditions are read before anything else.
support::Result<Compared> compare(const DiffRequest& request, const ReportProgress& progress) {
  std::vector<report::diff::Condition> conditions;
  for (const std::string& text : request.conditions) {
    GPUPROF_TRY(condition, report::diff::parse_condition(text));
    conditions.push_back(std::move(condition));
  }
  GPUPROF_TRY(diff, load_diff(request, progress));
  Compared compared{std::move(diff), {}};
  for (const report::diff::Condition& condition : conditions) {
    GPUPROF_TRY(messages, report::diff::evaluate_condition(condition, compared.diff));
    compared.met_conditions.insert(compared.met_conditions.end(), messages.begin(), messages.end());
  }
  return compared;
}

}  // namespace

support::Result<report::diff::Diff> load_diff(const DiffRequest& request,
                                              const ReportProgress& progress) {
  GPUPROF_CHECK(check_pairs(request.recordings));
  std::vector<report::diff::Diff> pairs;
  for (std::size_t i = 0; i < request.recordings.size(); i += 2) {
    auto pair = load_pair(request, i, progress);
    if (!pair) return trouble(pair.error());
    pairs.push_back(pair.take());
  }
  return report::diff::combine_pairs(std::move(pairs));
}

support::Result<DiffResult> diff_recordings(const DiffRequest& request,
                                            const ReportProgress& progress) {
  GPUPROF_TRY(compared, compare(request, progress));
  DiffResult answer;
  answer.met_conditions = std::move(compared.met_conditions);
  answer.text = request.json
                    ? report::diff::diff_json(compared.diff)
                    : report::diff::diff_text(compared.diff, request.row_limit, request.width);
  return answer;
}

support::Result<DiffPageResult> write_diff_page(const DiffRequest& request,
                                                const DiffPageTarget& target,
                                                const ReportProgress& progress) {
  const auto writable = report::page::check_page_path(target.page, target.force);
  if (!writable) return trouble(writable.error());
  const auto apart = check_is_no_input(target.page, request.recordings);
  if (!apart) return trouble(apart.error());
  GPUPROF_TRY(compared, compare(request, progress));
  report::diff::DiffPageRequest page;
  page.path = target.page;
  page.force = target.force;
  page.version = target.version;
  page.held_conditions = compared.met_conditions;
  const auto bytes = report::diff::write_diff_page(compared.diff, page);
  if (!bytes) return trouble(bytes.error());
  return DiffPageResult{bytes.value(), std::move(compared.met_conditions)};
}

}  // namespace gpuprof::commands
