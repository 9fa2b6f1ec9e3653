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
struct NameParts {
  std::string host, rank;
  std::uint32_t pid = 0;
  const model::Window& window;
  bool many_processes = false;
  std::uint32_t image = 0;  // which of the programs that execs gave this process, from 0
};

/// `HOST_PID`: what the viewer lists.
std::string worker_name(const std::string& host, std::uint32_t pid);
/// Nanoseconds since the epoch, always 19 digits: the viewer sorts them as text.
std::string stamp_text(std::uint64_t real_ns);
/// Whole path of a file of `format`, by the session's output option.
support::Result<std::string> file_path(const api::SessionOptions& options, const Format& format,
                                       const NameParts& parts);
bool wants_rank(const api::SessionOptions& options);
/// True for a name the user wants uncompressed.
bool is_plain(const std::string& path);

/// Files that are being written; what was not published is removed with it.
class Staging {
 public:
  explicit Staging(bool force) : force_(force) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

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
  std::vector<std::string> folders_;  // made here; go again if nothing comes to lie in them
  std::size_t published_ = 0;
};

}  // namespace gpuprof::exporter
