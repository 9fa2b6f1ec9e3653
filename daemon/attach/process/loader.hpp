// SPDX-License-Identifier: Apache-2.0
//
// Whether GNU's loader is still loading a process's libraries: what is missing may come then.
//
// Context:  daemon | cli
// Owns:     nothing
// Promises: nothing is stopped or changed
#pragma once

#include <sys/types.h>

#include <string>

#include "daemon/attach/process/elf_image.hpp"
#include "daemon/attach/process/maps.hpp"
#include "support/result.hpp"

namespace gpuprof::attach {

/// What the file of a process's program says of it; nothing where it cannot be read.
struct ProgramFile {
  int elf_class = 0;   // EI_CLASS
  std::string loader;  // file name of what PT_INTERP asks for; "" if 32-bit or without one
};
ProgramFile program_file(pid_t pid);

/// Whether the loader loads libraries right now: those of a program that has just been started, or
/// of a dlopen. True as well where the program asks for it and the kernel has not brought it
/// completely; false for other loaders.
bool is_loader_busy(const Maps& maps, const ProgramFile& program, const MemoryReader& reader);
bool is_loader_busy(pid_t pid);

/// The sentence for one whose loader has worked for as long as we could wait.
support::Error loader_busy_error(pid_t pid);

}  // namespace gpuprof::attach
