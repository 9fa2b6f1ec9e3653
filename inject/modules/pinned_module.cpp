// SPDX-License-Identifier: Apache-2.0
//
// The loader's own calls, which take its lock: made when it is free.
//
// Context:  worker | boundary
#include "inject/modules/pinned_module.hpp"

#include <dlfcn.h>

#include <atomic>

#include "inject/modules/loader_lock.hpp"
#include "inject/modules/module_list.hpp"

namespace gpuprof::modules {
namespace {

void* open_mapped(const char* path) {
  return dlopen(path[0] == '\0' ? nullptr : path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

// Those held. Where there is no room left a module may have more references than one.
constinit std::atomic<void*> g_handles[64] = {};

/// Keeps the first reference of each; later ones are not the last, and go at once.
void* keep(void* handle) {
  if (handle == nullptr) return nullptr;
  for (std::atomic<void*>& slot : g_handles) {
    void* known = nullptr;
    if (slot.compare_exchange_strong(known, handle, std::memory_order_acq_rel)) return handle;
    if (known != handle) continue;
    dlclose(handle);
    return handle;
  }
  return handle;
}

}  // namespace

// Somebody may enter dlopen in between; then this waits for that one load.
PinnedModule PinnedModule::pin(const char* path) {
  return pending_loads_done() ? PinnedModule(keep(open_mapped(path))) : PinnedModule();
}

PinnedModule PinnedModule::pin_blocking(const char* path) {
  return PinnedModule(keep(open_mapped(path)));
}

PinnedModule PinnedModule::load_and_pin(const char* path) {
  return PinnedModule(keep(dlopen(path, RTLD_NOW | RTLD_LOCAL)));
}

void* PinnedModule::symbol(const char* name) const {
  return handle_ != nullptr ? dlsym(handle_, name) : nullptr;
}

// Not dladdr, which takes the loader's lock.
const char* module_path_of(const void* address) {
  struct Look {
    const void* address;
    const char* path;
  } look{address, nullptr};
  visit_listed_modules(
      [](dl_phdr_info* module, std::size_t, void* data) {
        auto& to = *static_cast<Look*>(data);
        if (!contains_address(*module, to.address)) return 0;
        to.path = module->dlpi_name != nullptr ? module->dlpi_name : "";
        return 1;
      },
      &look);
  return look.path;
}

void* symbol_from_caller(const void* caller, const char* name) {
  const char* path = module_path_of(caller);
  void* handle = path != nullptr ? open_mapped(path) : nullptr;
  if (handle == nullptr) return nullptr;
  void* found = dlsym(handle, name);
  dlclose(handle);  // never the last: the caller is inside
  return found;
}

void* next_symbol(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) dlerror();  // not for the program to find
  return found;
}

}  // namespace gpuprof::modules
