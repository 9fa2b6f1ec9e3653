// SPDX-License-Identifier: Apache-2.0
//
// One frame as a person reads it.
//
// Context:  daemon | cli
// Owns:     its strings
#pragma once

#include <cstdint>
#include <string>

namespace gpuprof::symbols {

enum class FrameKind : std::uint8_t { kPython, kNative, kUnknown };

struct DisplayFrame {
  std::string name;  // function; for code without a name `module+0x…` or the address
  std::string file;  // source file if known
  int line = 0;      // 0: not known
  FrameKind kind = FrameKind::kUnknown;
  std::string module;  // file name of the ELF object, empty for Python

  bool operator==(const DisplayFrame&) const = default;
};

/// `file(line): func` for Python and for native frames whose line is known, else `module!func`;
/// a name that already says where it is stands alone. Never contains ';'.
std::string format_frame(const DisplayFrame& frame);

}  // namespace gpuprof::symbols
