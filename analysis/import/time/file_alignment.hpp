// SPDX-License-Identifier: Apache-2.0
//
// The files of one session on one line of time: whose windows they are, and of which processes.
//
// Context:  cli through analysis/commands
// Owns:     nothing
// Promises: files of one machine keep their distances; no time becomes negative
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/import/classify/classify.hpp"
#include "recording/model/window.hpp"

namespace gpuprof::importer {

/// A file that was read.
struct ParsedFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::unique_ptr<FileContent> content;
  std::size_t window = 0;
  std::int64_t base_ns = 0;             // real time of its own zero; 0 where it does not tell
  std::int64_t from_ns = 0, to_ns = 0;  // real times: its window, else its events
};

/// Two times of one thing, or of several things at once?
bool overlap(std::int64_t from_a, std::int64_t to_a, std::int64_t from_b, std::int64_t to_b);

struct SessionTimeline {
  std::int64_t real_minus_session_ns = 0;
  std::vector<model::Window> windows;
};

/// Sorts the files by time and gives each its window.
SessionTimeline align_files(std::vector<ParsedFile>& files);

}  // namespace gpuprof::importer
