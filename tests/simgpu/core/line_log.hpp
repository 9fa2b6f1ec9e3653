// SPDX-License-Identifier: Apache-2.0
//
// A text file of JSON lines that survives SIGKILL: a shared mapping grown in steps.
//
// Context:  any
// Owns:     one file descriptor and one mapped window until the process ends
// Promises: a finished line is in the file at once, without a system call per line;
//           a killed process leaves NUL bytes behind the last line, a normal exit does not
// Not here: what the lines say (truth.cpp, cupti/api/call.cpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace gpusim {

/// Appends text to a file through a mapping.
class LineLog {
 public:
  /// Opens `pattern` for this process; `%p` becomes the process id. If the file exists and the
  /// pattern has no `%p`,
  /// `.PID` is added, so several processes never share a file.
  explicit LineLog(const char* pattern);

  /// Adds `length` bytes; the caller ends them with a newline.
  void append(const char* text, std::size_t length);

  /// Cuts the file to what was written. Called at exit; appending afterwards is allowed again.
  void trim();

 private:
  bool grow(std::size_t length);

  std::mutex mutex_;
  int fd_ = -1;
  int owner_pid_ = 0;
  char* window_ = nullptr;
  std::uint64_t window_offset_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace gpusim
