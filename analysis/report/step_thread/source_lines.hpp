// SPDX-License-Identifier: Apache-2.0
//
// Which line between two others did the work, by the text of the program where it is still there.
//
// Context:  cli
// Owns:     the text of files it read, at most kMaxBytes each
// Promises: regular .py files only, not changed since the recording; nothing of the text is shown
// Not here: samples, which say it better (rules_host.cpp)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gpuprof::report::advice {

class SourceLines {
 public:
  static constexpr std::uint64_t kMaxBytes = 4u << 20;

  /// @param recorded_real_ns CLOCK_REALTIME of the recording; files changed later are not read.
  explicit SourceLines(std::uint64_t recorded_real_ns) : recorded_real_ns_(recorded_real_ns) {}

  struct LineSpan {
    int first = 0, last = 0;
    bool waits = false;      // the line calls something that waits or talks to a file
    bool from_text = false;  // the text was read
  };
  /// Of the lines after `before` and before `after` (of one function) those that do something.
  /// Where `after` is not behind `before` a loop went round: the lines up to the loop's end.
  LineSpan lines_between(const std::string& file, int before, int after);

 private:
  const std::vector<std::string>& lines_of(const std::string& file);

  std::uint64_t recorded_real_ns_;
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace gpuprof::report::advice
