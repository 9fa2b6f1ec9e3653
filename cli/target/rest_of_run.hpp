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

#include "cli/target/program.hpp"

namespace gpuprof::cli {

/// Does the rest. @return true if something failed: what `rest` says, or no memory, told here.
template <typename Rest>
bool failed_or_out_of_memory(Program& program, Rest&& rest) {
  try {
    return rest();
  } catch (const std::bad_alloc&) {
    constexpr char kLine[] =
        "gpuprof: failed: there was not enough memory to say what was recorded; raise the limit "
        "(`ulimit -d`, `ulimit -v`). `gpuprof export FOLDER` writes what a .gpuprof-spool-* folder "
        "holds\n";
    // stderr may be closed or full: there is nobody left to tell.
    [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, kLine, sizeof kLine - 1);
    program.wait_until_exit({});
    program.restore_signals();
    return true;
  }
}

}  // namespace gpuprof::cli
