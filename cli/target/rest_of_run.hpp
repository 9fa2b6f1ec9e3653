// SPDX-License-Identifier: Apache-2.0
//
// Runs our own work after a program has started; its failure must not replace the program's status.
//
// Context:  cli
// Owns:     nothing
// Promises: without memory for the rest the program is followed to its end all the same
#pragma once

#include <unistd.h>

#include <new>

#include "cli/messages/target_program.hpp"
#include "cli/target/program.hpp"

namespace gpuprof::cli {

/// Does the rest. @return true if something failed: what `rest` says, or no memory, reported here.
template <typename Rest>
bool failed_or_out_of_memory(Program& program, Rest&& rest) {
  try {
    return rest();
  } catch (const std::bad_alloc&) {
    using messages::target_program::kOutOfMemory;
    // stderr may be closed or full: there is nobody left to tell.
    [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, kOutOfMemory, sizeof kOutOfMemory - 1);
    program.wait_until_exit({});
    program.restore_signals();
    return true;
  }
}

}  // namespace gpuprof::cli
