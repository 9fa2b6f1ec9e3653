// SPDX-License-Identifier: Apache-2.0
//
// Loading, comparing and printing two recordings.
//
// Context:  cli
#include "daemon/api/diff_sessions.hpp"

#include <fmt/format.h>

#include "daemon/api/settled.hpp"
#include "daemon/api/sources.hpp"
#include "daemon/import/import.hpp"
#include "daemon/report/diff/condition.hpp"
#include "daemon/report/diff/diff_text.hpp"
#include "daemon/report/diff/make_diff.hpp"
#include "daemon/report/diff_page/diff_page.hpp"
#include "daemon/report/page/page_file.hpp"

namespace gpuprof::api {
namespace {

constexpr int kTrouble = 2;

struct Loaded {
  Source source;
  std::vector<model::Window> windows;
};

support::Error trouble(const support::Error& failure) {
  return support::error(failure.sentence, kTrouble, failure.file, failure.line);
}

support::Result<Loaded> load(const std::string& path, const ReportProgress& progress) {
  Loaded loaded;
  GPUPROF_TRY(source, open_source(path, progress.reading));
  loaded.source = std::move(source);
  std::vector<std::string> missing;
  auto windows = settled_windows(&loaded.source.view, &missing);
  if (!windows)
    return support::error(fmt::format("there is nothing to compare in {}: {}", loaded.source.named,
                                      windows.error().sentence));
  loaded.windows = windows.take();
  return loaded;
}

struct Compared {
  report::diff::Diff diff;
  std::vector<std::string> holds;
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
    GPUPROF_TRY(sentences, report::diff::holds(condition, compared.diff));
    compared.holds.insert(compared.holds.end(), sentences.begin(), sentences.end());
  }
  return compared;
}

}  // namespace

support::Result<report::diff::Diff> load_diff(const DiffRequest& request,
                                              const ReportProgress& progress) {
  auto before = load(request.before, progress);
  if (!before) return trouble(before.error());
  auto after = load(request.after, progress);
  if (!after) return trouble(after.error());
  report::diff::DiffOptions options;
  options.limits = {request.min_change, request.min_share};
  options.rank = request.rank;
  options.progress = progress.counting;
  const Loaded &old_one = before.value(), &new_one = after.value();
  auto diff = report::diff::make_diff({old_one.source.view, old_one.windows, old_one.source.named},
                                      {new_one.source.view, new_one.windows, new_one.source.named},
                                      options);
  if (!diff) return trouble(diff.error());
  return diff;
}

support::Result<DiffAnswer> diff_answer(const DiffRequest& request,
                                        const ReportProgress& progress) {
  GPUPROF_TRY(compared, compare(request, progress));
  DiffAnswer answer;
  answer.holds = std::move(compared.holds);
  answer.text = request.json
                    ? report::diff::diff_json(compared.diff)
                    : report::diff::diff_text(compared.diff, request.row_limit, request.width);
  return answer;
}

support::Result<DiffPageAnswer> write_diff_page(const DiffRequest& request,
                                                const DiffPageTarget& target,
                                                const ReportProgress& progress) {
  const auto writable = report::page::check_page_path(target.page, target.force);
  if (!writable) return trouble(writable.error());
  const auto apart = check_is_no_input(target.page, {request.before, request.after});
  if (!apart) return trouble(apart.error());
  GPUPROF_TRY(compared, compare(request, progress));
  report::diff::DiffPageRequest page;
  page.path = target.page;
  page.force = target.force;
  page.version = target.version;
  page.holds = compared.holds;
  const auto bytes = report::diff::write_diff_page(compared.diff, page);
  if (!bytes) return trouble(bytes.error());
  return DiffPageAnswer{bytes.value(), std::move(compared.holds)};
}

}  // namespace gpuprof::api
