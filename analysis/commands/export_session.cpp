// SPDX-License-Identifier: Apache-2.0
//
// Trace files from a session's spool folder, also one whose daemon died.
//
// Context:  cli
#include "analysis/commands/export_session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/commands/formats.hpp"
#include "analysis/commands/resolve_session.hpp"
#include "analysis/export/export.hpp"
#include "analysis/import/import.hpp"
#include "analysis/messages/analysis_commands.hpp"
#include "recording/spool/spool.hpp"
#include "support/io/files.hpp"
#include "support/process/out_of_memory.hpp"

namespace gpuprof::commands {
namespace {

void add_counts(recording::Counts& sum, const recording::Counts& more) {
  for (const auto& [name, count] : more) {
    const auto at = std::find_if(sum.begin(), sum.end(),
                                 [&n = name](const auto& pair) { return pair.first == n; });
    if (at == sum.end()) {
      sum.emplace_back(name, count);
    } else {
      at->second += count;
    }
  }
}

void add_files(recording::Summary& summary, const std::vector<exporter::WrittenFile>& files) {
  for (const exporter::WrittenFile& file : files) {
    summary.files.push_back(
        {file.path, file.format, file.pid, file.window, file.bytes, file.events, file.steps});
    summary.simulated = summary.simulated || file.simulated;
    // Another format tells of the same events.
    if (file.format != summary.files.front().format) continue;
    add_counts(summary.events_by_kind, file.events_by_kind);
    add_counts(summary.drops_by_reason, file.drops_by_reason);
    for (const std::string& message : file.missing)
      exporter::merge_message(summary.missing, message);
  }
}

/// What was written before stays, and is reported.
void stop_at(const model::Window& window, std::size_t windows, const support::Error& failure,
             recording::Summary& summary) {
  summary.complete = false;
  summary.failures.push_back(fmt::format(messages::analysis_commands::kWindowsNotWritten,
                                         failure.message, window.index + 1, windows));
}

void apply(const ExportRequest& request, spool::SessionView* view) {
  if (!request.output.empty()) {
    view->options.output = request.output;
    view->options.output_is_pattern = request.output_is_pattern;
  }
  if (request.force) view->options.force = true;
  if (!request.formats.empty()) view->options.formats = request.formats;
}

}  // namespace

std::vector<std::string> format_names() { return exporter::format_names(); }
std::vector<std::pair<std::string, std::string>> format_purposes() {
  return exporter::format_descriptions();
}
std::vector<std::string> format_suffixes() { return exporter::format_suffixes(); }
std::string format_of_ending(const std::string& name) {
  return std::string(exporter::format_for_suffix(name));
}

namespace {

support::Result<recording::Summary> export_all(const ExportRequest& request,
                                               const ExportProgress& progress,
                                               const SourceProgress& reading) {
  std::vector<std::string> inputs = request.also;
  inputs.insert(inputs.begin(), request.spool);
  GPUPROF_TRY(source, open_recording(inputs, reading));
  spool::SessionView& view = source.view;
  apply(request, &view);
  if (view.options.output.empty())
    return support::error(fmt::format(messages::analysis_commands::kNoOutputFolder, request.spool));
  recording::Summary summary;
  summary.version = view.options.version;
  summary.host = view.host;
  summary.name = view.options.name;
  summary.output = view.options.output;
  if (source.imported != nullptr) summary.remarks = source.imported->import_messages;
  auto windows_or = resolve_session(&view, &summary);
  if (!windows_or)
    return support::error(fmt::format(messages::analysis_commands::kCannotExport, request.spool,
                                      windows_or.error().message));
  const std::vector<model::Window> windows = windows_or.take();
  std::uint64_t total = 0, before = 0;  // windows by their events
  for (const model::Window& window : windows)
    total += exporter::count_window_events(view, window, view.selected);
  for (const model::Window& window : windows) {
    const std::uint64_t events = exporter::count_window_events(view, window, view.selected);
    const auto of_all = [&](std::uint64_t done, std::uint64_t whole) {
      const double share = static_cast<double>(done) / static_cast<double>(std::max(whole, done));
      if (progress && done != 0)
        progress(before + static_cast<std::uint64_t>(share * static_cast<double>(events)), total);
    };
    const auto files = exporter::write_window(view, window, view.selected, of_all);
    if (!files) {
      if (summary.files.empty()) return files.error();
      stop_at(window, windows.size(), files.error(), summary);
      break;
    }
    summary.windows.push_back({window.index, window.start_ns, window.end_ns, window.first_label,
                               window.steps, window.why});
    add_files(summary, files.value());
    before += events;
  }
  summary.open_with = exporter::viewer_instructions(
      summary.files, view.options.output_is_pattern ? "" : view.options.output);
  if (!view.ended) summary.remarks.push_back(messages::analysis_commands::kEndedEarly);
  return summary;
}

}  // namespace

support::Result<recording::Summary> export_session(const ExportRequest& request,
                                                   const ExportProgress& progress,
                                                   const SourceProgress& reading) {
  return support::catch_out_of_memory(messages::analysis_commands::kReadAndWriteTrace,
                                      [&] { return export_all(request, progress, reading); });
}

std::string spool_of(const std::string& folder, std::uint32_t daemon_pid, std::uint64_t session) {
  const std::string path = fmt::format("{}/.gpuprof-spool-{}-{:x}", folder, daemon_pid, session);
  return support::is_folder(path) ? path : "";
}

}  // namespace gpuprof::commands
