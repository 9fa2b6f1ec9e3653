// SPDX-License-Identifier: Apache-2.0
//
// Whether a preloaded library can work in a program, seen from the program's file.
//
// Context:  daemon | cli
// Owns:     nothing
// Promises: reads the file only; a damaged file is "unknown", never a crash
#pragma once

#include <string>
#include <vector>

namespace gpuprof::support {

enum class ProgramKind {
  kDynamic,  // the usual case: preloading works
  kStatic,   // no loader runs
  k32Bit,    // a 32-bit program
  kForeignArchitecture,
  kSanitizer,        // built with a sanitizer that must be loaded first
  kSecureExecution,  // set-user-id, set-group-id or file capabilities: the loader drops LD_PRELOAD
  kForeignLibc,      // its loader is not glibc's
  kUnknown,          // not an ELF file and no #! line
};

struct ProgramInfo {
  ProgramKind kind = ProgramKind::kUnknown;
  std::string path;         // the file looked at (a script's interpreter, the last of the chain)
  std::string detail;       // e.g. "libasan.so.8", "set-user-id root"
  std::string interpreter;  // its ELF loader
  bool script = false;      // reached through #! lines
  /// True if the library can be preloaded.
  bool preloadable() const {
    return kind == ProgramKind::kDynamic || kind == ProgramKind::kUnknown;
  }
};

/// Looks at a program; scripts lead to their interpreters (`env NAME` through `path_variable`).
ProgramInfo probe_program(const std::string& path, const std::string& path_variable);

/// `is statically linked`, ...: why it cannot be preloaded; "" if it can.
std::string preload_obstacle(const ProgramInfo& facts);

/// Names in an ELF file's dynamic section with tag DT_NEEDED.
std::vector<std::string> needed_libraries(const std::string& path);

/// Highest `GLIBC_x.y` the file asks for, as "x.y"; "" if none.
std::string required_glibc_version(const std::string& path);

}  // namespace gpuprof::support
