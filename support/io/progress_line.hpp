// SPDX-License-Identifier: Apache-2.0
//
// One line on a terminal that is overwritten while work goes on.
//
// Context:  daemon | cli
// Owns:     the line, until cleared or destroyed
// Promises: silent for the first second; on what is no terminal one whole line, after 15 s
#pragma once

#include <cstdint>
#include <string>

namespace gpuprof::support {

class ProgressLine {
 public:
  /// @param fd  Descriptor to write to, usually 2; borrowed.
  explicit ProgressLine(int fd, std::uint64_t silent_ns = 1'000'000'000ULL);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Replaces the line; at most ten times a second.
  void update(const std::string& text);
  /// `TEXT  35 % [#######.............]`; total 0: how much it will be is not known.
  void update(const std::string& text, std::uint64_t done, std::uint64_t total);
  /// Replaces the line now, however young it is.
  void show_stage(const std::string& text);
  void clear();

 private:
  void write(const std::string& text, std::uint64_t now_ns);

  int fd_;
  bool terminal_;
  bool shown_ = false, logged_ = false;
  std::uint64_t start_ns_, silent_ns_, last_ns_ = 0;
};

}  // namespace gpuprof::support
