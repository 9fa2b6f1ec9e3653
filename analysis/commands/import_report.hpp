// SPDX-License-Identifier: Apache-2.0
//
// Import statistics of trace files, as reports contain them.
//
// Context:  cli
#pragma once

#include "analysis/commands/recording_source.hpp"
#include "analysis/import/import.hpp"
#include "analysis/report/import_summary.hpp"

namespace gpuprof::commands {

/// Empty for a session of our own.
inline report::ImportSummary import_report_of(const RecordingSource& source) {
  report::ImportSummary reading;
  if (source.imported == nullptr) return reading;
  for (const importer::ImportedFile& file : source.imported->files) {
    report::ImportedFileSummary& to = reading.files.emplace_back();
    to.path = file.path;
    to.events = file.account.events();
    to.imported = file.account.count_imported();
    to.duplicates = file.account.count_duplicates();
    for (const importer::SkipReason reason : importer::kSkipReasons)
      if (const auto& kinds = file.account.count_skipped(reason); !kinds.empty())
        to.skipped[std::string(importer::key_of(reason))] = kinds;
    for (const importer::RepairKind mending : importer::kRepairKinds)
      if (const std::uint64_t count = file.account.count_repairs(mending); count != 0)
        to.repaired[std::string(importer::key_of(mending))] = count;
  }
  reading.not_traces = source.imported->not_traces;
  reading.messages = source.imported->import_messages;
  return reading;
}

/// A failure over what was read: what was left out may be why.
inline support::Error with_import_notes(const support::Error& failure,
                                        const RecordingSource& source) {
  std::string message = failure.message;
  if (source.imported != nullptr)
    for (const std::string& reported : source.imported->import_messages) message += "; " + reported;
  return support::error(message, failure.exit_status, failure.file, failure.line);
}

}  // namespace gpuprof::commands
