// SPDX-License-Identifier: Apache-2.0
//
// The loader's own calls, which take its lock: made when it is free.
//
// Context:  worker | boundary
// Owns:     see held.hpp
#include "inject/modules/held.hpp"

#include <dlfcn.h>

#include "inject/modules/loader_lock.hpp"

namespace gpuprof::modules {
namespace {

void* open_mapped(const char* path) {
  return dlopen(path[0] == '\0' ? nullptr : path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

}  // namespace

// Somebody may enter dlopen in between; then this waits for that one load.
Held Held::mapped(const char* path) { return loads_are_over() ? Held(open_mapped(path)) : Held(); }

Held Held::mapped_here(const char* path) { return Held(open_mapped(path)); }

Held Held::load(const char* path) { return Held(dlopen(path, RTLD_NOW | RTLD_LOCAL)); }

void* Held::symbol(const char* name) const {
  return handle_ != nullptr ? dlsym(handle_, name) : nullptr;
}

const char* path_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fname : nullptr;
}

void* next_symbol(const char* name) { return dlsym(RTLD_NEXT, name); }

}  // namespace gpuprof::modules
