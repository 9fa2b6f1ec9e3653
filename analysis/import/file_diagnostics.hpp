// SPDX-License-Identifier: Apache-2.0
//
// Sentences on how a file was read, for a person.
//
// Context:  cli through analysis/commands
// Owns:     nothing
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "analysis/import/classify/classify.hpp"

namespace gpuprof::importer {

struct ParsedFile;

/// What of it is left out, was repaired, or taken by its shape; empty: nothing.
std::vector<std::string> file_diagnostics(const std::string& path, const FileContent& content);

/// Why there is nothing to report, where the files hold events and none of them is one of a table.
///
/// @param path   of the first file
/// @param files  how many there are
/// @param reported  file_diagnostics() of all
std::string nothing_imported_message(const std::string& path, std::size_t files,
                                     const std::vector<std::string>& reported);

/// GPU events of a file with several processes whose process is a guess.
std::string assigned_events_message(const std::string& path, std::uint64_t count);

/// Sets of operator inputs beyond those that are kept.
std::string dropped_inputs_message(std::uint64_t count);

/// Where the files are gpuprof's own of several recordings, one after the other, that have no
/// process in common, and are read as one; empty: they are not, as far as can be determined.
///
/// @param files  by their begin
std::string multiple_runs_message(const std::vector<ParsedFile>& files);

/// Files that hold a process of the same number, host and rank as another one at the same time:
/// copies of one trace, what somebody has merged beside its parts, or processes in containers.
class DuplicateProcesses {
 public:
  void add(const std::string& first, const std::string& second, std::int64_t pid,
           const std::string& rank);
  /// The first pair, and how many there are; empty: none.
  std::string message() const;

 private:
  std::string first_;
  std::set<std::string> files_;
};

}  // namespace gpuprof::importer
