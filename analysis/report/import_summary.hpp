// SPDX-License-Identifier: Apache-2.0
//
// How many events of the imported trace files were imported, duplicates, skipped or repaired.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/text/json.hpp"

namespace gpuprof::report {

using KindCounts = std::map<std::string, std::uint64_t, std::less<>>;

/// events = imported + all of duplicates + all of skipped.
struct ImportedFileSummary {
  std::string path;
  std::uint64_t events = 0, imported = 0;
  KindCounts duplicates;                      // drawn by viewers from what is shown, by category
  std::map<std::string, KindCounts> skipped;  // by reason, then category
  KindCounts repaired;                        // places in the text, by what was wrong there
};

/// Of all files; empty for a session that was not made of traces.
struct ImportSummary {
  std::vector<ImportedFileSummary> files;
  std::vector<std::pair<std::string, std::string>> not_traces;  // path, and what it is
  std::vector<std::string> messages;  // what was left out or repaired, and why; for a person
};

inline void write_counts(support::JsonWriter& json, std::string_view key, const KindCounts& all) {
  json.key(key).begin_object();
  for (const auto& [kind, count] : all) json.member(kind, count);
  json.end_object();
}

/// A member's value.
inline void write_import_summary(support::JsonWriter& json, const ImportSummary& reading) {
  json.begin_object().key("files").begin_array();
  for (const ImportedFileSummary& file : reading.files) {
    json.begin_object().member("path", std::string_view(file.path));
    json.member("events", file.events).member("shown", file.imported);
    write_counts(json, "repeats", file.duplicates);
    json.key("left_out").begin_object();
    for (const auto& [reason, kinds] : file.skipped) write_counts(json, reason, kinds);
    json.end_object();
    write_counts(json, "mended", file.repaired);
    json.end_object();
  }
  json.end_array().key("no_traces").begin_array();
  for (const auto& [path, what] : reading.not_traces)
    json.begin_object()
        .member("path", std::string_view(path))
        .member("what", std::string_view(what))
        .end_object();
  json.end_array().member("sentences", reading.messages).end_object();
}

}  // namespace gpuprof::report
