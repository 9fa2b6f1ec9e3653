// SPDX-License-Identifier: Apache-2.0
//
// What became of the events of the trace files that something was made of.
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

/// events = shown + all of repeats + all of left_out.
struct ReadFile {
  std::string path;
  std::uint64_t events = 0, shown = 0;
  KindCounts repeats;                          // drawn by viewers from what is shown, by category
  std::map<std::string, KindCounts> left_out;  // by reason, then category
  KindCounts mended;                           // places in the text, by what was wrong there
};

/// Of all files; empty for a session that was not made of traces.
struct Reading {
  std::vector<ReadFile> files;
  std::vector<std::pair<std::string, std::string>> no_traces;  // path, and what it is
  std::vector<std::string> sentences;  // what was left out or mended, and why; for a person
};

inline void write_counts(support::JsonWriter& json, std::string_view key, const KindCounts& all) {
  json.key(key).begin_object();
  for (const auto& [kind, count] : all) json.member(kind, count);
  json.end_object();
}

/// A member's value.
inline void write_reading(support::JsonWriter& json, const Reading& reading) {
  json.begin_object().key("files").begin_array();
  for (const ReadFile& file : reading.files) {
    json.begin_object().member("path", std::string_view(file.path));
    json.member("events", file.events).member("shown", file.shown);
    write_counts(json, "repeats", file.repeats);
    json.key("left_out").begin_object();
    for (const auto& [reason, kinds] : file.left_out) write_counts(json, reason, kinds);
    json.end_object();
    write_counts(json, "mended", file.mended);
    json.end_object();
  }
  json.end_array().key("no_traces").begin_array();
  for (const auto& [path, what] : reading.no_traces)
    json.begin_object()
        .member("path", std::string_view(path))
        .member("what", std::string_view(what))
        .end_object();
  json.end_array().member("sentences", reading.sentences).end_object();
}

}  // namespace gpuprof::report
