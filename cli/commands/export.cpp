// SPDX-License-Identifier: Apache-2.0
//
// gpuprof export SPOOL|TRACE...: trace files from what a session left behind, or other traces.
//
// Context:  cli
#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "analysis/commands/export_session.hpp"
#include "cli/messages/command_report.hpp"
#include "cli/options/command_table.hpp"
#include "cli/output/output_location.hpp"
#include "cli/output/stdout_writer.hpp"
#include "cli/output/summary_text.hpp"
#include "support/io/files.hpp"
#include "support/io/progress_line.hpp"
#include "support/io/signal_cleanup.hpp"
#include "support/process/write_error_signals.hpp"

namespace gpuprof::cli {
namespace {

using support::error;

constexpr int kFailed = 125;  // of several windows some

/// Into `made` go the folders that it made for the output.
support::Result<commands::ExportRequest> request_of(const Options& options,
                                                    std::vector<std::string>* made) {
  if (options.arguments.empty()) return error(messages::command_report::kExportNeedsInput);
  commands::ExportRequest request;
  for (const std::string& word : options.arguments)
    request.also.push_back(support::absolute_path(word, support::current_folder()));
  request.spool = request.also.front();
  request.also.erase(request.also.begin());
  request.force = options.session.force;
  if (options.formats_given) request.formats = options.session.formats;
  if (options.output.empty()) return request;
  GPUPROF_TRY(place, resolve_output(options.output, current_run_context()));
  GPUPROF_CHECK(create_output(&place, request.force));
  *made = place.created_folders;
  support::cleanup_if_empty(place.created_folders);
  request.output = place.output;
  request.output_is_pattern = place.is_pattern;
  return request;
}

}  // namespace

support::Result<int> export_command(Options& options) {
  support::ignore_write_error_signals();
  support::install_signal_cleanup();
  std::vector<std::string> made;
  GPUPROF_TRY(request, request_of(options, &made));
  support::ProgressLine line(options.quiet ? -1 : STDERR_FILENO);
  auto summary = commands::export_session(
      request,
      [&](std::uint64_t done, std::uint64_t total) { line.update("writing", done, total); },
      [&](std::uint64_t done, std::uint64_t total) { line.update("reading", done, total); });
  line.clear();
  if (!summary) {
    support::remove_if_empty(made);
    return summary.error();
  }
  std::string paths;
  for (const recording::SummaryFile& file : summary.value().files) paths += file.path + "\n";
  GPUPROF_CHECK(write_stdout(paths, "the paths"));
  const std::string text =
      options.quiet ? failures_text(summary.value()) : summary_text(summary.value());
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
  return summary.value().complete ? 0 : kFailed;
}

}  // namespace gpuprof::cli
