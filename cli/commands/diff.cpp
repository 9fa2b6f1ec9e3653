// SPDX-License-Identifier: Apache-2.0
//
// gpuprof diff BEFORE AFTER [BEFORE2 AFTER2...]: what changed between recordings.
//
// Context:  cli
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "analysis/commands/diff_sessions.hpp"
#include "cli/messages/command_report.hpp"
#include "cli/options/command_table.hpp"
#include "cli/options/version.hpp"
#include "cli/output/read_progress.hpp"
#include "cli/output/stdout_width.hpp"
#include "cli/output/stdout_writer.hpp"
#include "support/io/files.hpp"
#include "support/io/progress_line.hpp"
#include "support/io/signal_cleanup.hpp"
#include "support/process/write_error_signals.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using support::error;

constexpr int kHolds = 1, kTrouble = 2;

commands::DiffRequest request_of(const Options& options) {
  commands::DiffRequest request;
  for (const std::string& word : options.arguments)
    request.recordings.push_back(support::absolute_path(word, support::current_folder()));
  request.conditions = options.fail_if;
  if (options.min_change) request.min_change = *options.min_change;
  if (options.min_share) request.min_share = *options.min_share;
  if (options.row_limit) request.row_limit = *options.row_limit;
  request.rank = options.rank;
  request.json = options.json;
  request.width = stdout_columns();
  return request;
}

int status_of(const std::vector<std::string>& holds) {
  for (const std::string& message : holds) std::fprintf(stderr, "gpuprof: %s\n", message.c_str());
  return holds.empty() ? 0 : kHolds;
}

support::Result<int> write_page(const Options& options, const commands::DiffRequest& request) {
  if (options.json) return error(messages::command_report::kPageIsNoJson, kTrouble);
  if (options.row_limit) return error(messages::command_report::kPageHasAllRows, kTrouble);
  const commands::DiffPageTarget target{
      support::absolute_path(options.html, support::current_folder()), options.session.force,
      kVersion};
  support::ProgressLine line(options.quiet ? -1 : STDERR_FILENO);
  const auto answer = commands::write_diff_page(request, target, make_read_progress(line, ""));
  line.clear();
  if (!answer) return answer.error();
  if (!options.quiet)
    fmt::print(stderr, "gpuprof: {}\n",
               fmt::format(messages::command_report::kWrotePage, target.page,
                           support::human_bytes(answer.value().bytes)));
  return status_of(answer.value().met_conditions);
}

}  // namespace

support::Result<int> diff_command(Options& options) {
  support::ignore_write_error_signals();
  support::install_signal_cleanup();
  const commands::DiffRequest request = request_of(options);
  if (!options.html.empty()) return write_page(options, request);
  support::ProgressLine line(options.quiet ? -1 : STDERR_FILENO);
  const commands::ReportProgress progress = make_read_progress(line, "");
  auto answer = commands::diff_recordings(request, progress);
  line.clear();
  if (!answer) return answer.error();
  const std::string& text = answer.value().text;
  GPUPROF_CHECK(write_stdout(request.json ? text : support::sanitize_for_terminal(text),
                             "the comparison", kTrouble));
  return status_of(answer.value().met_conditions);
}

}  // namespace gpuprof::cli
