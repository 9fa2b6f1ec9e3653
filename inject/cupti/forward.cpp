// SPDX-License-Identifier: Apache-2.0
//
// Symbol lookup for the wrappers.
//
// Context:  boundary
// Owns:     nothing
#include "inject/cupti/forward.hpp"

#include <dlfcn.h>

#include <cstring>

#include "inject/cupti/mapped.hpp"
#include "inject/cupti/room.hpp"

namespace gpuprof::cupti {

namespace {

// Through the caller's own handle only the caller and what it depends on is searched: with two
// copies mapped this is the one it was linked to, and a preload is not seen.
void* through_caller(const char* name, void* caller) {
  Dl_info info{};
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return nullptr;
  void* handle = open_mapped(info.dli_fname);
  if (handle == nullptr) return nullptr;
  void* function = dlsym(handle, name);
  dlclose(handle);  // it was mapped before and stays
  return function;
}

void* through_any_mapped(const char* name) {
  Mapped found;
  if (find_mapped("libcupti.so", &found, 1) == 0) return nullptr;
  void* handle = open_mapped(found.path);
  return handle != nullptr ? dlsym(handle, name) : nullptr;
}

}  // namespace

void* real_function(const char* name, void* caller, void* ours) {
  void* function = through_caller(name, caller);
  if (function != nullptr && function != ours) return function;
  // A main program's handle stands for the global scope, in which we come first.
  function = dlsym(RTLD_NEXT, name);
  if (function != nullptr && function != ours) return function;
  if (g_room.open) function = dlsym(g_room.copy.handle, name);
  if (function != nullptr && function != ours) return function;
  function = through_any_mapped(name);
  return function != ours ? function : nullptr;
}

bool from_cupti_itself(void* caller) {
  Dl_info info{};
  return dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(base_name(info.dli_fname), "libcupti") == base_name(info.dli_fname);
}

}  // namespace gpuprof::cupti
