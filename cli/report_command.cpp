// SPDX-License-Identifier: Apache-2.0
//
// gpuprof report INPUT...: what a recording comes to, in the terminal.
//
// Context:  cli
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "cli/commands.hpp"
#include "daemon/api/report_session.hpp"
#include "support/files.hpp"
#include "support/tty.hpp"
#include "support/write_signals.hpp"

namespace gpuprof::cli {
namespace {

using support::error;

constexpr std::size_t kUsualWidth = 120, kLeastWidth = 60;

/// Columns of the terminal; where stdout is none, lines are whole.
std::size_t width_of_stdout() {
  if (isatty(STDOUT_FILENO) == 0) return 0;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualWidth;
  return std::max<std::size_t>(size.ws_col, kLeastWidth);
}

support::Result<api::ReportRequest> request_of(const Options& options) {
  if (options.words.empty())
    return error(
        "report needs a session's folder or a trace file: gpuprof report [OPTION...] INPUT");
  api::ReportRequest request;
  for (const std::string& word : options.words)
    request.inputs.push_back(support::absolute_path(word, support::current_folder()));
  request.by = options.by;
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
  request.width = width_of_stdout();
  return request;
}

}  // namespace

support::Result<int> report_command(Options& options) {
  support::ignore_write_signals();
  GPUPROF_TRY(request, request_of(options));
  support::ProgressLine line(options.quiet ? -1 : STDERR_FILENO);
  api::ReportProgress progress;
  progress.reading = [&](std::uint64_t done, std::uint64_t total) {
    line.show(fmt::format("reading {} of {} MB", done / 1'000'000, total / 1'000'000));
  };
  progress.counting = [&](std::uint64_t done) { line.show("counting", done, 0); };
  auto text = api::report_text(request, progress);
  line.clear();
  if (!text) return text.error();
  const std::string& out = text.value();
  const bool written = std::fwrite(out.data(), 1, out.size(), stdout) == out.size();
  if (!written || std::fflush(stdout) != 0)
    return error("the report cannot be written to stdout: is the disk full, or the reader gone?");
  return 0;
}

}  // namespace gpuprof::cli
