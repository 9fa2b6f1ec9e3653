// SPDX-License-Identifier: Apache-2.0
//
// The output formats: one row each.
//
// Context:  daemon (export thread) | cli
// Promises: --format, its help and its validation come from here
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "daemon/export/export.hpp"

namespace gpuprof::exporter {

/// One file to write.
struct FileRequest {
  const spool::SessionView& session;
  const model::Window& window;
  const spool::ProcessEntry& process;
  std::string path;         // to create; must not exist
  std::string worker;       // what the viewer calls the process
  bool plain = false;       // not compressed
  std::uint32_t place = 0;  // of the process among those of the window
  /// Events written so far in this file.
  std::function<void(std::uint64_t)> progress;
};

struct Format {
  std::string_view name;
  std::string_view suffix;  // of file names
  /// Folder of its own in the output folder, and in it one for each span: its reader takes every
  /// file of a folder for a rank of one run. Empty: files lie in the output folder.
  std::string_view folder;
  support::Result<FileWritten> (*write)(const FileRequest& request);
};

std::span<const Format> formats();
const Format* find_format(std::string_view name);

}  // namespace gpuprof::exporter
