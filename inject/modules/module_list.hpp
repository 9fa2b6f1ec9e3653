// SPDX-License-Identifier: Apache-2.0
//
// The loader's list, and what may be done with a module that stands in it.
//
// Context:  visit_listed_modules: worker | boundary; visit_loaded_modules: worker
// Promises: nothing is unmapped while a visitor runs; visit_loaded_modules waits for nobody who is
//           inside dlopen where the loader's lock can be seen (loader_lock.hpp)
// Not here: addresses that outlive a visit, and calls (pinned_module.hpp)
//
// Why: a module stands in the list as soon as it is mapped. It is relocated, gets its thread-local
// block and runs its constructors later, all on the thread that is inside dlopen: until then a call
// into it jumps to an invalid address, and what is written into it is overwritten.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "gpuprof/base/loader_counts.hpp"

namespace gpuprof::modules {

/// As dl_iterate_phdr's: returns 0 to continue. May call nothing of the loader and nothing of the
/// module.
using Visitor = int (*)(dl_phdr_info* module, std::size_t size, void* data);

/// Visits all that is listed, whether or not its load is over. Of a module, its program headers may
/// be read, and what is the same in memory as in its file: symbol tables, notes, unwind tables.
///
/// @return What the last visitor returned.
int visit_listed_modules(Visitor visitor, void* data);

enum class VisitResult : std::uint8_t {
  kDone,
  kLoaderBusy,  // somebody is inside dlopen or dlclose: nothing was visited; try again
};

/// Visits all that is listed if each one's load is known to be over: its data may be read and
/// written as well.
///
/// @param counts  If not null: receives the counts of that list (kDone).
VisitResult visit_loaded_modules(Visitor visitor, void* data, base::LoaderCounts* counts = nullptr);

/// Whether an address range lies in what is mapped of the module with these rights (PF_R, PF_W).
bool is_mapped_in(const dl_phdr_info& module, std::uintptr_t at, std::size_t bytes,
                  std::uint32_t rights);

/// Last part of a module's path; "" for the program.
const char* file_name(const dl_phdr_info& module);

/// Whether this is the dynamic loader itself.
bool is_loader(const dl_phdr_info& module);

/// Whether an address lies in what is mapped of the module.
bool contains_address(const dl_phdr_info& module, const void* address);

/// How many modules at the beginning of the list came with the program: all relocated before any
/// code of it ran. Nearly always the loader is the last of them.
std::uint32_t initial_module_count();

}  // namespace gpuprof::modules
