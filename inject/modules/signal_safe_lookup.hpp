// SPDX-License-Identifier: Apache-2.0
//
// Which module holds an address, where no lock may be taken.
//
// Context:  signal
// Owns:     what was found of the C library and the loader
// Promises: takes no lock, calls nothing but the C library's lookup for unwinders, which takes none
// Not here: code that may wait for the lock of the list (module_list.hpp)
//
// Why this is allowed: the modules that the program started with stand first in the loader's list,
// are relocated before any of its code runs and are never taken out, so that this part of the list
// may be walked. Of other modules, only the one whose code the calling thread runs may be looked
// up: it stays mapped meanwhile.
#pragma once

#include <link.h>

#include <cstdint>

namespace gpuprof::modules {

/// A module as it is in memory.
struct MappedModule {
  dl_phdr_info info{};  // program headers, bias and path only
  std::uintptr_t begin = 0, end = 0;

  bool known() const { return end != 0; }
  bool holds(std::uintptr_t at) const { return at - begin < end - begin; }
  /// Last part of its path; "" for the program.
  const char* name() const;
};

/// The C library and the dynamic loader of the program; not known() where it has none.
const MappedModule& c_library();
const MappedModule& dynamic_loader();

/// The module of code that the calling thread runs. Not known(): there is none or, with a C library
/// older than glibc 2.35, it was loaded by dlopen.
MappedModule running_module(std::uintptr_t pc);

/// Whether the code that the calling thread runs is of no module: it was generated at run time.
/// False where that is not known (a C library older than glibc 2.35).
bool runs_jit_code(std::uintptr_t pc);

}  // namespace gpuprof::modules
