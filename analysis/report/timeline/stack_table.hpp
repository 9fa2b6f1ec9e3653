// SPDX-License-Identifier: Apache-2.0
//
// Where in the program's sources something was done.
//
// Context:  cli
// Owns:     the frames and stacks of one process, each once
// Promises: index 0 is no frame and no stack
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::report {

using FrameId = std::uint32_t;
using StackRef = std::uint32_t;

struct StackFrame {
  std::string text;  // as shown: `train.py(42): step`, `libc.so.6!read`
  std::string name;  // function
  std::string file;  // empty: not known
  int line = 0;      // 0: not known
  bool is_python = false;
  bool is_user_code = false;  // Python of the program itself: no package, no standard library

  /// `train.py:42`, or the text where there is no such place.
  std::string location_text() const;
};

/// Python of the program itself, not of installed packages, the standard library or the
/// interpreter.
bool is_user_code_file(std::string_view file);

struct StackTable {
  std::vector<StackFrame> frames{StackFrame{}};
  std::vector<std::vector<FrameId>> stacks{{}};  // innermost first

  /// Innermost frame of the program itself; 0: none.
  FrameId user_frame(StackRef stack) const;
};

}  // namespace gpuprof::report
