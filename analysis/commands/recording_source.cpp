// SPDX-License-Identifier: Apache-2.0
//
// open_recording(): a spool as it is, traces through analysis/import.
//
// Context:  cli
#include "analysis/commands/recording_source.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "analysis/import/detect_input.hpp"
#include "analysis/import/import.hpp"
#include "analysis/messages/analysis_commands.hpp"
#include "support/text/text.hpp"

namespace gpuprof::commands {

RecordingSource::RecordingSource() = default;
RecordingSource::RecordingSource(RecordingSource&&) noexcept = default;
RecordingSource& RecordingSource::operator=(RecordingSource&&) noexcept = default;
RecordingSource::~RecordingSource() = default;

support::Result<RecordingSource> open_recording(const std::vector<std::string>& paths,
                                                const SourceProgress& progress) {
  if (paths.empty()) return support::error(messages::analysis_commands::kNoInput);
  RecordingSource source;
  std::vector<std::string> traces;
  importer::FolderFiles folder;
  for (const std::string& path : paths) {
    GPUPROF_TRY(found, importer::detect_input(path));
    source.named += (source.named.empty() ? "" : ", ") + path;
    if (found.session.empty()) {
      traces.insert(traces.end(), found.traces.begin(), found.traces.end());
      folder.candidates.insert(folder.candidates.end(), found.found.begin(), found.found.end());
      folder.skipped.insert(folder.skipped.end(), found.beside.begin(), found.beside.end());
    } else if (paths.size() == 1) {
      GPUPROF_TRY(view, spool::open_session(found.session));
      source.view = std::move(view);
      return source;
    } else {
      return support::error(fmt::format(messages::analysis_commands::kSessionAmongOthers, path));
    }
  }
  GPUPROF_TRY(imported, importer::import_traces(traces, progress, folder));
  GPUPROF_TRY(view, spool::open_session(imported->folder));
  source.view = std::move(view);
  source.imported = std::move(imported);
  return source;
}

support::Result<RecordingSource> open_recording(const std::string& path,
                                                const SourceProgress& progress) {
  return open_recording(std::vector<std::string>{path}, progress);
}

support::Result<void> check_is_no_input(const std::string& output,
                                        const std::vector<std::string>& inputs) {
  std::error_code none;
  for (const std::string& input : inputs)
    if (std::filesystem::equivalent(input, output, none))
      return support::error(
          fmt::format(messages::analysis_commands::kOutputIsInput, support::in_quotes(output)));
  return {};
}

}  // namespace gpuprof::commands
