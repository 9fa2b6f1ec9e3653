// SPDX-License-Identifier: Apache-2.0
//
// Collects what injection needs to know of a process before one of its threads is stopped.
//
// Context:  daemon | cli
// Owns:     the way into its memory
// Promises: nothing is stopped or changed
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/attach/arch/arch.hpp"
#include "daemon/attach/process/library_file.hpp"
#include "daemon/attach/process/maps.hpp"
#include "daemon/attach/process/process_memory.hpp"
#include "support/result.hpp"

namespace gpuprof::attach {

struct ProcessImage {
  pid_t pid = 0;
  std::shared_ptr<ProcessMemory> memory;
  std::uint32_t program = 0;  // support::exec_fingerprint()
  Maps maps;
  arch::Gadgets gadgets;
  std::uint64_t open_library = 0, last_error = 0, error_number = 0;  // in its C library
  std::uint64_t loaded_entry = 0;  // gpuprof_attach where the library is there; 0: it is not
};

/// Errors: what may_attach may not see yet, such as a C library without dlopen, or another build of
/// the library in the process.
support::Result<ProcessImage> read_process_image(pid_t pid, const LibraryFile& library);

}  // namespace gpuprof::attach
