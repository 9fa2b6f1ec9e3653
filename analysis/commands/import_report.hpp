// SPDX-License-Identifier: Apache-2.0
//
// What became of the events of trace files, as reports tell it.
//
// Context:  cli
#pragma once

#include "analysis/commands/recording_source.hpp"
#include "analysis/import/import.hpp"
#include "analysis/report/import_summary.hpp"

namespace gpuprof::api {

/// Empty for a session of our own.
inline report::Reading reading_of(const Source& source) {
  report::Reading reading;
  if (source.imported == nullptr) return reading;
  for (const importer::ImportedFile& file : source.imported->files) {
    report::ReadFile& to = reading.files.emplace_back();
    to.path = file.path;
    to.events = file.account.events();
    to.shown = file.account.shown();
    to.repeats = file.account.repeats();
    for (const importer::Reason reason : importer::kReasons)
      if (const auto& kinds = file.account.left_out(reason); !kinds.empty())
        to.left_out[std::string(importer::key_of(reason))] = kinds;
    for (const importer::Mending mending : importer::kMendings)
      if (const std::uint64_t count = file.account.mended(mending); count != 0)
        to.mended[std::string(importer::key_of(mending))] = count;
  }
  reading.no_traces = source.imported->no_traces;
  reading.sentences = source.imported->reading;
  return reading;
}

/// A failure over what was read: what was left out may be why.
inline support::Error with_reading(const support::Error& failure, const Source& source) {
  std::string sentence = failure.sentence;
  if (source.imported != nullptr)
    for (const std::string& told : source.imported->reading) sentence += "; " + told;
  return support::error(sentence, failure.exit_status, failure.file, failure.line);
}

}  // namespace gpuprof::api
