// SPDX-License-Identifier: Apache-2.0
//
// The library as a file of ours: what of it a loader needs, its identity, where its entry is.
//
// Context:  daemon | cli
// Owns:     the bytes
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/attach/process/maps.hpp"
#include "support/result.hpp"

namespace gpuprof::attach {

struct LibraryFile {
  std::vector<std::uint8_t> bytes;  // a valid file without sections: half of what has debug info
  std::string build_id;             // raw
  std::uint64_t entry = 0;          // gpuprof_attach, relative to the load address
};

/// Errors: not there, no library of this machine, not ours (no gpuprof_attach).
support::Result<LibraryFile> read_library(const std::string& path);

/// The exported function we call.
inline constexpr char kEntryName[] = "gpuprof_attach";
/// What a mapping of the library is called.
inline constexpr char kLibraryName[] = "libgpuprof_inject.so";
/// Whether a process has it: some build of it.
bool has_library(pid_t pid);

}  // namespace gpuprof::attach
