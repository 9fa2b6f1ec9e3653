// SPDX-License-Identifier: Apache-2.0
//
// One recording that the doctor makes to see what arrives.
//
// Context:  cli
// Owns:     a temporary folder
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/result.hpp"
#include "support/text/json.hpp"

namespace gpuprof::cli {

/// What a recording came to.
struct TrialResult {
  std::string stdout_text;      // stdout of the command
  rapidjson::Document summary;  // an object
  std::string stderr_line;      // stderr, one line

  std::uint64_t events(const char* kind) const;
  std::uint64_t process_total(const char* what) const;
  bool simulated() const;
  /// What the recording says is missing, but for what a program without such work lacks.
  std::string missing() const;
};

class TrialRecorder {
 public:
  /// Errors: no temporary folder can be made, or our own files are not found.
  static support::Result<TrialRecorder> make();
  ~TrialRecorder();
  TrialRecorder(TrialRecorder&& other) noexcept;
  TrialRecorder(const TrialRecorder&) = delete;
  TrialRecorder& operator=(const TrialRecorder&) = delete;

  /// Runs `gpuprof WORDS -o … --summary-json … [-- PROGRAM]`.
  ///
  /// Errors: it could not be started, did not end in time, or wrote no summary; with what it said.
  support::Result<TrialResult> record(std::vector<std::string> words,
                                      const std::vector<std::string>& program,
                                      std::uint64_t timeout_ns);

  const std::string& program() const { return program_; }
  const std::vector<std::string>& environment() const { return environment_; }

 private:
  TrialRecorder() = default;

  std::string folder_, gpuprof_, program_;
  std::vector<std::string> environment_;
  int recordings_ = 0;
};

}  // namespace gpuprof::cli
