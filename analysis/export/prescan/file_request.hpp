// SPDX-License-Identifier: Apache-2.0
//
// One file of one process in one window: what is asked of a writer, and what it says it wrote.
//
// Context:  daemon (export thread) | cli
// Not here: which writer (registry.hpp), where files lie (output_paths.hpp)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "recording/model/window.hpp"
#include "recording/spool/spool.hpp"

namespace gpuprof::exporter {

/// One file to write.
struct FileRequest {
  const spool::SessionView& session;
  const model::Window& window;
  const spool::ProcessEntry& process;
  std::string path;                 // to create; must not exist
  std::string worker;               // what the viewer calls the process
  bool uncompressed = false;        // not compressed
  std::uint32_t process_index = 0;  // of the process among those of the window
  /// Told how many events were read since it was last told; formats read them several times.
  std::function<void(std::uint64_t)> progress;
  std::string name = {};  // of the file once it is whole, without its folder
};

struct WrittenFile {
  std::string path;
  std::string format;
  std::uint32_t pid = 0;
  std::uint32_t window = 0;
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
  std::uint64_t steps = 0;
  bool simulated = false;  ///< the process used a simulated GPU
  /// Events by kind and drops by reason, names as the summary prints them.
  std::vector<std::pair<std::string, std::uint64_t>> events_by_kind;
  std::vector<std::pair<std::string, std::uint64_t>> drops_by_reason;
  /// Sentences: what is missing from this file and why.
  std::vector<std::string> missing;
};

}  // namespace gpuprof::exporter
