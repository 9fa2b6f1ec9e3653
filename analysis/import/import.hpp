// SPDX-License-Identifier: Apache-2.0
//
// Any trace in Chrome's JSON as PyTorch's profiler or gpuprof writes it, made into a session
// folder like those the daemon records.
//
// Context:  cli through analysis/commands
// Owns:     the session folder, until the ImportedSession is destroyed
// Promises: memory does not grow with the number of events; a file is taken whole or not at all,
//           and what was not understood in it is counted and said; what a file does not tell is
//           left 0 or none
// Not here: which of a person's paths is what (detect_input.hpp), what reads the session
//           (recording/spool)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/import/store/import_stats.hpp"
#include "support/result.hpp"

namespace gpuprof::importer {

/// What of one file became events.
struct ImportedFile {
  std::string path;
  std::uint64_t bytes = 0;          // of JSON text
  ImportStats account;              // of all its events
  std::uint32_t window = 0;         // model::Window::index
  bool written_by_gpuprof = false;  // gpuprof wrote it
};

/// A call of Python that lies directly in an operator or range, or in nothing: the session has
/// stacks instead, which do not tell how long calls lasted. On the session's line.
struct PythonCall {
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t start_ns = 0, end_ns = 0;
};

/// A session folder for spool::open_session, removed with this.
struct ImportedSession {
  ImportedSession() = default;
  ImportedSession(const ImportedSession&) = delete;
  ImportedSession& operator=(const ImportedSession&) = delete;
  ~ImportedSession();

  std::string folder;
  std::vector<ImportedFile> files;
  std::vector<PythonCall> python_calls;  // at most kMaxPythonCalls
  static constexpr std::size_t kMaxPythonCalls = 2'000'000;
  std::vector<std::string> notes;  // sentences; also among those of the session
  /// Other JSON in a folder: path, and what it is.
  std::vector<std::pair<std::string, std::string>> not_traces;
  std::vector<std::string> import_messages;  // those of them that say what was left out or repaired
};

/// Bytes read of all files, and how many there are (as they lie on the disk).
using Progress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

/// Of folders that a person named.
struct FolderFiles {
  std::vector<std::string>
      candidates;  // to read; those that are no traces are reported, and no errors
  std::vector<std::pair<std::string, std::string>> skipped;  // not to read: path, and why
};

/// Converts trace files. Several files of one process become its windows; files whose times
/// overlap, of several ranks, one window.
///
/// @param folder  what else lies in the folders that were named
///
/// Errors: a file that cannot be read, is cut short, is no JSON or no trace: one sentence that
/// names it. No room for the session folder (in $TMPDIR or /tmp).
support::Result<std::unique_ptr<ImportedSession>> import_traces(
    const std::vector<std::string>& paths, const Progress& progress,
    const FolderFiles& folder = {});

}  // namespace gpuprof::importer
