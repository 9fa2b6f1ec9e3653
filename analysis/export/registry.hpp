// SPDX-License-Identifier: Apache-2.0
//
// The output formats: one row each.
//
// Context:  daemon (export thread) | cli
// Promises: --format, its help and its validation come from here
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "analysis/export/export.hpp"

namespace gpuprof::exporter {

/// Where the files of a format lie in the output folder; a pattern says it itself.
enum class Layout : std::uint8_t {
  kFlat,           // HOST_PID.STAMP and the suffix
  kProfilePlugin,  // plugins/profile/START/HOST_PID and the suffix: a folder for each span
  kScalars,        // scalars/HOST_PID/events.out.tfevents.SECONDS.HOST.PID.SPAN: a folder a process
};

struct Format {
  std::string_view name;
  std::string_view suffix;  // of file names
  /// Folder of its own in the output folder, and in it one for each span: its reader takes every
  /// file of a folder for a rank of one run. Empty: files lie in the output folder.
  std::string_view folder;
  support::Result<WrittenFile> (*write)(const FileRequest& request);
  /// Times it goes over the events, the prescan and what it does after the last reading among them.
  std::uint32_t event_passes;
  std::string_view description;  // for --help: "for PURPOSE"
  /// How a file is opened. OUTPUT is the folder of all files, FOLDER that of the file, FILE itself.
  std::string_view viewer;
  Layout layout = Layout::kFlat;
};

std::span<const Format> formats();
const Format* find_format(std::string_view name);

/// What `name` ends in that a format's files end in, compressed or not; the longest; empty: none.
std::string_view match_format_suffix(std::string_view name);
/// The suffix without its compression.
std::string_view uncompressed_suffix(std::string_view suffix);

}  // namespace gpuprof::exporter
