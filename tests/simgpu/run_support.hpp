// SPDX-License-Identifier: Apache-2.0
//
// For the simulator's own tests: runs programs under gpusim-run and reads what they and the truth
// log say.
//
// Context:  tests
// Owns:     one scratch folder per test process
// Promises: a missing field is an empty string or zero, never a crash
// Not here: the tests (*_test.cpp)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace simtest {

/// One line: its first word and its `key value` pairs.
struct OutputRow {
  std::string type;
  std::map<std::string, std::string> fields;
  std::uint64_t number(const std::string& key) const;
  std::string text(const std::string& key) const;
};

/// What a program printed and how it ended.
struct RunResult {
  int exit_code = -1;  ///< -1 if it died of a signal
  int signal = 0;
  std::string output;  ///< stdout and stderr
  std::vector<OutputRow> rows;
  std::vector<OutputRow> truth;  ///< `type` is the `t` field

  std::vector<OutputRow> of(const std::string& type) const;
  std::size_t count(const std::string& type) const { return of(type).size(); }
  /// First row of that type.
  OutputRow first(const std::string& type) const;
  /// Truth rows of type "op" and the given kind.
  std::vector<OutputRow> operations(const std::string& kind) const;
};

/// Runs `gpusim-run OPTIONS --truth FILE -- PROGRAM` with a time limit. PROGRAM begins with the
/// name of one of our programs; at most 30 s, then it is killed.
RunResult simulate(const std::string& options, const std::string& program, int limit_s = 300);

/// Runs a shell command and returns what it printed.
RunResult run_shell(const std::string& command);

/// A path in the scratch folder.
std::string scratch_path(const std::string& name);

/// Folders of the build.
std::string library_folder();
std::string program_folder();

/// REALTIME minus MONOTONIC as the truth log's header has it.
std::uint64_t realtime_offset(const RunResult& run);

}  // namespace simtest
