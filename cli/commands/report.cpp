// SPDX-License-Identifier: Apache-2.0
//
// gpuprof report INPUT...: what a recording comes to, in the terminal.
//
// Context:  cli
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "analysis/commands/report_page.hpp"
#include "analysis/commands/report_session.hpp"
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

constexpr int kFailedOn = 1;  // exit status

support::Result<commands::ReportRequest> report_request(const Options& options) {
  if (options.arguments.empty()) return error(messages::command_report::kReportNeedsInput);
  commands::ReportRequest request;
  for (const std::string& word : options.arguments)
    request.inputs.push_back(support::absolute_path(word, support::current_folder()));
  request.by = options.by;
  request.advice_only = options.advice_only;
  request.fail_on = options.fail_on;
  // These speak of a table: without another that of the operators, as in PyTorch.
  const bool table = options.csv || !options.sort_by.empty() || !options.columns.empty() ||
                     options.by_input_shape || options.by_stack != 0 || options.row_limit;
  if (request.by.empty() && table) request.by = "operator";
  request.sort_by = options.sort_by;
  request.by_input_shape = options.by_input_shape;
  request.by_stack = options.by_stack;
  request.columns = options.columns;
  request.row_limit = options.row_limit;
  request.rank = options.rank;
  request.steps = options.report_steps;
  request.json = options.json;
  request.csv = options.csv;
  request.width = stdout_columns();
  return request;
}

/// What only speaks of text, and was given.
support::Result<void> check_page_alone(const Options& options,
                                       const commands::ReportRequest& request) {
  if (options.json || options.csv) return error(messages::command_report::kPageIsNoData);
  if (!request.by.empty()) return error(messages::command_report::kPageHasAllTables);
  if (options.advice_only || !options.fail_on.empty())
    return error(messages::command_report::kPageWithAdvice);
  return {};
}

/// What the answer itself does not say.
void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& message : notes)
    fmt::print(stderr, "gpuprof: note: {}\n", support::escape_control_characters(message));
}

support::Result<int> write_page(const Options& options, const commands::ReportRequest& request) {
  GPUPROF_CHECK(check_page_alone(options, request));
  commands::ReportPageRequest page;
  page.inputs = request.inputs;
  page.rank = request.rank;
  page.steps = request.steps;
  page.page = support::absolute_path(options.html, support::current_folder());
  page.force = options.session.force;
  page.version = kVersion;
  support::ProgressLine line(options.quiet ? -1 : STDERR_FILENO);
  auto bytes = commands::write_report_page(
      page, make_read_progress(line, messages::command_report::kEachSeveralTimes));
  line.clear();
  if (!bytes) return bytes.error();
  if (!options.quiet)
    fmt::print(stderr, "gpuprof: {}\n",
               fmt::format(messages::command_report::kWrotePage,
                           support::escape_control_characters(page.page),
                           support::human_bytes(bytes.value())));
  return 0;
}

}  // namespace

support::Result<int> report_command(Options& options) {
  support::ignore_write_error_signals();
  support::install_signal_cleanup();
  GPUPROF_TRY(request, report_request(options));
  if (!options.html.empty()) return write_page(options, request);
  support::ProgressLine line(options.quiet ? -1 : STDERR_FILENO);
  const commands::ReportProgress progress =
      make_read_progress(line, messages::command_report::kEachSeveralTimes);
  auto text = commands::report_text(request, progress);
  line.clear();
  if (!text) return text.error();
  const bool data = request.json || request.csv;
  GPUPROF_CHECK(write_stdout(
      data ? text.value().text : support::sanitize_for_terminal(text.value().text), "the report"));
  if (!options.quiet) print_notes(text.value().notes);
  if (text.value().failed.empty()) return 0;
  fmt::print(stderr, "gpuprof: {}\n",
             fmt::format(messages::command_report::kAdviceOfRules,
                         support::join_with_and(text.value().failed)));
  return kFailedOn;
}

}  // namespace gpuprof::cli
