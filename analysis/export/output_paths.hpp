// SPDX-License-Identifier: Apache-2.0
//
// Names of output files: patterns, workers, stamps, and the change from "being written" to "there".
//
// Context:  daemon (export thread) | cli
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/export/registry.hpp"

namespace gpuprof::exporter {

/// What a file name is made of.
struct OutputNameFields {
  std::string host, rank;
  std::uint32_t pid = 0;
  const model::Window& window;
  bool many_processes = false;
  std::uint32_t exec_index = 0;  // which of the programs that execs gave this process, from 0
};

/// `HOST_PID`: what the viewer lists.
std::string worker_name(const std::string& host, std::uint32_t pid);
/// Nanoseconds since the epoch, always 19 digits: the viewer sorts them as text.
std::string timestamp_text(std::uint64_t real_ns);
/// Whole path of a file of `format`, by the session's output option.
support::Result<std::string> file_path(const recording::SessionOptions& options,
                                       const Format& format, const OutputNameFields& parts);
bool pattern_uses_rank(const recording::SessionOptions& options);
/// True for a name the user wants uncompressed.
bool is_uncompressed(const std::string& path);

/// Files that are being written; what was not published is removed with it.
class StagedFiles {
 public:
  explicit StagedFiles(bool force) : force_(force) {}
  StagedFiles(const StagedFiles&) = delete;
  StagedFiles& operator=(const StagedFiles&) = delete;
  ~StagedFiles();

  /// Makes the folder; returns the name to write to. Fails if the file exists, unless forced.
  support::Result<std::string> add(const std::string& path);
  /// Gives every file its name.
  support::Result<void> publish();

 private:
  struct Entry {
    std::string temporary, path;
  };
  bool force_;
  std::vector<Entry> entries_;
  std::vector<std::string>
      created_directories_;  // made here; go again if nothing comes to lie in them
  std::size_t published_ = 0;
};

}  // namespace gpuprof::exporter
