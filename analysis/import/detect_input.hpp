// SPDX-License-Identifier: Apache-2.0
//
// What a path given by a person is: a session folder, trace files, or nothing we read.
//
// Context:  cli through analysis/commands
// Owns:     nothing
// Promises: files are known by what is in them; at most their first bytes are read
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/result.hpp"

namespace gpuprof::importer {

struct DetectedInput {
  std::string session;              // a folder for spool::open_session; empty: `traces`
  std::vector<std::string> traces;  // files for import_traces
  std::vector<std::string> found;   // JSON of a folder, of which some may be no traces
  /// Of a folder, and not read: path, and why.
  std::vector<std::pair<std::string, std::string>> beside;

  bool any() const { return !traces.empty() || !found.empty(); }
};

/// A folder may be a session's own, an output folder with one inside, or one with trace files:
/// TensorBoard's layout, or kineto/span_NNNN.
///
/// Errors: nothing there, nothing we read, several runs: one sentence that says what to name.
support::Result<DetectedInput> detect_input(const std::string& path);

/// Each file once, in the order named.
std::vector<std::string> unique_paths(const std::vector<std::string>& paths);

}  // namespace gpuprof::importer
