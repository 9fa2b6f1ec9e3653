// SPDX-License-Identifier: Apache-2.0
//
// Symbol lookup for the wrappers.
//
// Context:  boundary
// Owns:     nothing
#include "inject/cupti/interpose/real_function.hpp"

#include <cstring>

#include "inject/cupti/library/mapped_libraries.hpp"
#include "inject/cupti/subscribe/cupti_state.hpp"

namespace gpuprof::cupti {

namespace {

// Through the caller's own handle only the caller and what it depends on is searched: with two
// copies mapped this is the one it was linked to, and a preload is not seen.
void* through_caller(const char* name, void* caller) {
  return modules::symbol_from_caller(caller, name);
}

void* through_any_mapped(const char* name) {
  MappedLibrary found;
  if (find_mapped_libraries("libcupti.so", &found, 1) == 0) return nullptr;
  return pin_library(found.path).symbol(name);
}

}  // namespace

void* real_function(const char* name, void* caller, void* ours) {
  void* function = through_caller(name, caller);
  if (function != nullptr && function != ours) return function;
  // A main program's handle stands for the global scope, in which we come first.
  function = modules::next_symbol(name);
  if (function != nullptr && function != ours) return function;
  if (g_cupti.open) function = g_cupti.library.handle.symbol(name);
  if (function != nullptr && function != ours) return function;
  function = through_any_mapped(name);
  return function != ours ? function : nullptr;
}

bool is_called_by_cupti(void* caller) {
  const char* path = modules::module_path_of(caller);
  return path != nullptr && std::strstr(base_name(path), "libcupti") == base_name(path);
}

}  // namespace gpuprof::cupti
